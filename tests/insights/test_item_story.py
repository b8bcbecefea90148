"""One item goes all the way, and its page tells all of it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.clef.local.server import StandIn
from apps.insights.story import Story, item_story
from apps.items.models import Item
from apps.pipeline.acting import act_on_due_runs
from apps.pipeline.incoming import Incoming
from apps.pipeline.intake import add_items
from apps.pipeline.processing import decide_waiting_items
from apps.reviews.handing import hand_over
from apps.reviews.leases import take_next_task
from apps.reviews.services import SubmittedAnswer, submit_review, undo_last_review
from apps.workflows.models import Endpoint, Workflow
from tests.conftest import SignIn
from tests.factories import NOW, RULES, make_policy, make_task


@pytest.fixture
def model(workflow: Workflow) -> Iterator[StandIn]:
    with StandIn() as standin:
        Endpoint.objects.update(base_url=standin.url)
        yield standin


def decided(workflow: Workflow, text: str = "My order has not arrived") -> Item:
    incoming = [Incoming("order-7", {"subject": text, "lines": [1, 2]}, metadata={"amount": 12.5})]
    add_items(workflow=workflow, incoming=incoming, source="test", now=NOW)
    decide_waiting_items(now=timezone.now)
    return Item.objects.get(external_id="order-7")


def answer_next(user: User, workflow: Workflow, value: str = "customer", note: str = "") -> None:
    lease = take_next_task(user=user, workflow=workflow)
    assert lease is not None
    answers = {key: SubmittedAnswer(value) for key in lease.task.asked}
    now = timezone.now() - timedelta(minutes=1)
    submit_review(user=user, lease_token=lease.token, answers=answers, seconds=4, note=note, now=now)


def told(user: User, item: Item) -> Story:
    return item_story(user=user, item=Item.objects.get(pk=item.pk))


def page_of(item: Item, user: User, signed_in: SignIn) -> str:
    page = signed_in(user).get(f"/w/leads/items/{item.pk}/")
    assert page.status_code == 200
    return page.content.decode()


def test_it_works(workflow: Workflow, model: StandIn, rosa: User, signed_in: SignIn) -> None:
    item = decided(workflow)
    answer_next(rosa, workflow, note="<b>late</b>")
    act_on_due_runs(now=timezone.now)
    story = told(rosa, item)
    assert {event.kind for event in story.events} == {"decision", "route", "task", "review", "label", "run"}
    page = page_of(item, rosa, signed_in)
    for shown in (
        "order-7",  # Item
        "My order has not arrived",  # its content
        "<h3>Decision</h3>",
        "Route: review",
        "Review task",
        "Review by <bdi>rosa</bdi>",
        "Answer to <bdi>Intent</bdi>",
        "Label: <bdi>Existing customer</bdi>",
        "Action: tag <bdi>customer</bdi>",
        "Verified</span>",
        '<span class="muted">tag</span> <bdi>customer</bdi>',
        "&lt;b&gt;late&lt;/b&gt;",
    ):
        assert shown in page, shown


def test_the_decision_is_told_whole(
    workflow: Workflow, model: StandIn, rosa: User, signed_in: SignIn
) -> None:
    item = decided(workflow)
    (event, *_) = told(rosa, item).events
    assert [len(question.shown) for question in event.told.questions] == [4, 2]
    page = page_of(item, rosa, signed_in)
    for shown in ("Request id", "ms, the call alone", "Not used.", "standin-ngram-1", "The reply as it came"):
        assert shown in page, shown


def test_every_gate_is_on_the_page(workflow: Workflow, model: StandIn, rosa: User, signed_in: SignIn) -> None:
    page = page_of(decided(workflow), rosa, signed_in)
    for shown in (
        "Threshold",
        "Lead over the next answer",
        "Expected cost",
        "Autonomy",
        "Quality check draw",
    ):
        assert f"<bdi>{shown}</bdi>" in page, shown
    assert "Held because people confirm every" in page


def test_a_replay_gives_the_same_route(
    workflow: Workflow, model: StandIn, rosa: User, signed_in: SignIn
) -> None:
    item = decided(workflow)
    assert "Replayed with policy v1: the same route." in page_of(item, rosa, signed_in)


def test_a_replay_through_the_policy_in_force_now(
    workflow: Workflow, model: StandIn, rosa: User, signed_in: SignIn
) -> None:
    item = decided(workflow)
    workflow.policies.update(status="retired")
    free = {"threshold": 0.0, "autonomy": "audited", "target_error": 0.05}
    open_rules = RULES | {"margin": 0.0, "review_cost": 99.0, "labels": dict.fromkeys(RULES["labels"], free)}
    make_policy(workflow, open_rules, version=2)
    page = page_of(item, rosa, signed_in)
    assert "Replayed with policy v1: the same route." in page
    assert "Policy v2, in force now: automatic instead." in page


def test_a_route_that_cannot_come_out_again_says_so(
    workflow: Workflow, rosa: User, signed_in: SignIn
) -> None:
    """Rows made by hand hold no gates."""
    page = page_of(make_task(workflow).item, rosa, signed_in)
    assert "<strong>not the same</strong>, differs in" in page


def test_answers_taken_back_stay(workflow: Workflow, model: StandIn, rosa: User, signed_in: SignIn) -> None:
    item = decided(workflow)
    answer_next(rosa, workflow, "lead")
    undo_last_review(user=rosa, workflow=workflow, now=timezone.now() - timedelta(minutes=1))
    page = page_of(item, rosa, signed_in)
    assert page.count("Taken back</span>") == 2
    assert "On the desk of <bdi>rosa</bdi>" in page
    assert "Cancelled</span>" in page


def test_a_model_error_is_readable(workflow: Workflow, rosa: User, signed_in: SignIn) -> None:
    task = make_task(workflow)
    route = task.route
    fresh = {
        "decision": None,
        "label": None,
        "p": None,
        "pk": None,
        "reasons": [ERROR],
        "superseded_at": None,
    }
    type(route).objects.filter(pk=route.pk).update(superseded_at=NOW)
    for name, value in fresh.items():
        setattr(route, name, value)
    route.save()
    page = page_of(task.item, rosa, signed_in)
    assert "Held because the model could not answer (too_long): 70,000 tokens" in page
    assert "Nothing to replay: the model gave no answer." in page


ERROR = {"code": "model_error", "numbers": {"code": "too_long", "message": "70,000 tokens"}}


def test_a_waiting_item_says_why(workflow: Workflow, rosa: User, signed_in: SignIn) -> None:
    incoming = [Incoming("order-7", "Hello")]
    add_items(workflow=workflow, incoming=incoming, source="test", now=NOW)
    item = Item.objects.get()
    assert "Waits for a worker." in page_of(item, rosa, signed_in)
    Endpoint.objects.update(failures_in_a_row=1, pause_reason="busy: come back later")
    assert "busy: come back later" in page_of(item, rosa, signed_in)
    Endpoint.objects.update(failures_in_a_row=0)
    Item.objects.update(wait_reason="busy: try later", next_try_at=NOW)
    page = page_of(item, rosa, signed_in)
    assert "<bdi>busy: try later</bdi> · next try" in page
    assert "Nothing yet: the model has not answered." in page


@pytest.mark.parametrize("kind", ["audit", "shadow"])
def test_a_blind_item_shows_its_content_alone(
    workflow: Workflow, rosa: User, mara: User, signed_in: SignIn, kind: str
) -> None:
    item = make_task(workflow, kind=kind, label="customer").item
    item.tags.create(tag="customer", idempotency_key="0" * 32, created_at=NOW)
    for person in (rosa, mara):
        main = page_of(item, person, signed_in).split("<main")[1]
        assert "Quality check pending" in main
        assert "Hello" in main
        told = ("ustomer", "standin", "Settled", "utomatic", "0.7", "70", "Decided", "Route", "Threshold")
        assert not [each for each in told if each in main.split("<dt>Content</dt>")[0]]


def test_a_blind_item_opens_for_whoever_answered(
    workflow: Workflow, rosa: User, ravi: User, signed_in: SignIn
) -> None:
    task = make_task(workflow, kind="audit", reviews_wanted=2)
    answer_next(rosa, workflow, "spam")
    assert "Review by <bdi>rosa</bdi>" in page_of(task.item, rosa, signed_in)
    hidden = page_of(task.item, ravi, signed_in)
    assert "Quality check pending" in hidden
    assert "rosa" not in hidden


def test_what_senders_and_endpoints_write_is_inert(workflow: Workflow, rosa: User, signed_in: SignIn) -> None:
    evil = "<script>alert(1)</script>"
    item = make_task(workflow).item
    Item.objects.update(external_id=evil, source=evil, metadata={evil: [evil]})
    item.content.state = {evil: {"deep": [evil, None, True]}}
    item.content.save()
    page = page_of(item, rosa, signed_in)
    assert evil not in page
    assert page.count("&lt;script&gt;alert(1)") >= 6


def test_items_of_other_workflows_are_not_there(
    workflow: Workflow, other_workflow: Workflow, rosa: User, nora: User, signed_in: SignIn
) -> None:
    theirs, mine = make_task(other_workflow).item, make_task(workflow).item
    assert signed_in(rosa).get(f"/w/leads/items/{theirs.pk}/").status_code == 404
    assert signed_in(rosa).get(f"/w/elsewhere/items/{theirs.pk}/").status_code == 404
    assert signed_in(nora).get(f"/w/leads/items/{mine.pk}/").status_code == 404


def test_a_number_no_item_can_have(workflow: Workflow, rosa: User, signed_in: SignIn) -> None:
    assert signed_in(rosa).get(f"/w/leads/items/{10**30}/").status_code == 404


def test_mapped_probabilities_stand_beside_those_the_model_gave(
    workflow: Workflow, rosa: User, signed_in: SignIn
) -> None:
    workflow.policies.update(status="retired")
    by = {"money": {"kind": "temperature", "t": 2.0}}
    make_policy(workflow, RULES | {"maps": by}, version=2)
    item = make_task(workflow).item
    (question,) = [
        each
        for event in told(rosa, item).events
        if event.kind == "decision"
        for each in event.told.questions
        if each.key == "money"
    ]
    assert [(each.p, each.mapped) for each in question.shown] == [
        (0.1, pytest.approx(0.25)),
        (0.9, pytest.approx(0.75)),
    ]
    page = page_of(item, rosa, signed_in)
    assert page.count("mapped") == 2
    assert "mapped 75.0 %" in page


def test_what_colleagues_passed_on_is_told(
    workflow: Workflow, rosa: User, ravi: User, signed_in: SignIn
) -> None:
    task = make_task(workflow)
    lease = take_next_task(user=rosa, workflow=workflow)
    assert lease is not None
    hand_over(user=rosa, lease_token=lease.token, to=ravi, note="<i>Yours</i>", now=NOW)
    page = page_of(task.item, rosa, signed_in)
    assert "Handed to <bdi>ravi</bdi> by <bdi>rosa</bdi>" in page
    assert "&lt;i&gt;Yours&lt;/i&gt;" in page
