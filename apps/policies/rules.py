"""The form a policy's rules have in a file, in the database and on the policy page.

`read_rules` refuses with `InvalidInput`, whose paths are those below `[policy]` ("labels.spam.threshold"); what it
returns is what `Policy.rules` stores. `to_rules` turns that into the values routing works with.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints

from apps.core.errors import FieldProblem, InvalidInput
from apps.core.text import unstorable_at
from apps.routing import types as routing
from apps.workflows.models import Question, QuestionSet
from apps.workflows.parts import Name, Part, read_part, storable

MAX_COST = 1_000_000_000
MAX_AMOUNT = 1e15
"""Beyond it a float no longer tells neighbouring whole numbers apart."""


Probability = Annotated[float, Field(ge=0, le=1)]
AuditRate = Annotated[float, Field(ge=routing.AUDIT_FLOOR, le=1)]
Cost = Annotated[float, Field(ge=0, le=MAX_COST)]
OverrideId = Annotated[str, StringConstraints(pattern=r"\A[A-Za-z0-9_.-]{1,60}\z")]
ShortText = Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(storable)]


def _comparable(value: object) -> object:
    """One sentence where a union of types would give one for each."""
    if value is None:
        return None
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, str):
            if not 1 <= len(each) <= 200 or unstorable_at(each) is not None:
                raise ValueError("texts must have 1 to 200 characters, all of which can be stored")
        elif not isinstance(each, bool | int | float) or not -MAX_AMOUNT <= each <= MAX_AMOUNT:
            raise ValueError(
                f"must be a text, true, false, a number up to {MAX_AMOUNT:g}, or a list of these"
            )
    if isinstance(value, list) and not 1 <= len(value) <= 500:
        raise ValueError("must have 1 to 500 entries")
    return value


Comparable = Annotated[Any, AfterValidator(_comparable)]


class LabelPart(Part):
    threshold: Probability
    autonomy: Literal["shadow", "suggest", "audited", "automatic"]
    target_error: Probability = 0.05

    def to_rule(self) -> routing.LabelRule:
        return routing.LabelRule(self.threshold, routing.Autonomy(self.autonomy), self.target_error)


class _OverridePart(Part):
    id: OverrideId
    name: Name


class MetadataPart(_OverridePart):
    kind: Literal["metadata"]
    field: ShortText
    op: routing.MetadataOp
    value: Comparable = None

    def to_override(self) -> routing.Override:
        return routing.MetadataOverride(self.id, self.name, self.field, self.op, self.value)


class TextPart(_OverridePart):
    kind: Literal["text"]
    words: list[ShortText]

    def to_override(self) -> routing.Override:
        return routing.TextOverride(self.id, self.name, tuple(self.words))


class AnswerPart(_OverridePart):
    kind: Literal["answer"]
    question: str
    option: str | None = None
    at_least: Probability

    def to_override(self) -> routing.Override:
        return routing.AnswerOverride(self.id, self.name, self.question, self.option, self.at_least)


OverridePart = Annotated[MetadataPart | TextPart | AnswerPart, Field(discriminator="kind")]


class HoldPart(Part):
    """`low` and `high` for a noul, `threshold` for a choice, `min_share` for a score."""

    question: str
    low: Probability | None = None
    high: Probability | None = None
    threshold: Probability | None = None
    min_share: Probability | None = None

    def to_hold(self) -> routing.Hold:
        """Raises ValueError when `high` is under `low`."""
        if self.threshold is not None:
            return routing.ChoiceHold(self.question, self.threshold)
        if self.min_share is not None:
            return routing.ScoreHold(self.question, self.min_share)
        return routing.NoulHold(self.question, self.low or 0.0, 1.0 if self.high is None else self.high)


class MapPart(Part):
    """`t` of softmax(ln p / t)."""

    kind: Literal["temperature"]
    t: Annotated[float, Field(ge=routing.T_RANGE[0], le=routing.T_RANGE[1])]


HOLD_FIELDS = {"noul": ("low", "high"), "choice": ("threshold",), "score": ("min_share",)}


class PolicyFile(Part):
    """The `[policy]` of a file. A label left out is never automatic: threshold 1, `suggest`."""

    margin: Probability
    review_cost: Cost
    audit_rate: AuditRate
    automatic_audit_rate: AuditRate
    blind_share: Probability
    labels: dict[str, LabelPart] = Field(default_factory=dict)
    costs: dict[str, dict[str, Cost]] = Field(default_factory=dict)
    critical: dict[str, Probability] = Field(default_factory=dict)
    overrides: list[OverridePart] = Field(default_factory=list, max_length=200)
    holds: list[HoldPart] = Field(default_factory=list, max_length=64)
    maps: dict[str, MapPart] = Field(default_factory=dict)

    def to_stored(self) -> dict[str, Any]:
        """`maps` only where there are any: policies from before there were maps say the same as those without."""
        stored = self.model_dump(exclude_none=True)
        if not self.maps:
            del stored["maps"]
        return stored


def read_rules(data: object, questions: Sequence[Question]) -> dict[str, Any]:
    """What `Policy.rules` stores. `questions` are the rows the policy is for, saved or not.

    Raises InvalidInput naming every field that is wrong, or that speaks of a question or option there is not.
    """
    part = read_part(PolicyFile, data, whole="policy")
    problems = [*_problems(part, questions)]
    if problems:
        raise InvalidInput(*problems)
    return part.to_stored()


def to_rules(rules: Mapping[str, Any], question_set: QuestionSet) -> routing.Rules:
    """Stored rules as routing's values, for answers to `question_set`.

    That may be another version than the one the rules were checked against: what they say of a question or
    option that is gone stays, and routing holds the item for it.
    """
    part = PolicyFile.model_validate(rules)
    none_of_these = next(
        (question.none_of_these for question in question_set.questions.all() if question.is_routing), ""
    )
    return routing.Rules(
        labels={label: rule.to_rule() for label, rule in part.labels.items()},
        none_of_these=none_of_these or None,
        margin=part.margin,
        costs=part.costs,
        review_cost=part.review_cost,
        overrides=tuple(override.to_override() for override in part.overrides),
        holds=tuple(hold.to_hold() for hold in part.holds),
        audit_rate=part.audit_rate,
        automatic_audit_rate=part.automatic_audit_rate,
        blind_share=part.blind_share,
        critical=part.critical,
        maps={question: routing.TemperatureMap(each.t) for question, each in part.maps.items()},
    )


def _problems(part: PolicyFile, questions: Sequence[Question]) -> Iterator[FieldProblem]:
    options = {question.key: question.option_ids for question in questions}
    kinds = {question.key: question.kind for question in questions}
    labels = next((question.option_ids for question in questions if question.is_routing), [])
    yield from _label_problems(part, labels)
    for index, override in enumerate(part.overrides):
        yield from _override_problems(override, f"overrides[{index}]", options, kinds)
    for index, hold in enumerate(part.holds):
        yield from _hold_problems(hold, f"holds[{index}]", kinds)
    for question in part.maps:
        if question not in kinds:
            yield FieldProblem(f"maps.{question}", "is no question of this workflow")
    yield from _repeated([override.id for override in part.overrides], "overrides", "id")
    yield from _repeated([hold.question for hold in part.holds], "holds", "question")


def _label_problems(part: PolicyFile, labels: Sequence[str]) -> Iterator[FieldProblem]:
    unknown = "is no option of the routing question"
    for name, named in (("labels", part.labels), ("costs", part.costs), ("critical", part.critical)):
        for label in named:
            if label not in labels:
                yield FieldProblem(f"{name}.{label}", unknown)
    for predicted, row in part.costs.items():
        for true in row:
            if true not in labels:
                yield FieldProblem(f"costs.{predicted}.{true}", unknown)
            elif true == predicted:
                yield FieldProblem(f"costs.{predicted}.{true}", "must be left out: being right costs nothing")


def _override_problems(
    override: MetadataPart | TextPart | AnswerPart,
    path: str,
    options: Mapping[str, Sequence[str]],
    kinds: Mapping[str, str],
) -> Iterator[FieldProblem]:
    try:
        override.to_override()
    except ValueError as error:
        yield _named(path, error)
    if not isinstance(override, AnswerPart):
        return
    if override.question not in options:
        yield FieldProblem(f"{path}.question", "is no question of this workflow")
    elif kinds[override.question] == Question.Kind.NOUL:
        if override.option is not None:
            yield FieldProblem(f"{path}.option", "must be left out: a noul is bounded by its P(yes)")
    elif override.option not in options[override.question]:
        yield FieldProblem(f"{path}.option", "must be an option of the question")


def _hold_problems(hold: HoldPart, path: str, kinds: Mapping[str, str]) -> Iterator[FieldProblem]:
    if hold.question not in kinds:
        yield FieldProblem(f"{path}.question", "is no question of this workflow")
        return
    kind = kinds[hold.question]
    for name in ("low", "high", "threshold", "min_share"):
        is_given, is_wanted = getattr(hold, name) is not None, name in HOLD_FIELDS[kind]
        if is_wanted and not is_given:
            yield FieldProblem(f"{path}.{name}", f"must be given for a {kind}")
        if is_given and not is_wanted:
            yield FieldProblem(f"{path}.{name}", f"must be left out for a {kind}")
    try:
        hold.to_hold()
    except ValueError as error:
        yield _named(path, error)


def _named(path: str, error: ValueError) -> FieldProblem:
    """Routing's refusals begin with the field's name."""
    name, _, sentence = str(error).partition(": ")
    return FieldProblem(f"{path}.{name}", sentence)


def _repeated(names: Sequence[str], path: str, field: str) -> Iterator[FieldProblem]:
    for index, name in enumerate(names):
        if name in names[:index]:
            yield FieldProblem(f"{path}[{index}].{field}", "is there already")
