"""Markup that is the same for many requests, made once and kept, with gaps for what is not.

    {% kept "reviews/_question.html" question=question desk_keys=desk_keys %}

A kept template sees its arguments and nothing else of the page, and what was made of them is found again by all of them
together: nobody is shown what was made for others. `{% gap "lease" "token" %}` in it is a place which every page fills
from its own context, with `context["lease"]["token"]`, escaped as ever; so is what is one person's or one item's alone.
A template with gaps can be included as well.
"""

from __future__ import annotations

import secrets
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from django import template
from django.db.models import Model
from django.template.context import Context
from django.template.engine import Engine
from django.urls import get_script_prefix
from django.utils.functional import LazyObject
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe

register = template.Library()
KEPT = 512
"""Pieces of markup that a process keeps."""
LONGEST = 64_000
"""Characters; what is longer is made anew each time, so that they never fill the memory."""
_MARK = secrets.token_hex(16)
"""Stands where a gap is while a piece is made. No text from outside can contain it."""
_GAPS = "gaps_of_kept"

Path = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class _Piece:
    """`texts` is one longer than `gaps`, which stand between them."""

    texts: tuple[str, ...]
    gaps: tuple[Path, ...]

    def filled(self, context: Context) -> SafeString:
        parts = [self.texts[0]]
        for path, text in zip(self.gaps, self.texts[1:], strict=True):
            parts += (_at(context, path), text)
        return mark_safe("".join(parts))  # noqa: S308 - made by templates, and gaps are escaped


@dataclass
class _TooLong(Exception):
    piece: _Piece = field(repr=False)


@register.simple_tag(takes_context=True)
def kept(context: Context, name: str, /, **given: Hashable) -> SafeString:
    """The template `name` of these arguments alone, which must be immutable; a model's instance is not, and what is
    lazy holds on to who it was made for."""
    try:
        # Addresses in it begin with what this request is served under.
        piece = _made(name, get_script_prefix(), **given)
    except _TooLong as long:
        piece = long.piece
    return piece.filled(context)


@register.simple_tag(takes_context=True)
def gap(context: Context, *path: Any) -> SafeString:
    """A place in a kept template, by the keys that lead to what fills it."""
    gaps: list[Path] | None = context.get(_GAPS)
    if gaps is None:
        return _at(context, path)
    gaps.append(path)
    return SafeString(_MARK)


def _at(context: Context, path: Iterable[Any]) -> SafeString:
    value: Any = context
    for key in path:
        value = value[key]
    return conditional_escape(value)


# Typed: what is safe already and what is not may be equal texts, and become different markup.
@lru_cache(maxsize=KEPT, typed=True)
def _made(name: str, prefix: str, /, **given: Hashable) -> _Piece:
    if any(isinstance(value, Model | LazyObject) for value in given.values()):
        raise TypeError(f"{name} cannot be kept for a row, or for what is lazy")
    gaps: list[Path] = []
    found = Engine.get_default().get_template(name)
    html = found.render(Context({**given, _GAPS: gaps}))
    piece = _Piece(tuple(html.split(_MARK)), tuple(gaps))
    if len(html) > LONGEST:
        raise _TooLong(piece)
    return piece
