from __future__ import annotations

from typing import Any

import pytest

from apps.clef.types import ChoiceQuestion, NoulQuestion, ScoreQuestion
from apps.core.errors import InvalidInput
from apps.workflows.definitions import Definition, read_definition, to_clef_question
from tests.workflows.files import choice, score, workflow_file


def read(*questions: dict[str, Any], **workflow: Any) -> Definition:
    data = workflow_file()
    return read_definition(
        {"workflow": data["workflow"] | workflow, "questions": list(questions) or [choice()]}
    )


def refused(*questions: dict[str, Any], **workflow: Any) -> dict[str, str]:
    with pytest.raises(InvalidInput) as error:
        read(*questions, **workflow)
    return {problem.path: problem.message for problem in error.value.problems}


def options(count: int) -> list[dict[str, Any]]:
    return [{"id": f"o{n}", "name": f"Option {n}"} for n in range(count)]


def test_it_works() -> None:
    first, second = read(choice(), score()).to_questions()

    assert (first.key, first.kind, first.is_routing, first.none_of_these) == (
        "intent",
        "choice",
        True,
        "other",
    )
    assert (second.position, second.option_ids) == (1, ["0", "1"])
    assert second.option_names == {"0": "Fine", "1": "Bad"}


def test_a_choice_for_the_model() -> None:
    (question,) = read(choice()).to_questions()

    assert to_clef_question(question) == ChoiceQuestion(
        "intent",
        "What is it?",
        {
            "lead": {"description": "Wants to buy.", "examples": ["A quote?"]},
            "spam": "Unasked.",
            "other": "None of these",
        },
    )


def test_a_noul_for_the_model() -> None:
    noul = {"id": "n", "kind": "noul", "instructions": "Is it?", "yes": "It is.", "yes_examples": ["So."]}
    question = read(choice(), noul).to_questions()[1]

    assert to_clef_question(question) == NoulQuestion(
        "n", "Is it?", yes={"description": "It is.", "examples": ["So."]}, no=None
    )


def test_a_score_for_the_model() -> None:
    question = read(choice(), score(level_examples=[["ok"], []])).to_questions()[1]

    levels = ({"description": "Fine", "examples": ["ok"]}, "Bad")
    assert to_clef_question(question) == ScoreQuestion("severity", "How bad?", levels)


def test_tags_are_of_the_routing_question() -> None:
    assert read(choice()).tags == {"lead": "lead", "spam": "spam"}


@pytest.mark.parametrize("kind", [choice(options=options(255)), choice(options=options(2))])
def test_counts_that_are_allowed(kind: dict[str, Any]) -> None:
    assert read(kind | {"none_of_these": None})


@pytest.mark.parametrize(
    ("questions", "path", "said"),
    [
        ([choice(options=options(1))], "questions[0].options", "fewer than 2"),
        ([choice(options=options(256))], "questions[0].options", "more than 255"),
        ([choice(), score(levels=["Fine"])], "questions[1].levels", "fewer than 2"),
        ([choice(), score(levels=list("abcdefghijk"))], "questions[1].levels", "more than 10"),
        ([choice(), score(levels=["Bad", "BAD"])], "questions[1].levels[1]", "looks the same"),
        ([choice(), score(level_examples=[["ok"]])], "questions[1].level_examples", "each level"),
        ([choice(routing=False)], "questions", "exactly one"),
        ([choice(), choice(id="again")], "questions", "exactly one"),
        ([choice(), score(id="Intent")], "questions[1].id", "looks the same"),
        ([choice(id="with space")], "questions[0].id", "form"),
        ([choice(id="x" * 101)], "questions[0].id", "form"),
        ([choice(id="intent\n")], "questions[0].id", "form"),
        ([choice(instructions=" ")], "questions[0].instructions", "blank"),
        ([choice(instructions="a\x00b")], "questions[0].instructions", "cannot be stored"),
        ([choice(none_of_these="nope")], "questions[0].none_of_these", "no option"),
        ([choice(surprise=1)], "questions[0].surprise", "not known"),
        ([choice(kind="essay")], "questions[0].kind", "must be one of"),
        ([choice(kind="noul")], "questions[0].options", "not known"),
        ([], "questions", "exactly one"),
    ],
)
def test_questions_that_are_refused(questions: list[dict[str, Any]], path: str, said: str) -> None:
    assert said in refused(*questions or [score()])[path]


@pytest.mark.parametrize(
    ("option", "field", "said"),
    [
        ({"id": "LEAD"}, "id", "looks the same as questions[0].options[0].id"),
        ({"id": "ｌｅａｄ"}, "id", "looks the same"),
        ({"id": ""}, "id", "empty"),
        ({"id": "x" * 101}, "id", "100 characters"),
        ({"id": " x"}, "id", "space"),
        ({"id": "a\u202eb"}, "id", "visible"),
        ({"id": "\ud800"}, "id", "surrogate"),
        ({"id": 7}, "id", "string"),
        ({"name": "n" * 10_000}, "name", "120 characters"),
        ({"name": "lead"}, "name", "looks the same"),
        ({"examples": [1]}, "examples[0]", "string"),
        ({"examples": ["e"] * 101}, "examples", "more than 100"),
        ({"examples": "one"}, "examples", "list"),
        ({"tag": " "}, "tag", "blank"),
    ],
)
def test_options_that_are_refused(option: dict[str, Any], field: str, said: str) -> None:
    given = choice()["options"]
    given[1] |= option

    assert said in refused(choice(options=given))[f"questions[0].options[1].{field}"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("slug", "Not A Slug"),
        ("slug", "x" * 61),
        ("name", ""),
        ("name", "n" * 121),
        ("time_zone", "Mars/Olympus"),
        ("currency", "euro"),
        ("content_language", "a b"),
        ("lease", 5),
    ],
)
def test_workflows_that_are_refused(field: str, value: object) -> None:
    assert list(refused(**{field: value})) == [f"workflow.{field}"]


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "طلب \u202eabc", "a" * 120])
def test_names_are_kept_as_written(name: str) -> None:
    assert read(name=name).workflow.name == name


def test_tags_elsewhere_are_refused() -> None:
    other = choice(id="other", routing=False)

    assert "only the routing" in refused(choice(), other)["questions[1].options[0].tag"]


def test_examples_need_their_description() -> None:
    noul = {"id": "n", "kind": "noul", "instructions": "Is it?", "no_examples": ["No."]}

    assert "no_examples" in refused(choice(), noul)["questions[1].no"]


def test_questions_too_long_to_send_are_refused() -> None:
    given = choice(options=[{"id": f"o{n}", "name": f"O{n}", "description": "é" * 20_000} for n in range(6)])

    assert "at most 200,000" in refused(given | {"none_of_these": None})["questions"]
