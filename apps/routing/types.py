"""The words of the policy as frozen values: rules and a decision go in, a route with its gates comes out.

Rules refuse at construction what could not be obeyed, with a ValueError that begins with the field's name.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, TypeAlias, get_args

from apps.routing.checks import check_distinct, check_number, is_list_of_scalars, is_number, is_scalar
from apps.routing.words import MAX_PHRASES, Phrase

JSON: TypeAlias = "bool | int | float | str | Sequence[JSON] | Mapping[str, JSON] | None"
Numbers: TypeAlias = Mapping[str, JSON]
AnswerKind: TypeAlias = Literal["choice", "noul", "score"]

AUDIT_FLOOR = 0.01
"""The least share of automatic items that is drawn for review, at every step of the ladder."""
T_RANGE = (0.05, 20.0)
"""Temperatures of a map; beyond it nothing of an answer would be left, or nothing but its top."""


class Autonomy(StrEnum):
    """What a label's action may do by itself; declared from least to most."""

    SHADOW = "shadow"
    SUGGEST = "suggest"
    AUDITED = "audited"
    AUTOMATIC = "automatic"

    @property
    def may_act(self) -> bool:
        return self in (Autonomy.AUDITED, Autonomy.AUTOMATIC)


class Outcome(StrEnum):
    AUTOMATIC = "automatic"
    REVIEW = "review"


class RouteKind(StrEnum):
    """What a route asks of people, in one word."""

    AUTOMATIC = "automatic"  # nothing
    AUDIT = "audit"  # a check of what policy settled; never acts
    SHADOW = "shadow"  # a label without seeing the model
    REVIEW = "review"
    MODEL_ERROR = "model_error"  # an answer where the model gave none


@dataclass(frozen=True, slots=True)
class LabelRule:
    threshold: float
    autonomy: Autonomy
    target_error: float = 0.05

    def __post_init__(self) -> None:
        check_number("threshold", self.threshold)
        check_number("target_error", self.target_error)


UNKNOWN_LABEL = LabelRule(threshold=1.0, autonomy=Autonomy.SUGGEST)
"""The rule of a label that the policy does not name: people decide."""


Scalar: TypeAlias = "bool | int | float | str"
MetadataOp: TypeAlias = Literal[
    ">", ">=", "<", "<=", "=", "!=", "in", "not in", "contains", "missing", "present"
]


@dataclass(frozen=True, slots=True)
class MetadataOverride:
    """Holds items whose metadata meet a condition.

    `field` is a dotted path; where it leads into a list, any of its elements may match. Texts compare
    without case, accents and surrounding space. null and blank text count as missing; a missing value
    matches `missing`, `!=` and `not in` only. A value that cannot be compared with `value` holds the item.
    """

    id: str
    name: str
    field: str
    op: MetadataOp
    value: Scalar | Sequence[Scalar] | None = None

    def __post_init__(self) -> None:
        if self.op not in get_args(MetadataOp):
            raise ValueError(f"op: must be one of {', '.join(get_args(MetadataOp))}")
        if not self.field or len(self.field) > 200 or not all(self.field.split(".")):
            raise ValueError("field: must be names joined by dots, at most 200 characters")
        if self.op in (">", ">=", "<", "<=") and not is_number(self.value):
            raise ValueError(f"value: must be a number, to be compared by {self.op}")
        if self.op in ("=", "!=", "contains") and not is_scalar(self.value):
            raise ValueError("value: must be a text, a number, true or false")
        if self.op in ("in", "not in") and not is_list_of_scalars(self.value):
            raise ValueError("value: must be a list with at least one text, number, true or false")
        if self.op in ("missing", "present") and self.value is not None:
            raise ValueError(f"value: must be left out with {self.op}")


@dataclass(frozen=True, slots=True)
class TextOverride:
    """Holds items whose text contains one of the words.

    Whole words or phrases, a trailing `*` for any ending; case, accents, Arabic spelling variants, Arabic
    articles, look-alike letters and invisible characters make no difference.
    """

    id: str
    name: str
    words: tuple[str, ...]
    phrases: tuple[Phrase, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not 1 <= len(self.words) <= MAX_PHRASES:
            raise ValueError(f"words: must be 1 to {MAX_PHRASES}")
        object.__setattr__(self, "phrases", tuple(Phrase.of(word) for word in self.words))


@dataclass(frozen=True, slots=True)
class AnswerOverride:
    """Holds items for another question's answer.

    `at_least` bounds P(yes) of a noul, P(option) of a choice, P(level >= option) of a score. An option of the
    routing question also counts as reached when it is on top. Without such an answer the item is held.
    """

    id: str
    name: str
    question: str
    option: str | None
    at_least: float

    def __post_init__(self) -> None:
        check_number("at_least", self.at_least)


Override: TypeAlias = MetadataOverride | TextOverride | AnswerOverride


@dataclass(frozen=True, slots=True)
class NoulHold:
    """Holds while low < P(yes) < high."""

    question: str
    low: float
    high: float

    def __post_init__(self) -> None:
        check_number("low", self.low)
        check_number("high", self.high, low=self.low)


@dataclass(frozen=True, slots=True)
class ChoiceHold:
    """Holds while no option reaches the threshold."""

    question: str
    threshold: float

    def __post_init__(self) -> None:
        check_number("threshold", self.threshold)


@dataclass(frozen=True, slots=True)
class ScoreHold:
    """Holds while no level reaches the share."""

    question: str
    min_share: float

    def __post_init__(self) -> None:
        check_number("min_share", self.min_share)


Hold: TypeAlias = NoulHold | ChoiceHold | ScoreHold


@dataclass(frozen=True, slots=True)
class TemperatureMap:
    """How one question's probabilities are mended (`maps`); t above 1 takes from an overconfident model."""

    t: float

    def __post_init__(self) -> None:
        check_number("t", self.t, *T_RANGE)


@dataclass(frozen=True, slots=True)
class Rules:
    """One policy version.

    `costs[predicted][true]` is in the unit of `review_cost`; a pair not named costs 1, being right costs 0.
    `critical` maps a label to the probability from which people look at the item, whatever is on top.
    Audit rates under `AUDIT_FLOOR` are raised to it when used. `maps` are by question; that of the routing question
    mends what its costs are expected from.
    """

    labels: Mapping[str, LabelRule]
    none_of_these: str | None
    margin: float
    costs: Mapping[str, Mapping[str, float]]
    review_cost: float
    overrides: tuple[Override, ...]
    holds: tuple[Hold, ...]
    audit_rate: float
    automatic_audit_rate: float
    blind_share: float
    critical: Mapping[str, float] = field(default_factory=dict)
    maps: Mapping[str, TemperatureMap] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("margin", "audit_rate", "automatic_audit_rate", "blind_share"):
            check_number(name, getattr(self, name))
        check_number("review_cost", self.review_cost, high=math.inf)
        for label, floor in self.critical.items():
            check_number(f"critical.{label}", floor)
        for predicted, row in self.costs.items():
            _check_costs(predicted, row)
        check_distinct("overrides", [override.id for override in self.overrides])
        check_distinct("holds", [hold.question for hold in self.holds])


def _check_costs(predicted: str, row: Mapping[str, float]) -> None:
    for true, cost in row.items():
        check_number(f"costs.{predicted}.{true}", cost, high=math.inf)
    if row.get(predicted, 0.0) > min(row.values(), default=0.0):
        # Otherwise doubt about the label would make acting on it look cheaper.
        raise ValueError(f"costs.{predicted}.{predicted}: being right cannot cost more than being wrong")


@dataclass(frozen=True, slots=True)
class QuestionAnswer:
    """Every probability of one answer, in declared order; a noul has "true" and "false"."""

    kind: AnswerKind
    probabilities: tuple[tuple[str, float], ...]

    def __post_init__(self) -> None:
        check_distinct("probabilities", [option for option, _ in self.probabilities])
        if not self.probabilities:
            raise ValueError("probabilities: must not be empty")
        for option, p in self.probabilities:
            check_number(f"probabilities.{option}", p)

    @property
    def top(self) -> tuple[str, float]:
        """The most probable option; of equals the one declared first."""
        return max(self.probabilities, key=lambda pair: pair[1])

    @property
    def runner_up(self) -> tuple[str, float] | None:
        top = self.top
        others = [pair for pair in self.probabilities if pair is not top]
        return max(others, key=lambda pair: pair[1]) if others else None

    def p(self, option: str) -> float | None:
        """The option's probability, None when it was not among those asked."""
        return next((p for name, p in self.probabilities if name == option), None)


@dataclass(frozen=True, slots=True)
class DecisionView:
    """What routing needs of a decision. Raises ValueError when the routing question is no answered choice."""

    routing_question: str
    answers: Mapping[str, QuestionAnswer]

    def __post_init__(self) -> None:
        routing = self.answers.get(self.routing_question)
        if routing is None or routing.kind != "choice":
            raise ValueError("routing_question: must be a choice with an answer")


@dataclass(frozen=True, slots=True)
class ItemFacts:
    text: str
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Draw:
    """Two independent numbers in [0, 1) that belong to the item (see draw.py)."""

    audit: float
    blind: float


@dataclass(frozen=True, slots=True)
class Gate:
    """One rule that was evaluated, with the numbers it compared. Open: it asks for nobody.

    `audit` is closed when the item is drawn; unlike the others it never keeps an item from being settled.
    """

    name: str
    is_open: bool
    numbers: Numbers

    def to_json(self) -> dict[str, JSON]:
        return {"name": self.name, "is_open": self.is_open, "numbers": self.numbers}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Gate:
        return cls(data["name"], data["is_open"], data["numbers"])


@dataclass(frozen=True, slots=True)
class Reason:
    """Why people are asked: the code of product and export, and the numbers that were compared."""

    code: str
    numbers: Numbers

    def to_json(self) -> dict[str, JSON]:
        return {"code": self.code, "numbers": self.numbers}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Reason:
        return cls(data["code"], data["numbers"])


@dataclass(frozen=True, slots=True)
class Route:
    """Where an item goes and why.

    `pi`: the chance, known before the draw, of a human answer to what is asked: 1 for a review, the audit
    rate for an automatic item. Whether a blind answer is needed as well is for whoever counts.
    `asked`: the questions a person must answer, empty when nobody is asked.
    `open_but_threshold`: the policy names the label, and every gate is open but perhaps the threshold, the
    autonomy step and the audit draw. These items make up A_L(t). The step is left out because a label earns
    its step from such items; counting it would keep every label at `suggest` for ever.
    """

    outcome: Outcome
    label: str | None
    p: float | None
    gates: tuple[Gate, ...]
    reasons: tuple[Reason, ...]
    pi: float
    drawn: bool
    blind: bool
    asked: tuple[str, ...]
    open_but_threshold: bool
    kind: RouteKind
