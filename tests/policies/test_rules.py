from __future__ import annotations

from typing import Any

import pytest

from apps.core.errors import InvalidInput
from apps.policies.rules import read_rules, to_rules
from apps.routing.types import (
    AnswerOverride,
    Autonomy,
    ChoiceHold,
    LabelRule,
    MetadataOverride,
    NoulHold,
    ScoreHold,
    TemperatureMap,
    TextOverride,
)
from apps.workflows.definitions import read_definition
from apps.workflows.models import Question, Workflow
from tests.factories import RULES
from tests.workflows.files import choice, policy, score, workflow_file

NOUL = workflow_file()["questions"][1]
NAN, INFINITY = float("nan"), float("inf")


@pytest.fixture(scope="module")
def questions() -> list[Question]:
    data = workflow_file()
    return read_definition(
        {"workflow": data["workflow"], "questions": [choice(), NOUL, score()]}
    ).to_questions()


def refused(questions: list[Question], data: object) -> dict[str, str]:
    with pytest.raises(InvalidInput) as error:
        read_rules(data, questions)
    return {problem.path: problem.message for problem in error.value.problems}


def with_override(**values: Any) -> dict[str, Any]:
    return policy(overrides=[{"id": "x", "name": "X"} | values])


def test_it_works(questions: list[Question]) -> None:
    stored = read_rules(policy(), questions)

    assert stored["labels"] == {"spam": {"threshold": 0.8, "autonomy": "audited", "target_error": 0.05}}
    assert read_rules(stored, questions) == stored


@pytest.mark.django_db
def test_stored_rules_become_routings(workflow: Workflow) -> None:
    stored = read_rules(policy(labels=RULES["labels"]), list(workflow.question_sets.get().questions.all()))

    rules = to_rules(stored, workflow.question_sets.get())

    assert rules.none_of_these == "other"
    assert rules.labels["spam"] == LabelRule(0.8, Autonomy.AUDITED, 0.05)
    assert rules.overrides == (
        TextOverride("words", "Refund", ("refund*",)),
        MetadataOverride("big", "Large", "amount", ">", 10_000),
        AnswerOverride("paid", "Money", "money", None, 0.2),
    )
    assert rules.holds == (NoulHold("money", 0.2, 0.8),)


@pytest.mark.django_db
def test_each_kind_of_question_is_held_its_way(workflow: Workflow) -> None:
    holds = [{"question": "intent", "threshold": 0.4}, {"question": "severity", "min_share": 0.5}]

    rules = to_rules(RULES | {"holds": holds}, workflow.question_sets.get())

    assert rules.holds == (ChoiceHold("intent", 0.4), ScoreHold("severity", 0.5))


@pytest.mark.parametrize("value", [NAN, INFINITY, -INFINITY, -0.1, 1.1, True, "0.5", None, 10**400])
@pytest.mark.parametrize("field", ["margin", "blind_share", "audit_rate", "automatic_audit_rate"])
def test_shares_that_are_none(questions: list[Question], field: str, value: object) -> None:
    assert list(refused(questions, policy(**{field: value}))) == [field]


@pytest.mark.parametrize("field", ["audit_rate", "automatic_audit_rate"])
def test_audits_never_end(questions: list[Question], field: str) -> None:
    assert refused(questions, policy(**{field: 0.009}))[field] == "must be greater than or equal to 0.01"


@pytest.mark.parametrize(
    ("changed", "path", "said"),
    [
        ({"review_cost": -1}, "review_cost", "greater"),
        ({"review_cost": INFINITY}, "review_cost", "finite"),
        ({"surprise": 1}, "surprise", "not known"),
        ({"labels": {"spam": {"threshold": NAN, "autonomy": "suggest"}}}, "labels.spam.threshold", "finite"),
        ({"labels": {"spam": {"threshold": 0.5, "autonomy": "boss"}}}, "labels.spam.autonomy", "shadow"),
        ({"labels": {"nope": {"threshold": 0.5, "autonomy": "suggest"}}}, "labels.nope", "no option"),
        ({"costs": {"nope": {}}}, "costs.nope", "no option"),
        ({"costs": {"spam": {"nope": 1}}}, "costs.spam.nope", "no option"),
        ({"costs": {"spam": {"spam": 1}}}, "costs.spam.spam", "left out"),
        ({"costs": {"spam": {"lead": -1}}}, "costs.spam.lead", "greater"),
        ({"costs": {"spam": {"lead": 1e10}}}, "costs.spam.lead", "less"),
        ({"critical": {"nope": 0.1}}, "critical.nope", "no option"),
        ({"holds": [{"question": "nope", "low": 0.1, "high": 0.9}]}, "holds[0].question", "no question"),
        ({"holds": [{"question": "money", "low": 0.1}]}, "holds[0].high", "must be given"),
        ({"holds": [{"question": "money", "low": 0.9, "high": 0.1}]}, "holds[0].high", "between"),
        ({"holds": [{"question": "severity", "threshold": 0.9}]}, "holds[0].threshold", "left out"),
        ({"holds": policy()["holds"] * 2}, "holds[1].question", "already"),
        ({"overrides": policy()["overrides"] * 2}, "overrides[3].id", "already"),
    ],
)
def test_policies_that_are_refused(
    questions: list[Question], changed: dict[str, Any], path: str, said: str
) -> None:
    assert said in refused(questions, policy(**changed))[path]


@pytest.mark.parametrize(
    ("override", "field", "said"),
    [
        ({"kind": "text", "words": []}, "words", "1 to"),
        ({"kind": "text", "words": ["…"]}, "words", "needs a word"),
        ({"kind": "text", "words": ["a*b"]}, "words", "only at its end"),
        ({"kind": "text", "words": ["w"], "name": "n" * 10_000}, "name", "120"),
        ({"kind": "text", "words": ["w"], "id": "no spaces"}, "id", "form"),
        ({"kind": "metadata", "field": "a", "op": ">", "value": "12"}, "value", "number"),
        ({"kind": "metadata", "field": "a", "op": ">", "value": NAN}, "value", "number"),
        ({"kind": "metadata", "field": "a", "op": ">", "value": 10**400}, "value", "number"),
        ({"kind": "metadata", "field": "a", "op": "=", "value": "\x00"}, "value", "stored"),
        ({"kind": "metadata", "field": "a", "op": "=", "value": {"x": 1}}, "value", "text"),
        ({"kind": "metadata", "field": "a", "op": "in", "value": []}, "value", "1 to 500"),
        ({"kind": "metadata", "field": "a..b", "op": "missing"}, "field", "dots"),
        ({"kind": "metadata", "field": "a", "op": "~"}, "op", "must be"),
        ({"kind": "answer", "question": "nope", "at_least": 0.2}, "question", "no question"),
        ({"kind": "answer", "question": "money", "option": "true", "at_least": 0.2}, "option", "left out"),
        ({"kind": "answer", "question": "severity", "option": "7", "at_least": 0.2}, "option", "an option"),
        ({"kind": "answer", "question": "severity", "at_least": 0.2}, "option", "an option"),
        ({"kind": "answer", "question": "money", "at_least": NAN}, "at_least", "finite"),
        ({"kind": "regex"}, "kind", "must be one of"),
    ],
)
def test_overrides_that_are_refused(
    questions: list[Question], override: dict[str, Any], field: str, said: str
) -> None:
    assert said in refused(questions, with_override(**override))[f"overrides[0].{field}"]


@pytest.mark.parametrize("data", [None, [], "policy", 7])
def test_what_is_no_table_is_refused(questions: list[Question], data: object) -> None:
    assert refused(questions, data) == {"policy": "must be a table"}


def test_every_problem_is_named_at_once(questions: list[Question]) -> None:
    data = policy(costs={"x": {}}, critical={"y": 0.5}, holds=[{"question": "z"}])

    assert list(refused(questions, data)) == ["costs.x", "critical.y", "holds[0].question"]


@pytest.mark.django_db
def test_a_map_is_stored_only_where_there_is_one(workflow: Workflow) -> None:
    question_set = workflow.question_sets.get()
    asked = list(question_set.questions.all())
    by = {"intent": {"kind": "temperature", "t": 1.4}}
    assert "maps" not in read_rules(RULES | {"maps": {}}, asked)
    stored = read_rules(RULES | {"maps": by}, asked)
    assert stored["maps"] == by
    assert to_rules(stored, question_set).maps == {"intent": TemperatureMap(1.4)}


@pytest.mark.parametrize(
    ("by", "path"),
    [
        ({"gone": {"kind": "temperature", "t": 1.0}}, "maps.gone"),
        ({"gone": {"kind": "temperature", "t": 21}}, "maps.gone.t"),
        ({"gone": {"kind": "isotonic", "t": 1.0}}, "maps.gone.kind"),
    ],
)
def test_a_map_that_cannot_be_used_is_refused(questions: list[Question], by: object, path: str) -> None:
    assert list(refused(questions, policy(maps=by))) == [path]
