"""Rules in the words of the policy page: what they say, and what differs between two versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from apps.routing.types import UNKNOWN_LABEL
from apps.workflows.models import Question

NONE = "none"
DEFAULT_COST = 1
MATRIX_LIMIT = 12
"""With more labels than this a matrix of costs is neither shown nor edited as one."""
_SHARES = {
    "margin": "Margin between the top two",
    "blind_share": "Share of blind reviews",
    "audit_rate": "Audit share, step audited",
    "automatic_audit_rate": "Audit share, step automatic",
}


class Change(NamedTuple):
    """`path` says in words what changed ("Spam: threshold")."""

    path: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class LabelRow:
    label: str
    name: str
    threshold: str
    autonomy: str
    target_error: str
    critical: str | None


@dataclass(frozen=True, slots=True)
class CostRow:
    """Costs of acting on `name`, in the order of the labels; None on the diagonal."""

    name: str
    costs: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class ReadableRules:
    """Pairs are of a name and what it says. `costs` is empty above MATRIX_LIMIT; `named_costs` never is."""

    numbers: tuple[tuple[str, str], ...]
    labels: tuple[LabelRow, ...]
    costs: tuple[CostRow, ...]
    named_costs: tuple[tuple[str, str, str], ...]
    overrides: tuple[tuple[str, str], ...]
    holds: tuple[tuple[str, str], ...]
    maps: tuple[tuple[str, str], ...]


def to_readable(rules: Mapping[str, Any], questions: Sequence[Question]) -> ReadableRules:
    """In effect: a label left out has the default rule, a cost left out is 1."""
    names = _label_names(questions)
    return ReadableRules(
        numbers=tuple(_numbers(rules)),
        labels=tuple(_label_row(rules, label, name) for label, name in names.items()),
        costs=tuple(
            CostRow(
                name, tuple(None if true == label else amount(_cost(rules, label, true)) for true in names)
            )
            for label, name in (names.items() if len(names) <= MATRIX_LIMIT else ())
        ),
        named_costs=tuple(
            (names.get(predicted, predicted), names.get(true, true), amount(cost))
            for predicted, row in rules["costs"].items()
            for true, cost in row.items()
        ),
        overrides=tuple(
            (override["name"], override_sentence(override, questions)) for override in rules["overrides"]
        ),
        holds=tuple((hold["question"], hold_sentence(hold)) for hold in rules["holds"]),
        maps=tuple((question, map_sentence(each)) for question, each in rules.get("maps", {}).items()),
    )


def policy_diff(
    old: Mapping[str, Any], new: Mapping[str, Any], questions: Sequence[Question]
) -> list[Change]:
    """What differs in effect, in the order of the page."""
    labels = _label_names(questions)
    for rules in (old, new):
        labels |= {label: label for label in rules["labels"] if label not in labels}
    # Of every pair of 255 labels, those that neither version names cannot differ.
    pairs = dict.fromkeys(
        (predicted, true) for rules in (old, new) for predicted, row in rules["costs"].items() for true in row
    )
    before, after = (dict(_lines(rules, questions, labels, [*pairs])) for rules in (old, new))
    paths = dict.fromkeys([*before, *after])
    changes = (Change(path, before.get(path, NONE), after.get(path, NONE)) for path in paths)
    return [change for change in changes if change.old != change.new]


def share(p: float) -> str:
    """0.899 as "89.9 %": every digit that was set, since a comparison may hang on the last one."""
    return f"{round(p * 100, 10):.12g} %"


def isolated(text: str) -> str:
    """Text that people wrote, for use inside a sentence: its direction stays its own (U+2068 … U+2069)."""
    return text if text.isascii() else f"\u2068{text}\u2069"


def amount(value: float) -> str:
    return f"{value:.12g}"


def override_sentence(override: Mapping[str, Any], questions: Sequence[Question]) -> str:
    """When it holds an item: "amount > 10000"."""
    if override["kind"] == "text":
        return f"the text has one of: {', '.join(map(isolated, override['words']))}"
    if override["kind"] == "metadata":
        value = _value(override.get("value"))
        return f"{isolated(override['field'])} {override['op']} {value}".rstrip()
    question, option = override["question"], override.get("option")
    names = {each.key: each.option_names for each in questions}.get(question, {})
    what = "yes" if option is None else isolated(names.get(option, option))
    return f"{question}: {what} at {share(override['at_least'])} or more"


def hold_sentence(hold: Mapping[str, Any]) -> str:
    """When it holds an item."""
    if "threshold" in hold:
        return f"no option reaches {share(hold['threshold'])}"
    if "min_share" in hold:
        return f"no level reaches {share(hold['min_share'])}"
    return f"yes is between {share(hold['low'])} and {share(hold['high'])}"


def map_sentence(by: Mapping[str, Any]) -> str:
    """How a question's probabilities are mended for costs and for readers."""
    return f"temperature {amount(by['t'])}"


def _cost(rules: Mapping[str, Any], predicted: str, true: str) -> float:
    cost: float = rules["costs"].get(predicted, {}).get(true, DEFAULT_COST)
    return cost


def _value(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_value, value))
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return amount(value)
    return "" if value is None else isolated(str(value))


def _label_names(questions: Sequence[Question]) -> dict[str, str]:
    return next((question.option_names for question in questions if question.is_routing), {})


def _numbers(rules: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "Cost of a review", amount(rules["review_cost"])
    for key, words in _SHARES.items():
        yield words, share(rules[key])


def _label_row(rules: Mapping[str, Any], label: str, name: str) -> LabelRow:
    rule = rules["labels"].get(label, {})
    critical = rules["critical"].get(label)
    return LabelRow(
        label=label,
        name=name,
        threshold=share(rule.get("threshold", UNKNOWN_LABEL.threshold)),
        autonomy=rule.get("autonomy", UNKNOWN_LABEL.autonomy.value),
        target_error=share(rule.get("target_error", UNKNOWN_LABEL.target_error)),
        critical=None if critical is None else share(critical),
    )


def _lines(
    rules: Mapping[str, Any],
    questions: Sequence[Question],
    labels: Mapping[str, str],
    pairs: Sequence[tuple[str, str]],
) -> Iterator[tuple[str, str]]:
    yield from _numbers(rules)
    names = {label: isolated(name) for label, name in labels.items()}
    for label, name in names.items():
        row = _label_row(rules, label, name)
        yield f"{name}: threshold", row.threshold
        yield f"{name}: autonomy", row.autonomy
        yield f"{name}: target error", row.target_error
        yield f"{name}: always looked at from", row.critical or NONE
    for predicted, true in pairs:
        words = f"{names.get(predicted, predicted)}: cost when it is {names.get(true, true)}"
        yield words, amount(_cost(rules, predicted, true))
    for override in rules["overrides"]:
        # Named by its id as well: two rules may share a name, and renaming one is a change.
        sentence = override_sentence(override, questions)
        yield f"Rule {override['id']}", f"{isolated(override['name'])}: {sentence}"
    for hold in rules["holds"]:
        yield f"Hold of {hold['question']}", hold_sentence(hold)
    for question, by in rules.get("maps", {}).items():
        yield f"Map of {question}", map_sentence(by)
