"""Both sides of a hold on a yes-no question: what is counted, certified and proposed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError
from django.db import connection

from apps.accounts.models import User
from apps.calibration.models import CalibrationRun, Certificate, Incident
from apps.calibration.running import run_calibration
from apps.calibration.side_certs import propose_limits
from apps.calibration.sides import HoldLook, look_at_holds
from apps.core.errors import Conflict
from apps.items.models import Decision, Item, Route
from apps.policies.models import Policy
from apps.policies.services import activate
from apps.reviews.models import Answer, Label, Review, ReviewTask
from apps.workflows.models import Question, Workflow
from tests.calibration.commands import run as run_command
from tests.factories import NOW, RULES, make_workflow

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

EARLIER = NOW - timedelta(days=20)
HOLD = {"question": "money", "low": 0.1, "high": 0.9}


@dataclass(frozen=True)
class Doubt:
    """One item's past. `answer` is what people said of the noul; "" when nobody answered. `holds` kept it back."""

    p: float = 0.95
    holds: tuple[str, ...] = ()
    drawn: bool = False
    answer: str | None = ""
    pi: float = 0.1
    at: datetime = EARLIER
    asked: tuple[str, ...] = ("intent", "money")
    group: str = ""


CHECKED = Doubt(drawn=True, answer="true")
UNCHECKED = Doubt()
HELD = Doubt(p=0.7, holds=("question_held:money",), answer="true", asked=("money",))


@pytest.fixture
def workflow(db: None) -> Workflow:
    return make_workflow(rules=RULES | {"holds": [HOLD]})


def insert(workflow: Workflow, past: Sequence[Doubt]) -> None:
    questions, policy = workflow.question_sets.get(), workflow.policies.get(status="active")
    money = questions.questions.get(key="money")
    first = Item.objects.count()
    items = Item.objects.bulk_create(
        Item(
            workflow=workflow,
            external_id=f"doubt-{first + at}",
            content_hash="0",
            title="",
            source="test",
            received_at=each.at,
            created_at=each.at,
            due_at=each.at,
            group_key=each.group,
        )
        for at, each in enumerate(past)
    )
    decisions = Decision.objects.bulk_create(
        Decision(
            item=item,
            question_set=questions,
            endpoint=workflow.endpoint,
            model_requested="m",
            model="standin-ngram-1",
            http_status=200,
            latency_s=0.1,
            answers={
                "money": {"kind": "noul", "probabilities": [["true", each.p], ["false", 1 - each.p]]},
                "intent": {"kind": "choice", "probabilities": [["spam", 1.0]]},
            },
            created_at=each.at,
        )
        for item, each in zip(items, past, strict=True)
    )
    routes = Route.objects.bulk_create(
        Route(
            item=item,
            workflow=workflow,
            decision=decision,
            policy=policy,
            question_set=questions,
            outcome="review" if each.holds else "automatic",
            label="spam",
            p=0.99,
            gates=[],
            reasons=[{"code": code, "numbers": {}} for code in each.holds],
            pi=1.0 if each.holds else each.pi,
            drawn=each.drawn,
            open_but_threshold=not each.holds,
            created_at=each.at,
        )
        for item, decision, each in zip(items, decisions, past, strict=True)
    )
    ReviewTask.objects.bulk_create(
        ReviewTask(
            workflow=workflow,
            item=item,
            route=route,
            question_set=questions,
            kind="audit" if each.drawn else "routine",
            blind=each.drawn,
            asked=list(each.asked),
            due_at=each.at,
            place_at=each.at,
            created_at=each.at,
        )
        for item, route, each in zip(items, routes, past, strict=True)
        if each.drawn or each.holds
    )
    Label.objects.bulk_create(
        _label(workflow, item, money, each)
        for item, each in zip(items, past, strict=True)
        if each.answer != ""
    )
    with connection.cursor() as cursor:
        # As autovacuum does for a table that people use; without it the planner takes thousands of rows for one.
        cursor.execute(
            "ANALYZE items_item, items_decision, items_route, items_routecolumns, reviews_reviewtask, reviews_label, "
            "calibration_touched"
        )


def _label(workflow: Workflow, item: Item, question: Question, each: Doubt) -> Label:
    return Label(
        workflow=workflow,
        item=item,
        question=question,
        question_set=question.question_set,
        value=each.answer,
        source="review",
        blind=each.drawn,
        pi=each.pi,
        created_at=each.at,
    )


def insert_reviewed(workflow: Workflow, user: User, past: Sequence[Doubt], *, blind: bool) -> None:
    """Held items that `user` answered with the model's answer hidden, one of four, or visible."""
    known = set(ReviewTask.objects.values_list("pk", flat=True))
    insert(workflow, past)
    new = ReviewTask.objects.exclude(pk__in=known)
    new.update(blind=blind, blind_pi=0.25 if blind else 0.75, status="done", reviews_done=1, closed_at=NOW)
    reviews = Review.objects.bulk_create(
        Review(task=task, user=user, revision=1, blind=blind, lease_token=uuid4(), created_at=task.created_at)
        for task in new
    )
    money = Question.objects.get(question_set__workflow=workflow, key="money")
    said = dict(workflow.labels.filter(question=money).values_list("item_id", "value"))
    Answer.objects.bulk_create(
        Answer(
            review=review,
            question=money,
            kind="accept",
            value=said[review.task.item_id],
            model_value="true",
        )
        for review in reviews
    )


def follow(workflow: Workflow, user: User) -> None:
    """300 visible reviews that always agree, 100 blind ones of which a fifth do not."""
    insert_reviewed(workflow, user, [HELD] * 300, blind=False)
    insert_reviewed(workflow, user, [HELD] * 80 + [replace(HELD, answer="false")] * 20, blind=True)


def look(workflow: Workflow) -> HoldLook:
    (found,) = look_at_holds(workflow=workflow, now=NOW)
    return found


def side(found: HoldLook, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    at = ("true", "false").index(name)
    return found.entries[at], found.results[at]


def items(entry: dict[str, Any], stratum: str) -> tuple[int, int, int]:
    """All, labelled and wrong, on the grid: bin 0 is below it."""
    rows = [row for row in entry["rows"] if row[1] == stratum and row[0] > 0]
    return sum(row[2] for row in rows), sum(row[3] for row in rows), sum(row[4] for row in rows)


def run(workflow: Workflow) -> CalibrationRun:
    return run_calibration(workflow=workflow, trigger=CalibrationRun.Trigger.ASKED, user=None, now=NOW)


SURE = [CHECKED] * 600 + [UNCHECKED] * 2_400 + [HELD] * 240


def test_it_works(workflow: Workflow) -> None:
    insert(workflow, SURE)
    entry, result = side(look(workflow), "true")
    assert items(entry, "audited") == (3_000, 600, 0)
    assert items(entry, "reviewed") == (240, 240, 0)
    assert (result["outcome"], min(result["certified"])) == ("certified", 0.5)
    assert "95% confidence at most 5%" in result["sentence"]


def test_each_side_counts_its_own_items_and_mistakes(workflow: Workflow) -> None:
    no = replace(CHECKED, p=0.05, answer="false")
    insert(
        workflow,
        [CHECKED] * 30 + [replace(CHECKED, answer="false")] * 3 + [no] * 20 + [replace(no, answer=None)],
    )
    found = look(workflow)
    assert items(side(found, "true")[0], "audited") == (33, 33, 3)
    assert items(side(found, "false")[0], "audited") == (21, 21, 1)


def test_what_another_gate_kept_back_does_not_count(workflow: Workflow) -> None:
    twice = replace(HELD, holds=("low_confidence", "question_held:money"))
    other = replace(HELD, holds=("low_confidence",), answer="")
    insert(workflow, [HELD, twice, other])
    assert items(side(look(workflow), "true")[0], "reviewed") == (1, 1, 0)


def test_days_on_which_a_check_did_not_ask_are_left_out(workflow: Workflow) -> None:
    insert(workflow, [replace(CHECKED, asked=("intent",), answer=""), CHECKED])
    insert(workflow, [replace(CHECKED, at=EARLIER + timedelta(days=1))] * 5)
    assert items(side(look(workflow), "true")[0], "audited") == (5, 5, 0)


def test_where_people_follow_the_model_only_blind_reviews_count(workflow: Workflow, rosa: User) -> None:
    follow(workflow, rosa)
    assert items(side(look(workflow), "true")[0], "reviewed") == (400, 100, 20)


def test_a_check_nobody_answered_in_time_counts_as_wrong(workflow: Workflow) -> None:
    insert(workflow, [replace(CHECKED, answer=""), CHECKED])
    entry, _ = side(look(workflow), "true")
    assert items(entry, "audited") == (2, 2, 1)
    assert entry["unanswered"] == 1


def test_of_a_conversation_one_item_counts(workflow: Workflow) -> None:
    insert(workflow, [replace(CHECKED, group="thread")] * 4 + [CHECKED])
    assert items(side(look(workflow), "true")[0], "audited") == (2, 2, 0)


def test_a_limit_lets_pass_exactly_what_routing_lets_pass(workflow: Workflow) -> None:
    # 1 - 0.1 is 0.9, but 1 - 0.9 is 0.09999999999999998: the limit is 0.1, as routing would read it.
    insert(workflow, [replace(CHECKED, p=0.1), replace(CHECKED, p=0.10000000000000003)])
    rows = side(look(workflow), "false")[0]["rows"]
    assert [row[0] for row in rows] == [40, 41]


def test_checks_at_different_rates_are_thinned(workflow: Workflow) -> None:
    insert(workflow, [replace(CHECKED, pi=0.2)] * 60 + [CHECKED] * 60)
    entry, _ = side(look(workflow), "true")
    assert entry["thinned_to"] == 0.1
    assert 60 < items(entry, "audited")[1] < 120


def test_a_run_keeps_an_attempt_for_each_side_that_could_pass(workflow: Workflow) -> None:
    insert(workflow, SURE)
    made = run(workflow)
    (certificate,) = Certificate.objects.filter(question__key="money")
    assert (certificate.label, certificate.run, certificate.attempt) == ("true", made, 1)
    assert certificate.outcome == "certified"
    assert made.proposal is None


def test_anybody_can_compute_it_again(workflow: Workflow) -> None:
    insert(workflow, SURE)
    made = run(workflow)
    said = run_command("recalibrate", "--check", str(made.pk))
    assert "3 labels and 1 side of holds computed again, all as they were kept." in said


def test_a_side_that_differs_is_told(workflow: Workflow) -> None:
    insert(workflow, SURE)
    made = run(workflow)
    other = Certificate.objects.get(run=made)
    other.pk, other.certified = None, other.certified[:1]
    other.ended_at, other.ended_because = NOW, "held"
    other.save()
    with pytest.raises(CommandError, match="differs when computed again: money: true"):
        run_command("recalibrate", "--check", str(made.pk))


def test_the_next_attempt_spends_less_and_is_not_due_at_once(workflow: Workflow) -> None:
    insert(workflow, SURE)
    run(workflow)
    later, _ = side(look_at_holds(workflow=workflow, now=NOW + timedelta(days=1))[0], "true")
    assert later["attempt"] == 2
    assert not later["is_due"]


def test_limits_are_proposed_and_keep_their_certificate(workflow: Workflow, mara: User) -> None:
    insert(workflow, SURE)
    run(workflow)
    draft = propose_limits(workflow=workflow, question="money", user=mara, now=NOW)
    assert (draft.status, draft.rules["holds"]) == ("proposed", [HOLD | {"high": 0.5}])
    activate(policy=draft, user=mara, now=NOW)
    assert (look(workflow).hold.high, items(side(look(workflow), "true")[0], "audited")) == (
        0.5,
        (3_000, 600, 0),
    )
    with pytest.raises(Conflict, match="these limits already"):
        propose_limits(workflow=workflow, question="money", user=mara, now=NOW)


def test_without_a_certificate_nothing_is_proposed(workflow: Workflow, mara: User) -> None:
    insert(workflow, [CHECKED])
    with pytest.raises(Conflict, match="No side of it is certified"):
        propose_limits(workflow=workflow, question="money", user=mara, now=NOW)
    with pytest.raises(Conflict, match="no hold on that question"):
        propose_limits(workflow=workflow, question="intent", user=mara, now=NOW)


def test_another_gate_ends_what_was_certified(workflow: Workflow, mara: User) -> None:
    insert(workflow, SURE)
    run(workflow)
    Policy.objects.filter(status="active").update(status="retired")
    Policy.objects.create(
        workflow=workflow,
        version=2,
        status="active",
        rules=RULES | {"holds": [HOLD], "margin": 0.2},
        activated_at=NOW,
    )
    run_calibration(
        workflow=workflow, trigger=CalibrationRun.Trigger.ASKED, user=mara, now=NOW + timedelta(hours=1)
    )
    assert Certificate.objects.get(question__key="money").ended_because == "changed"


def test_the_certificate_runs_out(workflow: Workflow) -> None:
    insert(workflow, SURE)
    run(workflow)
    later = NOW + timedelta(weeks=13)
    run_calibration(workflow=workflow, trigger=CalibrationRun.Trigger.ASKED, user=None, now=later)
    assert Certificate.objects.get(question__key="money").ended_because == "expired"


def test_a_policy_without_holds_on_yes_no_questions_has_no_sides(db: None) -> None:
    elsewhere = make_workflow("plain")
    insert(elsewhere, [CHECKED])
    assert look_at_holds(workflow=elsewhere, now=NOW) == []


def test_a_certificate_that_counted_visible_reviews_is_counted_again(workflow: Workflow, rosa: User) -> None:
    insert(workflow, [CHECKED] * 1_000)
    insert_reviewed(workflow, rosa, [replace(HELD, p=0.8)] * 200, blind=False)
    run(workflow)
    held = Certificate.objects.get(question__key="money", outcome="certified")
    follow(workflow, rosa)
    later = NOW + timedelta(days=1)
    run_calibration(workflow=workflow, trigger=CalibrationRun.Trigger.ASKED, user=None, now=later)
    held.refresh_from_db()
    incident = Incident.objects.get(kind="side_anchored")
    assert (held.ended_because, incident.label) == ("recounted", "money")
    assert "“money: yes” is not certified any more" in incident.sentence


def test_one_that_rests_on_checks_alone_stands(workflow: Workflow, rosa: User) -> None:
    insert(workflow, [CHECKED] * 1_500)
    run(workflow)
    follow(workflow, rosa)
    later = NOW + timedelta(days=1)
    run_calibration(workflow=workflow, trigger=CalibrationRun.Trigger.ASKED, user=None, now=later)
    assert Certificate.objects.get(question__key="money", outcome="certified").ended_at is None
