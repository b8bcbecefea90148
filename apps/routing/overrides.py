"""Rules that send an item to people whatever the model says: metadata, words in the text, other answers.

A gate keeps numbers and truth values of the item, never its texts: what is stored with a route outlives the
item's content, which can be erased. A value that cannot be compared holds the item and says so.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from apps.routing.checks import is_number
from apps.routing.cost import DECIMALS
from apps.routing.types import (
    JSON,
    AnswerOverride,
    DecisionView,
    Gate,
    ItemFacts,
    MetadataOverride,
    Override,
    QuestionAnswer,
    TextOverride,
)
from apps.routing.words import ScannedText, fold

_ORDER: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
_NEGATIONS: Final = ("!=", "not in")


class _NotComparableError(Exception):
    """The metadata hold something that the rule cannot be applied to."""


def override_gates(overrides: Sequence[Override], decision: DecisionView, facts: ItemFacts) -> list[Gate]:
    """One gate for each override, in their order; the text is folded once for all of them."""
    has_words = any(isinstance(override, TextOverride) for override in overrides)
    text = ScannedText.of(facts.text if has_words else "")
    gates = []
    for override in overrides:
        match override:
            case MetadataOverride():
                is_open, numbers = _check_metadata(override, facts.metadata)
            case TextOverride():
                is_open, numbers = _check_text(override, text)
            case AnswerOverride():
                is_open, numbers = _check_answer(override, decision)
        gates.append(Gate(f"override:{override.id}", is_open, {"name": override.name, **numbers}))
    return gates


def _check_text(override: TextOverride, text: ScannedText) -> tuple[bool, dict[str, JSON]]:
    word = next((phrase.written for phrase in override.phrases if phrase.occurs_in(text)), None)
    return word is None, {"rule": "text", "word": word}


def _check_answer(override: AnswerOverride, decision: DecisionView) -> tuple[bool, dict[str, JSON]]:
    answer = decision.answers.get(override.question)
    numbers: dict[str, JSON] = {
        "rule": "answer",
        "kind": answer.kind if answer else None,
        "question": override.question,
        "option": override.option,
        "at_least": override.at_least,
    }
    p = _p_of(override, answer)
    if answer is None or p is None:
        return False, {**numbers, "p": None, "problem": "no_answer"}
    is_top = override.question == decision.routing_question and override.option == answer.top[0]
    return p < override.at_least and not is_top, {**numbers, "p": p, "is_top": is_top}


def _p_of(override: AnswerOverride, answer: QuestionAnswer | None) -> float | None:
    """The probability the rule speaks of; None when the model was not asked for it."""
    if answer is None:
        return None
    if answer.kind == "noul":
        return answer.p("true")
    if override.option is None or answer.p(override.option) is None:
        return None
    if answer.kind == "choice":
        return answer.p(override.option)
    names = [name for name, _ in answer.probabilities]
    at_or_above = answer.probabilities[names.index(override.option) :]
    return round(math.fsum(p for _, p in at_or_above), DECIMALS)


def _check_metadata(override: MetadataOverride, metadata: Mapping[str, Any]) -> tuple[bool, dict[str, JSON]]:
    numbers: dict[str, JSON] = {
        "rule": "metadata",
        "field": override.field,
        "op": override.op,
        "value": list(override.value) if isinstance(override.value, list | tuple) else override.value,
    }
    seen: list[Any] = []
    try:
        for value in _values_at(metadata, override.field.split(".")):
            seen.append(value)
            if _matches(override, value):
                return False, {**numbers, "found": _storable(value)}
    except _NotComparableError as problem:
        return False, {**numbers, "found": None, "problem": str(problem)}
    if not seen:
        holds = override.op in ("missing", *_NEGATIONS)
        return not holds, {**numbers, "found": None, "is_missing": True}
    return True, {**numbers, "found": _storable(seen[0])}


def _values_at(metadata: Mapping[str, Any], path: Sequence[str]) -> Iterator[Any]:
    """Every value the path leads to. A key may have dots in it; null and blank text are no values."""
    # A stack of its own: metadata may be nested deeper than Python likes to call itself.
    ahead: list[tuple[Any, Sequence[str]]] = [(metadata, path)]
    while ahead:
        node, rest = ahead.pop()
        if node is None or (isinstance(node, str) and not node.strip()):
            continue
        if not rest:
            yield node
        elif isinstance(node, Mapping):
            ends = range(len(rest), 0, -1)
            ahead.extend((node.get(".".join(rest[:end])), rest[end:]) for end in ends)
        elif isinstance(node, list | tuple):
            ahead.extend((element, rest) for element in reversed(node))
        else:
            raise _NotComparableError(_type_name(node))


def _matches(override: MetadataOverride, value: Any) -> bool:
    op, wanted = override.op, override.value
    if op in ("missing", "present"):
        return op == "present"
    if op in _ORDER:
        if not is_number(value):
            raise _NotComparableError(_type_name(value))
        return _ORDER[op](value, wanted)
    if op == "contains":
        return _contains(value, wanted)
    options = wanted if isinstance(wanted, list | tuple) else [wanted]
    if not any(_type_name(value) == _type_name(option) for option in options):
        raise _NotComparableError(_type_name(value))
    return any(_equal(value, option) for option in options) != (op in _NEGATIONS)


def _contains(value: Any, wanted: Any) -> bool:
    if isinstance(value, str) and isinstance(wanted, str):
        return _fold_value(wanted) in _fold_value(value)
    if not isinstance(value, list | tuple):
        raise _NotComparableError(_type_name(value))
    if any(_equal(element, wanted) for element in value):
        return True
    if any(_type_name(element) != _type_name(wanted) for element in value):
        raise _NotComparableError("a list of other things")
    return False


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, str) and isinstance(other, str):
        return _fold_value(one) == _fold_value(other)
    return _type_name(one) == _type_name(other) and bool(one == other)


def _fold_value(text: str) -> str:
    return fold(text).strip()


def _storable(value: Any) -> JSON:
    return value if isinstance(value, bool) or is_number(value) else None


def _type_name(value: Any) -> str:
    """The word for it in a sentence."""
    if isinstance(value, bool):
        return "yes or no"
    if is_number(value):
        return "a number"
    if isinstance(value, str):
        return "text"
    return "a list" if isinstance(value, list | tuple) else "something else"
