"""Guidelines in Markdown as HTML that is safe on the desk: no scripts, no pictures, no raw HTML."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

from apps.workflows.parts import LONGEST_GUIDELINE

_TAGS = {
    "a",
    "blockquote",
    "br",
    "code",
    "del",
    "em",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "li",
    "ol",
    "p",
    "pre",
    "s",
    "strong",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "ul",
}
_HAVE_DIRECTION = (
    "paragraph_open",
    "heading_open",
    "bullet_list_open",
    "ordered_list_open",
    "list_item_open",
    "blockquote_open",
    "table_open",
)
MOST_CELLS = 5_000
"""Cells that the tables of a text may have: its widest line in each of its lines. Beyond, tables stay as typed: short
lines below a wide head are filled up with empty cells, and ten thousand characters become a megabyte."""


def _reader(*more: str) -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["strikethrough", *more])
    # A picture is a link: whoever wrote the guideline must not learn who read it, and when.
    return reader.disable("image")


_WITH_TABLES, _WITHOUT_TABLES = _reader("table"), _reader()


@lru_cache(maxsize=2_000)
def to_html(text: str, *, top: int = 4) -> SafeString:
    """`top` is the level that the text's largest heading gets, 3 to 6: what is above it on the page stays above.

    A text of `LONGEST_GUIDELINE` takes at most 0.1 s, whatever it says.
    """
    text = text[:LONGEST_GUIDELINE]
    reader = _WITH_TABLES if _cells(text) <= MOST_CELLS else _WITHOUT_TABLES
    tokens = reader.parse(text)
    _lower_headings(tokens, top)
    for token in tokens:
        if token.type in _HAVE_DIRECTION:
            token.attrSet("dir", "auto")
    html = nh3.clean(
        reader.renderer.render(tokens, reader.options, {}),
        tags=_TAGS,
        attributes={"*": {"dir"}, "a": {"href", "title"}, "ol": {"start"}},
        url_schemes={"http", "https", "mailto"},
        url_relative="deny",
        link_rel="noopener noreferrer nofollow",
        set_tag_attribute_values={"a": {"target": "_blank"}},
    )
    return mark_safe(html)  # noqa: S308 - nh3 let through what is listed above, and nothing else


def _cells(text: str) -> int:
    lines = text.splitlines()
    return len(lines) * max((line.count("|") for line in lines), default=0)


def _lower_headings(tokens: Sequence[Token], top: int) -> None:
    """No level is left out, whichever the writer began with: people who listen to a page go by them."""
    headings = [token for token in tokens if token.type in ("heading_open", "heading_close")]
    levels = sorted({token.tag for token in headings})
    for token in headings:
        token.tag = f"h{min(top + levels.index(token.tag), 6)}"
