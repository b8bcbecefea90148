from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import User
from apps.core.errors import Conflict, InvalidInput
from apps.items.models import Item
from apps.reviews.guidance import newest_guidelines, write_guideline
from apps.reviews.guidance_examples import add_example, guides_for, showable
from apps.reviews.models import Guideline, GuidelineExample, Label
from apps.workflows.models import Question, Workflow
from apps.workflows.selectors import current_question_set
from tests.conftest import SignIn
from tests.factories import NOW, make_item, make_task

PANEL = "/w/leads/review/guidelines/1/"
EDIT = "/w/leads/settings/guidelines/text/"


def intent(workflow: Workflow) -> Question:
    return Question.objects.get(question_set__workflow=workflow, key="intent")


def write(workflow: Workflow, text: str, option: str = "spam") -> bool:
    return write_guideline(question=intent(workflow), option=option, text=text, user=None, now=NOW)


def settle(workflow: Workflow, text: str = "Win <b>now</b>") -> Item:
    item = make_item(workflow, text=text, status="settled", settled_by="people", settled_at=NOW)
    return label(item, "spam")


def label(item: Item, value: str | None) -> Item:
    question = intent(item.workflow)
    Label.objects.filter(item=item).update(taken_back_at=NOW)
    Label.objects.create(
        workflow=item.workflow,
        item=item,
        question=question,
        question_set=question.question_set,
        value=value,
        source="review",
        blind=False,
        pi=1.0,
        created_at=NOW,
    )
    return item


def show(item: Item, user: User, option: str = "spam", *, is_good: bool = True) -> GuidelineExample:
    return add_example(
        item=item, question_key="intent", option=option, is_good=is_good, note="See", user=user, now=NOW
    )


def test_it_works(signed_in: SignIn, rosa: User, mara: User, workflow: Workflow) -> None:
    write(workflow, "Whoever **sells to us** <script>")
    show(settle(workflow), mara)
    panel = signed_in(rosa).get(PANEL, headers={"HX-Request": "true", "HX-Target": "guidelines"})
    page = panel.content.decode()
    assert "<strong>sells to us</strong> &lt;script&gt;" in page
    assert "Win &lt;b&gt;now&lt;/b&gt;" in page
    assert "<html" not in page


def test_the_newest_text_counts_and_all_are_kept(workflow: Workflow) -> None:
    assert [write(workflow, text) for text in ("One", "One\r\n", "Two", "", "")] == [
        True,
        False,
        True,
        True,
        False,
    ]
    assert newest_guidelines([intent(workflow)]) == {}
    assert [each.version for each in Guideline.objects.order_by("version")] == [1, 2, 3]


@pytest.mark.parametrize(("option", "text"), [("nonsense", "x"), ("spam", "x" * 10_001), ("spam", "a\x00b")])
def test_what_cannot_be_kept_is_refused(workflow: Workflow, option: str, text: str) -> None:
    with pytest.raises(InvalidInput):
        write(workflow, text, option)


def test_a_manager_writes_and_sees_the_history(signed_in: SignIn, mara: User, workflow: Workflow) -> None:
    client, address = signed_in(mara), f"{EDIT}?question=intent&option=spam"
    for text in ("# First", "# Second"):
        assert client.post(address, {"text": text}).status_code == 302
    page = client.get(address).content.decode()
    assert "Version 1" in page
    assert "Version 2" in page
    assert "<h3" in page
    assert "Second</h4>" in page
    assert client.get(f"{EDIT}?question=intent&option=nonsense").status_code == 404


def test_the_preview_shows_what_is_typed(signed_in: SignIn, mara: User, workflow: Workflow) -> None:
    answer = signed_in(mara).post("/w/leads/settings/guidelines/preview/", {"text": "- *one*"})
    assert "<em>one</em>" in answer.content.decode()
    assert not Guideline.objects.exists()


def test_a_long_text_comes_back_with_a_sentence(signed_in: SignIn, mara: User, workflow: Workflow) -> None:
    answer = signed_in(mara).post(f"{EDIT}?question=intent", {"text": "x" * 10_001})
    assert answer.status_code == 422
    assert "at most 10000 characters" in answer.content.decode()


def test_an_example_is_chosen_on_the_items_page(
    signed_in: SignIn, mara: User, rosa: User, workflow: Workflow
) -> None:
    item, client = settle(workflow), signed_in(mara)
    address = reverse("insights:item", args=["leads", item.pk])
    assert "Use as example" in client.get(address).content.decode()
    assert "Use as example" not in signed_in(rosa).get(address).content.decode()
    client.post(f"{address}example/", {"shows": "good:intent:spam", "note": "Prize"})
    client.post(f"{address}example/", {"shows": "bad:intent:lead", "note": "Asks for nothing"})
    found = GuidelineExample.objects.order_by("id").values_list("option", "is_good", "note")
    assert list(found) == [("spam", True, "Prize"), ("lead", False, "Asks for nothing")]


@pytest.mark.parametrize(("option", "is_good"), [("lead", True), ("spam", False), ("nonsense", False)])
def test_an_example_shows_what_people_settled(
    workflow: Workflow, mara: User, option: str, is_good: bool
) -> None:
    with pytest.raises(InvalidInput):
        show(settle(workflow), mara, option, is_good=is_good)


def test_an_item_that_nobody_settled_is_no_example(workflow: Workflow, mara: User) -> None:
    with pytest.raises(InvalidInput):
        show(make_item(workflow), mara)


def test_an_example_twice_is_one(workflow: Workflow, mara: User) -> None:
    item = settle(workflow)
    show(item, mara)
    with pytest.raises(Conflict):
        show(item, mara)


def test_nothing_is_shown_while_somebody_is_to_answer_blind(workflow: Workflow, mara: User) -> None:
    item = label(make_task(workflow, kind="audit").item, "spam")
    assert showable(user=mara, item=item) == []
    with pytest.raises(Conflict):
        show(item, mara)


def test_an_example_hides_from_who_is_to_answer_blind(workflow: Workflow, mara: User, rosa: User) -> None:
    questions = current_question_set(workflow)
    tasks = [make_task(workflow, kind="audit"), make_task(workflow)]
    for task in tasks:
        GuidelineExample.objects.create(
            question=intent(workflow),
            option="spam",
            item=label(task.item, "spam"),
            is_good=True,
            created_at=NOW,
        )
    (spam,) = [each for each in guides_for(user=rosa, question_set=questions)[0].options if each.good]
    assert [told.example.item for told in spam.good] == [tasks[1].item]


def test_an_example_settled_otherwise_is_not_shown(
    signed_in: SignIn, workflow: Workflow, mara: User, rosa: User
) -> None:
    example = show(settle(workflow, text="Once it was spam"), mara)
    label(example.item, "lead")
    assert "Once it was" not in signed_in(rosa).get(PANEL).content.decode()
    page = signed_in(mara).get("/w/leads/settings/guidelines/").content.decode()
    assert "people settled it otherwise since" in page


def test_an_example_is_removed(signed_in: SignIn, workflow: Workflow, mara: User) -> None:
    example = show(settle(workflow), mara)
    address = f"/w/leads/settings/guidelines/examples/{example.pk}/remove/"
    assert signed_in(mara).post(address).status_code == 302
    assert not GuidelineExample.objects.exists()


def test_an_option_has_room_for_so_many(workflow: Workflow, mara: User) -> None:
    for _ in range(12):
        show(settle(workflow), mara)
    with pytest.raises(Conflict):
        show(settle(workflow), mara)


def test_who_may_still_take_an_answer_back_sees_no_example(workflow: Workflow, mara: User) -> None:
    soon = timezone.now() + timedelta(minutes=1)
    item = label(make_task(workflow, kind="audit", status="done", closed_at=soon).item, "spam")
    assert showable(user=mara, item=item) == []
