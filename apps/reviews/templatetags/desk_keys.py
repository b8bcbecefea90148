"""Keys in markup: `{% keyed "skip" %}` on what the key presses, `{% cap "skip" %}` where it is shown."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from django import template
from django.template.context import Context
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apps.reviews.keys import ACTIONS, MOST_OPTIONS, for_screen_readers, shown

register = template.Library()
KEPT = 256
"""Keys whose markup a process keeps: a desk shows fifty."""
SAYS_OPTIONS = "The option in this place. With one question that is the answer"


@register.simple_tag(takes_context=True)
def keyed(context: Context, *actions: str) -> SafeString | str:
    """The attributes of what these actions press; nothing for an empty name, or one to which no key is given."""
    own = context["desk_keys"]
    return _attributes(tuple(key for action in actions if action and (key := own[action])))


@register.simple_tag(takes_context=True)
def cap(context: Context, action: str) -> SafeString | str:
    """The key as it is shown beside what it does; silent, because `keyed` has told screen readers."""
    return _kbd(context["desk_keys"][action])


@lru_cache(maxsize=KEPT)
def _attributes(keys: tuple[str, ...]) -> SafeString | str:
    if not keys:
        return ""
    names = " ".join(for_screen_readers(key) for key in keys)
    return format_html('data-key="{}" aria-keyshortcuts="{}"', " ".join(keys), names)


@lru_cache(maxsize=KEPT)
def _kbd(key: str) -> SafeString | str:
    return format_html('<kbd aria-hidden="true">{}</kbd>', shown(key)) if key else ""


@register.filter
def option_action(number: int) -> str:
    """The action of the option in this place; empty beyond the ninth."""
    return f"option_{number}" if number <= MOST_OPTIONS else ""


@register.simple_tag(takes_context=True)
def key_table(context: Context) -> list[tuple[str, list[dict[str, Any]]]]:
    """Every action that has a key, by group; the options share a row."""
    keys = context["desk_keys"]
    options = [shown(keys[f"option_{n}"]) for n in range(1, MOST_OPTIONS + 1) if keys[f"option_{n}"]]
    table = []
    for group, actions in ACTIONS.items():
        rows: list[dict[str, Any]] = [
            {"caps": [shown(keys[each.id])], "says": each.says}
            for each in actions
            if keys[each.id] and not each.id.startswith("option_")
        ]
        if group == "Answer":
            rows.insert(1, {"caps": options, "are_many": True, "says": SAYS_OPTIONS})
        table.append((group, rows))
    return table
