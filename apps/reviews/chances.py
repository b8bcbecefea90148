"""What the model gave each option, as the desk writes it beside the option."""

from __future__ import annotations

from django.utils.html import format_html
from django.utils.safestring import SafeString

from apps.core.templatetags.fermata import probability, share
from apps.reviews.selectors import Chance, DeskQuestion, DeskTask


def shown_chances(desk: DeskTask) -> dict[str, dict[str, SafeString | str]]:
    """Markup by question and option; empty where there is no chance, or none that the person may see."""
    return {question.key: _shown(question, desk) for question in desk.questions}


def _shown(question: DeskQuestion, desk: DeskTask) -> dict[str, SafeString | str]:
    chances = desk.chances.get(question.key, {})
    return {
        option.id: _bar(chances[option.id], option.is_suggested) if option.id in chances else ""
        for option in question.options
    }


def _bar(chance: Chance, is_suggested: bool) -> SafeString:
    mapped = (
        ""
        if chance.mapped is None
        else format_html('<span class="detail">mapped {}</span>', probability(chance.mapped))
    )
    return format_html(
        '<span class="option-p num">{}{}</span><svg class="bar {}" aria-hidden="true" preserveAspectRatio="none">'
        '<rect width="{}" height="100%"/></svg>',
        probability(chance.p),
        mapped,
        "" if is_suggested else "is-quiet",
        share(chance.p),
    )


def shown_suggestions(desk: DeskTask) -> dict[str, SafeString | str]:
    """What is suggested, in a line, by question; empty without a suggestion."""
    return {question.key: _suggested(question, desk) for question in desk.questions}


def _suggested(question: DeskQuestion, desk: DeskTask) -> SafeString | str:
    name = next((option.name for option in question.options if option.is_suggested), None)
    if name is None or question.suggestion is None:
        return ""
    chance = desk.chances[question.key][question.suggestion]
    mapped = "" if chance.mapped is None else f" (mapped {probability(chance.mapped)})"
    return format_html(
        '<span class="muted num"><bdi>{}</bdi> {}{}</span>', name, probability(chance.p), mapped
    )
