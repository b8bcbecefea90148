"""Where reviewers may be following the model, only blind reviews enter certificates, each by its chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.calibration.counting.blind_reviews import following_between
from apps.calibration.counting.counts import LabelCounts, count_labels
from apps.calibration.looking import look
from apps.calibration.models import CalibrationRun
from apps.calibration.running import recompute, run_calibration
from apps.items.models import Route
from apps.reviews.models import Answer, Review, ReviewTask
from apps.workflows.models import Workflow
from tests.calibration.streams import EARLIER, REVIEWED, Past, insert_past
from tests.conftest import SignIn
from tests.factories import NOW

pytestmark = pytest.mark.django_db
SEEN = replace(REVIEWED, p=0.8)
WRONG = replace(SEEN, answer="lead")


def at_desk(
    workflow: Workflow, user: User, past: Sequence[Past], *, blind: bool, chance: float = 0.25
) -> None:
    """Reviewed where the model's answer was hidden, or visible. `chance`: of being as blind as they are."""
    insert_past(workflow, past, prefix=f"{uuid4()}")
    routes = list(Route.objects.filter(workflow=workflow, tasks=None).select_related("item"))
    question = workflow.question_sets.get().questions.get(is_routing=True)
    tasks = ReviewTask.objects.bulk_create(
        ReviewTask(
            workflow=workflow,
            item=route.item,
            route=route,
            question_set_id=route.question_set_id,
            kind="routine",
            asked=["intent"],
            blind=blind,
            blind_pi=chance if blind else 1 - chance,
            status="done",
            reviews_done=1,
            due_at=NOW,
            place_at=NOW,
            created_at=route.created_at,
            closed_at=route.created_at,
        )
        for route in routes
    )
    reviews = Review.objects.bulk_create(
        Review(
            task=task,
            user=user,
            revision=1,
            blind=blind,
            lease_token=uuid4(),
            created_at=task.created_at,
        )
        for task in tasks
    )
    said = dict(workflow.labels.values_list("item_id", "value"))
    Answer.objects.bulk_create(
        Answer(
            review=review,
            question=question,
            kind="accept",
            value=said[review.task.item_id],
            model_value=review.task.route.label,
        )
        for review in reviews
    )


def follow(workflow: Workflow, user: User, at: datetime = EARLIER) -> None:
    """300 visible reviews that always agree, 100 blind ones of which a fifth do not."""
    right, wrong = replace(SEEN, at=at), replace(WRONG, at=at)
    at_desk(workflow, user, [right] * 300, blind=False)
    at_desk(workflow, user, [right] * 80 + [wrong] * 20, blind=True)


def only_blind(workflow: Workflow) -> LabelCounts:
    return count_labels(workflow=workflow, now=NOW, is_blind_only=True)["spam"]


def reviewed(found: LabelCounts) -> tuple[float, float, float, float]:
    """Items, answers and wrong ones of the reviewed stratum from the lowest threshold on, and what is not covered."""
    stratum = found.counts.reviewed
    return (
        stratum.items[0],
        stratum.labelled[0],
        stratum.wrong[0],
        found.counts.uncovered[0],
    )


def test_it_works(workflow: Workflow, rosa: User) -> None:
    follow(workflow, rosa)
    found = look(workflow=workflow, now=NOW)
    assert found.inputs["following"] == {"visible": [300, 300], "blind": [80, 100], "is_flagged": True}
    assert reviewed(found.counted["spam"]) == (400, 100, 20, 0)
    assert found.counted["spam"].counts.pi_sum[0] == pytest.approx(100)
    assert found.entry("spam")["blind_share"] == 0.25


def test_without_the_flag_all_reviews_count(workflow: Workflow, rosa: User) -> None:
    at_desk(workflow, rosa, [SEEN] * 300, blind=False)
    at_desk(workflow, rosa, [SEEN] * 100, blind=True)
    found = look(workflow=workflow, now=NOW)
    assert not found.following.flagged
    assert reviewed(found.counted["spam"]) == (400, 400, 0, 0)
    assert found.entry("spam")["blind_share"] is None


def test_reviews_that_were_never_blind_certify_nothing(workflow: Workflow, rosa: User) -> None:
    follow(workflow, rosa)
    at_desk(
        workflow, rosa, [replace(each, label="lead", answer="lead") for each in [SEEN] * 600], blind=False
    )
    ReviewTask.objects.filter(route__label="lead").update(blind_pi=1)
    run = run_calibration(workflow=workflow, trigger=CalibrationRun.Trigger.ASKED, user=None, now=NOW)
    lead = next(each for each in run.results if each["label"] == "lead")
    assert lead["certified"] == []
    assert lead["sentence"].endswith(
        "so only blind reviews count, and there are none: the policy sets the share of them."
    )
    assert recompute(run) == run.results


def test_days_on_which_none_was_blind_are_left_out(workflow: Workflow, rosa: User) -> None:
    at_desk(workflow, rosa, [replace(SEEN, at=EARLIER - timedelta(days=3))] * 50, blind=False)
    ReviewTask.objects.update(blind_pi=1)
    at_desk(workflow, rosa, [SEEN] * 30, blind=False)
    at_desk(workflow, rosa, [SEEN] * 10, blind=True)
    found = only_blind(workflow)
    assert reviewed(found) == (40, 10, 0, 0)
    assert found.left_out == ((EARLIER - timedelta(days=3)).date(),)


def test_unequal_chances_are_thinned_to_the_smallest(workflow: Workflow, rosa: User) -> None:
    at_desk(workflow, rosa, [SEEN] * 60, blind=True, chance=0.5)
    at_desk(workflow, rosa, [SEEN] * 60, blind=True, chance=0.25)
    found = only_blind(workflow)
    assert found.blind_share == 0.25
    assert 60 + 10 < reviewed(found)[1] < 60 + 50


def test_a_visible_review_waits_for_nobody(workflow: Workflow, rosa: User) -> None:
    at_desk(workflow, rosa, [SEEN] * 10, blind=True)
    at_desk(workflow, rosa, [SEEN] * 30, blind=False)
    assert (only_blind(workflow).asked, only_blind(workflow).answered) == (10, 10)


def test_what_is_blind_by_rule_flags_nobody(workflow: Workflow, rosa: User) -> None:
    follow(workflow, rosa)
    ReviewTask.objects.filter(blind=True).update(kind="shadow")
    # So that they are counted again.
    Review.objects.update(seconds=1.0)
    found = following_between(workflow, date(2026, 10, 1), NOW.date())
    assert (found.blind.denominator, found.flagged) == (0, False)


def test_the_page_says_it(workflow: Workflow, rosa: User, mara: User, signed_in: SignIn) -> None:
    follow(workflow, rosa, at=timezone.now() - timedelta(days=3))
    page = signed_in(mara).get("/w/leads/calibration/").content.decode()
    assert "Reviewers may be following the model" in page
    assert "80 of 100" in page
    assert "each had a chance of 25.0 % of being blind" in page
