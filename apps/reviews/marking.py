"""Words of a text that a rule, or the person's own search, went by: marked where people read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from apps.policies.models import Policy
from apps.routing.words import MAX_PHRASE_CHARACTERS, Phrase, find_spans

KEPT = 128
"""Policies that a process keeps at hand."""


def rule_phrases(overrides: Iterable[Mapping[str, Any]] | None) -> tuple[Phrase, ...]:
    """The phrases of a policy's text rules, as `Policy.rules["overrides"]` stores them."""
    texts = (override for override in overrides or () if override["kind"] == "text")
    return tuple(Phrase.of(word) for override in texts for word in override["words"])


@dataclass(frozen=True, slots=True)
class ShownRules:
    """What of a policy the desk shows: the words it looks for, and the maps that mend the model's chances."""

    phrases: tuple[Phrase, ...]
    maps: Mapping[str, Any]


@lru_cache(maxsize=KEPT)
def shown_rules(policy_id: int) -> ShownRules:
    """Of a policy that routed an item: it was in force, so it never changes, and a process keeps it."""
    rules = Policy.objects.values_list("rules", flat=True).get(pk=policy_id)
    return ShownRules(rule_phrases(rules.get("overrides")), rules.get("maps") or {})


def search_phrases(text: str) -> tuple[Phrase, ...]:
    """What a person searched for, its last word perhaps only begun; nothing where there is no word to mark."""
    words = text.strip().rstrip("*")[: MAX_PHRASE_CHARACTERS - 1]
    try:
        return (Phrase.of(f"{words}*"),)
    except ValueError:
        return ()


def marked(text: str, phrases: Sequence[Phrase]) -> str | SafeString:
    """`text` itself where no phrase stands in it, else safe HTML: escaped, with the places in `<mark>`."""
    spans = find_spans(text, phrases) if phrases else []
    if not spans:
        return text
    html, at = [], 0
    for start, end in spans:
        html += [escape(text[at:start]), "<mark>", escape(text[start:end]), "</mark>"]
        at = end
    html.append(escape(text[at:]))
    return mark_safe("".join(html))  # noqa: S308 - every piece of the text was escaped above
