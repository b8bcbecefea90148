"""Filters for every template."""

from __future__ import annotations

from django import template

register = template.Library()


@register.filter
def percent(value: float | None, digits: int = 0) -> str:
    """0.934 as "93 %"; None as an em dash, because unknown is not zero."""
    return "—" if value is None else f"{value * 100:.{digits}f} %"
