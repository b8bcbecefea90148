from __future__ import annotations

import tomllib
from typing import Any

import pytest

from apps.accounts.models import User
from apps.core.errors import InvalidInput
from apps.pipeline.setup import Installed, check_workflow_file, install_workflow
from apps.reviews.guidance import newest_guidelines, write_guideline
from apps.reviews.guidance_examples import guides_for
from apps.reviews.models import Guideline, GuidelineExample
from apps.reviews.questions_file import questions_file
from apps.workflows.models import Question
from tests.conftest import SignIn
from tests.factories import NOW, make_endpoint, make_item, make_user
from tests.workflows.files import choice, score, workflow_file

pytestmark = pytest.mark.django_db


def told(**more: Any) -> dict[str, Any]:
    options = [{**each, "guideline": f"About {each['id']}"} for each in choice()["options"]]
    noul = {"id": "money", "kind": "noul", "instructions": "Money?", "yes_guideline": "Any *sum*"}
    questions = [
        choice(options=options, guideline="As a whole"),
        noul,
        score(level_guidelines=["", "Very"]),
    ]
    return workflow_file(questions=questions) | more


def install(file: dict[str, Any]) -> Installed:
    endpoint = make_endpoint(name=f"endpoint {Question.objects.count()}")
    return install_workflow(file=check_workflow_file(file), endpoint=endpoint, owner=None, now=NOW)


def texts(installed: Installed) -> dict[tuple[str, str], str]:
    questions = list(installed.question_set.questions.all())
    keys = {each.pk: each.key for each in questions}
    return {
        (keys[question], option): each.text
        for (question, option), each in newest_guidelines(questions).items()
    }


def write(installed: Installed, option: str, text: str) -> None:
    question = installed.question_set.questions.get(key="intent")
    write_guideline(question=question, option=option, text=text, user=None, now=NOW)


def test_it_works() -> None:
    installed = install(told())
    assert texts(installed) == {
        ("intent", ""): "As a whole",
        ("intent", "lead"): "About lead",
        ("intent", "spam"): "About spam",
        ("intent", "other"): "About other",
        ("money", "true"): "Any *sum*",
        ("severity", "1"): "Very",
    }


def test_what_people_wrote_since_stays() -> None:
    write(install(told()), "spam", "Written here")
    again = install(told())
    assert texts(again)["intent", "spam"] == "Written here"
    assert again.question_set.version == 1
    assert Guideline.objects.filter(option="spam").count() == 2


def test_new_questions_start_from_a_copy() -> None:
    first = install(told())
    write(first, "spam", "Written here")
    question = first.question_set.questions.get(key="intent")
    example = {"question": question, "item": make_item(first.workflow), "is_good": True, "created_at": NOW}
    GuidelineExample.objects.create(option="spam", **example)
    GuidelineExample.objects.create(option="other", **example)
    file = told()
    file["questions"][0]["options"] = file["questions"][0]["options"][:2]
    file["questions"][0]["none_of_these"] = None
    del file["questions"][2]
    again = install(file)
    assert again.question_set.version == 2
    assert texts(again)["intent", "spam"] == "Written here"
    assert ("intent", "other") not in texts(again)
    assert GuidelineExample.objects.filter(question__question_set=again.question_set).count() == 1
    assert len(texts(first)) == 6


def test_the_file_read_again_is_the_same() -> None:
    installed = install(told())
    file = told(questions=tomllib.loads(questions_file(installed.question_set))["questions"])
    again = install(file)
    assert again.question_set.version == 1
    assert any("Questions: version 1, unchanged." in message for message in again.messages)
    assert not any(message.startswith(("Action", "Guidelines")) for message in again.messages)


def test_a_manager_downloads_it(signed_in: SignIn, mara: User) -> None:
    answer = signed_in(mara).get("/w/leads/settings/guidelines/file/")
    assert [each["id"] for each in tomllib.loads(answer.content.decode())["questions"]] == ["intent", "money"]


@pytest.mark.parametrize(
    ("question", "path"),
    [
        (score(level_guidelines=["one"]), "questions[1].level_guidelines"),
        (score(guideline="x" * 10_001), "questions[1].guideline"),
        (score(guideline="\x00"), "questions[1].guideline"),
    ],
)
def test_what_a_file_may_not_say(question: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        check_workflow_file(workflow_file(questions=[choice(), question]))
    assert path in {problem.path for problem in refused.value.problems}


def test_levels_are_told_once() -> None:
    installed = install(told())
    guides = guides_for(user=make_user("una"), question_set=installed.question_set)
    assert [option.description for option in guides[2].options] == ["", ""]
