"""Filters and tags for every template."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django import template
from django.template.context import RequestContext
from django.urls import NoReverseMatch, reverse

from apps.core.templatetags.tree import Row, rows_of

register = template.Library()
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@register.filter
def percent(value: float | None, digits: int = 0) -> str:
    """0.934 as "93 %"; None as an em dash, because unknown is not zero."""
    return "—" if value is None else f"{value * 100:.{digits}f} %"


@register.filter
def probability(value: float | None) -> str:
    """0.934 as "93.4 %". What rounds to 0 or 1 and is neither says so: "< 0.1 %", "> 99.9 %"."""
    if value is None:
        return "—"
    if 0 < value < 0.0005:
        return "< 0.1 %"
    if 0.9995 <= value < 1:
        return "> 99.9 %"
    return f"{value * 100:.1f} %"


@register.filter
def share(value: float | None) -> str:
    """0.934 as "93.40%": the width of a bar in SVG, where a style attribute is not allowed; None draws nothing."""
    return "0%" if value is None else f"{min(max(value, 0), 1) * 100:.2f}%"


@register.filter
def span(low: float, high: float) -> str:
    """The width of a bar from `low` to `high`."""
    return share(high - low)


@register.filter
def count(value: float | None) -> str:
    """1234567 as "1 234 567", with narrow spaces that no language reads as a point; weighted counts to one place."""
    if value is None:
        return "—"
    return f"{value:,.{0 if float(value).is_integer() else 1}f}".replace(",", "\u202f")


@register.filter
def duration(seconds: float | None) -> str:
    """Seconds as people say them, at most two units: "0.4 s", "12 s", "3 min 20 s", "2 h 5 min", "4 d 3 h"."""
    if seconds is None:
        return "—"
    if seconds < 9.95:
        return f"{max(seconds, 0):.1f} s"
    whole = round(seconds)
    for size, unit, smaller_size, smaller in (
        (86_400, "d", 3_600, "h"),
        (3_600, "h", 60, "min"),
        (60, "min", 1, "s"),
    ):
        if whole >= size:
            rest = whole % size // smaller_size
            return f"{whole // size} {unit} {rest} {smaller}" if rest else f"{whole // size} {unit}"
    return f"{whole} s"


@register.filter
def instant(at: datetime) -> str:
    """As `<time datetime>` has it."""
    return at.astimezone(UTC).isoformat()


@register.filter
def in_utc(at: datetime) -> str:
    """As people read it before a script shows it in their own zone: "3 Nov 2026, 17:58 UTC"."""
    there = at.astimezone(UTC)
    return f"{there.day} {MONTHS[there.month - 1]} {there.year:04}, {there:%H:%M} UTC"


@register.filter
def words(key: str) -> str:
    """A key as a title: "mentions_contract" as "Mentions contract"."""
    spaced = key.replace("_", " ").strip()
    return spaced[:1].upper() + spaced[1:]


@register.filter
def is_stand_in(model: str | None) -> bool:
    """Whether answers come from the local classifier that stands in for Clef; its name says so itself."""
    return bool(model) and str(model).startswith("standin-")


@register.filter
def is_text(state: object) -> bool:
    """Whether a state is one text, not a JSON structure."""
    return isinstance(state, str)


@register.filter
def tree(state: object) -> list[Row]:
    """A JSON state as rows of name, value and depth; see `tree`."""
    return rows_of(state)


@register.simple_tag(takes_context=True)
def my_role(context: RequestContext) -> str:
    """The reader's role in the page's workflow; empty on a page of no workflow."""
    workflow, memberships = context.get("workflow"), context.get("my_memberships")
    return next((mine.role for mine in memberships or () if workflow and mine.workflow_id == workflow.pk), "")


@register.inclusion_tag("_tab.html", takes_context=True)
def tab(context: RequestContext, name: str, text: str) -> dict[str, Any]:
    """A tab of the current workflow's navigation, current on its page and those below it."""
    try:
        address = reverse(name, args=[context["workflow"].slug])
    except NoReverseMatch:
        return {}
    path = getattr(context.get("request"), "path", "")
    return {"address": address, "text": text, "is_current": path.startswith(address)}
