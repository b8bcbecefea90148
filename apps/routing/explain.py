"""Reasons as plain English sentences, the same on every page, in exports and in the API.

Limits are written as they were set; what is compared with one gets as many digits as the comparison
needs to read true, so 0.899 under a limit of 0.9 is "89.9 %", never "90 %".
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any, Final, TypeAlias

from apps.routing.types import Gate, Reason

Names: TypeAlias = Mapping[str, str]
"""What people read for an id: options by their id, questions by `question:` and their id."""

QUALITY_CHECK = "Quality check"
_MAX_DIGITS: Final = 30
_TOO_LONG_TO_READ: Final = Decimal(10) ** 20


def explain(reasons: Iterable[Reason | Mapping[str, Any]], names: Names, *, currency: str = "") -> list[str]:
    """One sentence a reason. Takes reasons as stored (their JSON) as well; ids without a name stand as they are.

    `currency` is that of the policy's costs, written behind each amount ("1.88 EUR").
    """
    unit = f" {currency}" if currency else ""
    return [
        _sentence(each if isinstance(each, Reason) else Reason.from_json(each), names, unit)
        for each in reasons
    ]


def explain_accepted(gates: Iterable[Gate | Mapping[str, Any]], names: Names) -> str:
    """Why an automatic item needed nobody. Takes gates as stored as well."""
    all_gates = [each if isinstance(each, Gate) else Gate.from_json(each) for each in gates]
    numbers = next(gate.numbers for gate in all_gates if gate.name == "threshold")
    given, least = _percent(numbers["p"], numbers["threshold"]), _exact_percent(numbers["threshold"])
    label = _name(numbers["label"], names)
    return (
        f"Accepted by rule: the model gave {label} {given}, at least {least} is asked for, every gate open."
    )


def explain_blind() -> list[str]:
    """What a reviewer reads who must not know the model's answer: no label, no probability, no rule."""
    return [QUALITY_CHECK]


def _sentence(reason: Reason, names: Names, unit: str) -> str:
    code, _, subject = reason.code.partition(":")
    if code == "override":
        return f"Held by the rule “{_isolated(str(reason.numbers['name']))}”: {_rule(reason.numbers, names)}."
    if code == "question_held":
        return _question_held(subject, reason.numbers, names)
    if code == "high_cost":
        return _high_cost(reason.numbers, names, unit)
    write = _SENTENCES.get(code)
    # A stored reason outlives the version that wrote it.
    return write(reason.numbers, names) if write else f"Held for the reason “{reason.code}”."


def _low_confidence(numbers: Mapping[str, Any], names: Names) -> str:
    given, least = _percent(numbers["p"], numbers["threshold"]), _exact_percent(numbers["threshold"])
    label = _name(numbers["label"], names)
    return f"Held because the model gave {label} {given} and this workflow asks for at least {least}."


def _high_cost(numbers: Mapping[str, Any], names: Names, unit: str) -> str:
    expected = _as_money(_amount(numbers["expected_cost"], numbers["review_cost"])) + unit
    label, review = _name(numbers["label"], names), _as_money(_exact(numbers["review_cost"])) + unit
    held = (
        f"Held because acting on {label} is expected to cost {expected}, more than the {review} of a review."
    )
    if "temperature" not in numbers:
        return held
    return f"{held} Its probabilities were mapped for that, at temperature {_exact(numbers['temperature'])}."


def _not_automatic(numbers: Mapping[str, Any], names: Names) -> str:
    label = _name(numbers["label"], names)
    if numbers["autonomy"] == "shadow":
        return f"Held because people label items without seeing the model while {label} is at “shadow”."
    return f"Held because people confirm every {label}: it is at “suggest”."


def _out_of_scope(numbers: Mapping[str, Any], names: Names) -> str:
    label, given = _name(numbers["label"], names), _percent(numbers["p"])
    return f"Held because the most likely answer is {label} ({given}): outside what this workflow decides."


def _close_call(numbers: Mapping[str, Any], names: Names) -> str:
    label, gap, margin = _name(numbers["label"], names), numbers["gap"], numbers["margin"]
    apart, least = _percent(gap, margin, unit=""), _exact_percent(margin, unit="")
    if numbers["runner_up"] is None:
        return (
            f"Held because {label} has {apart} points and this workflow asks for a lead of at least {least}."
        )
    both = f"{label} and {_name(numbers['runner_up'], names)}"
    if gap == 0:
        return f"Held because {both} are equally likely ({_percent(numbers['p'])} each)."
    return f"Held because {both} are {apart} points apart and this workflow asks for at least {least}."


def _critical(numbers: Mapping[str, Any], names: Names) -> str:
    label = _name(numbers["critical"], names)
    if numbers["is_top"]:
        return f"Held because {label} is critical: people look at every item the model gives it."
    given, floor = _percent(numbers["p"], numbers["floor"]), _exact_percent(numbers["floor"])
    return f"Held because {label} is critical: the model gave it {given}, people look from {floor} on."


def _audit(numbers: Mapping[str, Any], _: Names) -> str:
    return f"Drawn for a quality check, as {_exact_percent(numbers['rate'])} of such items are."


def _model_error(numbers: Mapping[str, Any], _: Names) -> str:
    if numbers["code"] == "images_unread":
        said = str(numbers["message"])
        # What a server said in its own words stands on the item's page; who reviews needs the fact alone.
        return f"Held because of its images: {'the model does not read them' if said.startswith('HTTP') else said}."
    return f"Held because the model could not answer ({numbers['code']}): {numbers['message']}"


_SENTENCES: Final[Mapping[str, Callable[[Mapping[str, Any], Names], str]]] = {
    "low_confidence": _low_confidence,
    "not_automatic": _not_automatic,
    "out_of_scope": _out_of_scope,
    "close_call": _close_call,
    "critical": _critical,
    "audit": _audit,
    "model_error": _model_error,
}


def _question_held(question: str, numbers: Mapping[str, Any], names: Names) -> str:
    asked = _question(question, names)
    if "problem" in numbers:
        return f"Held because the model gave no answer to {asked} that its rule could use."
    if numbers["kind"] == "noul":
        low, high = numbers["low"], numbers["high"]
        given, between = (
            _percent(numbers["p"], low, high),
            f"{_exact_percent(low)} and {_exact_percent(high)}",
        )
        return f"Held because {asked} is in doubt: the model gave yes {given}, which is between {between}."
    given, least = _percent(numbers["p"], numbers["at_least"]), _exact_percent(numbers["at_least"])
    return f"Held because no answer to {asked} has more than {given} and its rule asks for at least {least}."


def _rule(numbers: Mapping[str, Any], names: Names) -> str:
    if numbers["rule"] == "text":
        return f"the text contains “{_isolated(numbers['word'])}”"
    if numbers["rule"] == "metadata":
        return _metadata_rule(numbers)
    asked = _question(numbers["question"], names)
    if "problem" in numbers:
        return f"the model gave no answer to {asked} that it could use"
    what = _what(numbers["kind"], numbers["option"], names)
    if numbers["is_top"]:
        return f"the model's answer to {asked} is {what}"
    given, least = _percent(numbers["p"], numbers["at_least"]), _exact_percent(numbers["at_least"])
    return f"for {asked} the model gave {what} {given}, people look from {least} on"


def _what(kind: str, option: str | None, names: Names) -> str:
    if kind == "noul":
        return "yes"
    return _name(option, names) if kind == "choice" else f"level {option} or above"


_PHRASES: Final[Mapping[str, str]] = {
    ">": "over",
    ">=": "not under",
    "<": "under",
    "<=": "not over",
    "=": "is",
    "!=": "is not",
    "in": "is one of",
    "not in": "is none of",
    "contains": "contains",
}


def _metadata_rule(numbers: Mapping[str, Any]) -> str:
    field, op, value = _isolated(numbers["field"]), numbers["op"], numbers["value"]
    if "problem" in numbers:
        return f"{field} is {numbers['problem']}, which it cannot compare"
    if "is_missing" in numbers:
        return f"{field} is missing"
    if op == "present":
        return f"{field} is there"
    wanted = ", ".join(map(_value, value)) if isinstance(value, list | tuple) else _value(value)
    if op in (">", ">=", "<", "<="):
        return f"{field} is {_amount(numbers['found'], value)}, {_PHRASES[op]} {wanted}"
    return f"{field} {_PHRASES[op]} {wanted}"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"“{_isolated(value)}”" if isinstance(value, str) else _exact(value)


def _name(label: Any, names: Names) -> str:
    return _isolated(names.get(label, label))


def _question(question: str, names: Names) -> str:
    return f"“{_isolated(names.get(f'question:{question}', question))}”"


def _isolated(text: str) -> str:
    """Right-to-left names are fenced off, or the numbers beside them would change places on screen."""
    is_rtl = any(unicodedata.bidirectional(character) in ("R", "AL") for character in text)
    return f"\u2068{text}\u2069" if is_rtl else text


def _percent(value: Any, *limits: Any, unit: str = " %") -> str:
    """As few digits as tell it from each limit, and from 0 and 100 % unless it is exactly that."""
    return f"{_shortest(value, (0, 1, *limits), scale=100, digits=0)}{unit}"


def _exact_percent(value: Any, *, unit: str = " %") -> str:
    return f"{_plain(_decimal(value) * 100)}{unit}"


def _amount(value: Any, limit: Any) -> str:
    return _shortest(value, (limit,), scale=1, digits=2)


def _as_money(amount: str) -> str:
    """With cents: "0.6" is written "0.60"; what needs more digits, or has none, stays as it is."""
    whole, point, digits = amount.partition(".")
    return f"{whole}.{digits:0<2}" if point and digits.isdigit() else amount


def _exact(value: Any) -> str:
    return _plain(_decimal(value))


def _shortest(value: Any, limits: Iterable[Any], *, scale: int, digits: int) -> str:
    exact, bounds = _decimal(value) * scale, [_decimal(limit) * scale for limit in limits]
    if abs(exact) >= _TOO_LONG_TO_READ:
        return _plain(exact)
    for places in range(digits, _MAX_DIGITS):
        rounded = round(exact, places)
        if all((rounded > bound, rounded < bound) == (exact > bound, exact < bound) for bound in bounds):
            return _plain(rounded)
    return _plain(exact)


def _decimal(value: Any) -> Decimal:
    return Decimal(repr(value))


def _plain(number: Decimal) -> str:
    if abs(number) >= _TOO_LONG_TO_READ:
        return f"{number:.3e}"
    text = f"{number:,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
