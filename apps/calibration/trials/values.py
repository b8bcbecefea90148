"""What an answer to a question is, as files write it, and what of a question's answers means "belongs nowhere"."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from apps.workflows.models import Question

YES, NO = frozenset({"true", "yes", "y", "1"}), frozenset({"false", "no", "n", "0"})
LONGEST_VALUE = 120
MOST_OFF = 0.05


def routing_of(questions: Iterable[Question]) -> Question | None:
    return next((each for each in questions if each.is_routing), None)


def to_option(question: Question, given: Any) -> str | None:
    """The id of the option that `given` names by its id or name, whatever its case; None when it names none."""
    text = as_text(given)
    ids = question.option_ids
    if text in ids:
        return text
    folded = text.casefold()
    if question.kind == Question.Kind.NOUL and folded in YES | NO:
        return "true" if folded in YES else "false"
    named = {name.casefold(): option for option, name in question.option_names.items()}
    return named.get(folded) or {option.casefold(): option for option in ids}.get(folded)


def as_text(given: Any) -> str:
    """A cell or JSON value as people write it: numbers and yes/no lose what a table's reader made of them."""
    if isinstance(given, bool):
        return "true" if given else "false"
    if isinstance(given, float) and given.is_integer():
        given = int(given)
    return "" if given is None else str(given).strip()


def is_yes(given: Any) -> bool:
    return as_text(given).casefold() in YES


def belongs_nowhere(question: Question, value: str | None) -> bool:
    """Whether an answer to the routing question says that none of its options fits."""
    return value is None or bool(question.none_of_these and value == question.none_of_these)


def to_probabilities(question: Question, given: Mapping[str, Any]) -> list[list[Any]]:
    """Published probabilities by option, in declared order. Rounded ones may miss 1 by 0.05; they are scaled to sum
    to 1. Raises ValueError, saying why, for what is not one probability for each option of this question."""
    ids = question.option_ids
    if set(given) != set(ids):
        raise ValueError(f"must have a probability for each of {', '.join(ids)[:200]} and for nothing else")
    for option in ids:
        p = given[option]
        if not isinstance(p, int | float) or isinstance(p, bool) or not 0 <= p <= 1:
            raise ValueError(f"must have probabilities from 0 to 1, and {option} has {str(p)[:40]}")
    values = [given[option] for option in ids]
    total = math.fsum(values)
    if abs(total - 1) > MOST_OFF:
        raise ValueError(f"must have probabilities that sum to 1, and they sum to {total:.4g}")
    return [[option, p / total] for option, p in zip(ids, values, strict=True)]


def top_of(probabilities: Iterable[Iterable[Any]]) -> str:
    """The most probable option; of equals the first in declared order, as routing has it."""
    best = max((tuple(pair) for pair in probabilities), key=lambda pair: float(pair[1]))
    return str(best[0])
