from __future__ import annotations

from typing import Any

import pytest

from apps.policies.readable import Change, hold_sentence, override_sentence, policy_diff, share, to_readable
from apps.policies.rules import read_rules
from apps.workflows.definitions import read_definition
from apps.workflows.models import Question
from tests.workflows.files import choice, policy, workflow_file


@pytest.fixture(scope="module")
def questions() -> list[Question]:
    data = workflow_file()
    return read_definition({"workflow": data["workflow"], "questions": data["questions"]}).to_questions()


def diff(questions: list[Question], **changed: Any) -> list[Change]:
    old = read_rules(policy(), questions)
    return policy_diff(old, read_rules(policy(**changed), questions), questions)


def test_it_works(questions: list[Question]) -> None:
    changes = diff(questions, labels={"spam": {"threshold": 0.93, "autonomy": "automatic"}}, margin=0.2)

    assert changes == [
        ("Margin between the top two", "10 %", "20 %"),
        ("Spam: threshold", "80 %", "93 %"),
        ("Spam: autonomy", "audited", "automatic"),
    ]


def test_nothing_changed(questions: list[Question]) -> None:
    assert diff(questions) == []


def test_a_default_written_out_is_no_change(questions: list[Question]) -> None:
    labels = policy()["labels"] | {"lead": {"threshold": 1.0, "autonomy": "suggest", "target_error": 0.05}}

    assert diff(questions, labels=labels, costs={"spam": {"lead": 6, "other": 1}}) == []


def test_costs_and_critical_labels(questions: list[Question]) -> None:
    assert diff(questions, costs={"spam": {"lead": 4}}, critical={}) == [
        ("Lead: always looked at from", "30 %", "none"),
        ("Spam: cost when it is Lead", "6", "4"),
    ]


def test_rules_and_holds(questions: list[Question]) -> None:
    overrides = [policy()["overrides"][0] | {"words": ["refund*", "contract"]}, policy()["overrides"][1]]

    assert diff(questions, overrides=overrides, holds=[]) == [
        (
            "Rule words",
            "Refund: the text has one of: refund*",
            "Refund: the text has one of: refund*, contract",
        ),
        ("Rule paid", "Money: money: yes at 20 % or more", "none"),
        ("Hold of money", "yes is between 20 % and 80 %", "none"),
    ]


@pytest.mark.parametrize(
    ("p", "text"), [(0.899, "89.9 %"), (0.07, "7 %"), (1, "100 %"), (0, "0 %"), (0.99995, "99.995 %")]
)
def test_shares_keep_their_digits(p: float, text: str) -> None:
    assert share(p) == text


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ({"kind": "metadata", "field": "vip", "op": "=", "value": True}, "vip = true"),
        ({"kind": "metadata", "field": "vip", "op": "missing"}, "vip missing"),
        ({"kind": "metadata", "field": "d", "op": "in", "value": ["a", 2.0]}, "d in a, 2"),
        (
            {"kind": "answer", "question": "intent", "option": "lead", "at_least": 0.25},
            "intent: Lead at 25 % or more",
        ),
    ],
)
def test_override_sentences(questions: list[Question], override: dict[str, Any], sentence: str) -> None:
    assert override_sentence(override, questions) == sentence


@pytest.mark.parametrize(
    ("hold", "sentence"),
    [({"threshold": 0.6}, "no option reaches 60 %"), ({"min_share": 0.5}, "no level reaches 50 %")],
)
def test_hold_sentences(hold: dict[str, Any], sentence: str) -> None:
    assert hold_sentence(hold) == sentence


def test_every_label_has_a_row(questions: list[Question]) -> None:
    readable = to_readable(read_rules(policy(), questions), questions)

    assert [(row.name, row.threshold, row.autonomy) for row in readable.labels] == [
        ("Lead", "100 %", "suggest"),
        ("Spam", "80 %", "audited"),
        ("None of these", "100 %", "suggest"),
    ]
    assert [row.costs for row in readable.costs] == [(None, "1", "1"), ("6", None, "1"), ("1", "1", None)]


def test_many_labels_have_no_matrix() -> None:
    options = [{"id": f"o{n}", "name": f"Option {n}"} for n in range(13)]
    question = choice(options=options) | {"none_of_these": None}
    data = workflow_file(questions=[question])
    many = read_definition({"workflow": data["workflow"], "questions": data["questions"]}).to_questions()
    rules = policy(labels={}, critical={}, overrides=[], holds=[], costs={"o1": {"o2": 3}})

    readable = to_readable(read_rules(rules, many), many)

    assert (readable.costs, readable.named_costs) == ((), (("Option 1", "Option 2", "3"),))


def test_what_people_wrote_keeps_its_direction(questions: list[Question]) -> None:
    override = {"kind": "text", "words": ["عقد", "contract"]}

    assert override_sentence(override, questions) == "the text has one of: \u2068عقد\u2069, contract"


def test_a_label_that_is_gone_is_still_told(questions: list[Question]) -> None:
    old = read_rules(policy(), questions)
    fewer = [option for option in choice()["options"] if option["id"] != "spam"]
    data = workflow_file(questions=[choice(options=fewer), workflow_file()["questions"][1]])
    left = read_definition({"workflow": data["workflow"], "questions": data["questions"]}).to_questions()

    changes = policy_diff(old, read_rules(policy(labels={}, costs={}), left), left)

    assert Change("spam: threshold", "80 %", "100 %") in changes
