"""Real, miscalibrated models' answers through the running system: certificates hold, a naive method does not."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import pytest
from django.conf import settings

from apps.accounts.models import User
from apps.calibration.models import Certificate
from apps.calibration.running import recompute
from apps.demo.measuring_calibration import (
    Outcome,
    measure_calibration,
    naive_thresholds,
    possible_thresholds,
    simulate,
    summary,
)
from apps.demo.recorded import Example, Recording, recordings, topic_of
from apps.demo.simulated_weeks import QUESTION, Oracle, Simulation, answer_in_bulk
from apps.items.models import Item
from apps.policies.selectors import active_policy
from apps.reviews.leases import take_next_task
from apps.reviews.models import Answer, Label, ReviewTask
from apps.reviews.services import SubmittedAnswer, submit_review
from apps.workflows.models import Endpoint, Workflow
from tests.factories import make_endpoint, make_user

FOLDER = Path(settings.BASE_DIR).parent / "shared" / "data"
pytestmark = pytest.mark.django_db
on_real_answers = pytest.mark.skipif(
    not (FOLDER / "model-probs-clinc150").is_dir(), reason="the recorded answers are not on this machine"
)
# 0.9 is right nine times in ten here, 0.7 seven times; a third label means "none of these".
MADE = Recording(
    "made",
    "up",
    ("left", "right", "neither"),
    "neither",
    tuple(
        Example(
            f"Message {n} {p}", "left" if n < 10 * p else ("right", "neither")[n % 2], (p, 0.95 - p, 0.05)
        )
        for p in (0.9, 0.7)
        for n in range(10)
    ),
)


@pytest.fixture
def people(db: None) -> Mapping[str, User]:
    return {name: make_user(name) for name in ("mara", "rosa")}


def live(recording: Recording, people: Mapping[str, User], weeks: int, items: int, answer: Oracle) -> Outcome:
    return simulate(
        recording,
        endpoint=Endpoint.objects.first() or make_endpoint(),
        manager=people["mara"],
        reviewer=people["rosa"],
        answer=answer,
        weeks=weeks,
        items_a_week=items,
    )


def recorded(data: str, model: str) -> Recording:
    return next(each for each in recordings(FOLDER) if (each.data, each.model) == (data, model))


@on_real_answers
@pytest.mark.slow
def test_it_works(people: Mapping[str, User]) -> None:
    outcome = live(recorded("clinc150", "nb_a01"), people, 12, 400, answer_in_bulk)
    assert len(outcome.certified.thresholds) >= 3
    assert outcome.certified.over == ()
    assert outcome.accepted.value is not None
    assert outcome.accepted.value < 0.05 < (outcome.naive.error.value or 0)
    assert len(outcome.naive.over) >= 4


@on_real_answers
@pytest.mark.slow
def test_every_answer_may_be_given_at_the_desk(people: Mapping[str, User]) -> None:
    outcome = live(recorded("banking77", "svm_softmax"), people, 2, 840, answer_at_desk)
    assert "card" in outcome.certified.thresholds
    assert outcome.certified.over == ()
    certificate = Certificate.objects.filter(outcome="certified").latest("id")
    assert recompute(certificate.run) == certificate.run.results
    active = active_policy(certificate.workflow)
    assert active is not None
    assert active.rules["labels"]["card"]["autonomy"] == "audited"


def answer_at_desk(simulation: Simulation, now: datetime) -> None:
    """Every open task taken and answered as the desk does it."""
    reviewer, workflow = simulation.reviewer, simulation.workflow
    while (lease := take_next_task(user=reviewer, workflow=workflow)) is not None:
        truth = simulation.came[lease.task.item.external_id].truth
        answers = {QUESTION: SubmittedAnswer(truth)}
        submit_review(user=reviewer, lease_token=lease.token, answers=answers, seconds=None, note="", now=now)


def left_behind(workflow: Workflow) -> list[list[tuple[object, ...]]]:
    items = Item.objects.filter(workflow=workflow).order_by("external_id")
    tasks = ReviewTask.objects.filter(workflow=workflow).order_by("item__external_id")
    answers = Answer.objects.filter(review__task__in=tasks).order_by("review__task__item__external_id")
    labels = Label.objects.filter(workflow=workflow).order_by("item__external_id")
    return [
        list(items.values_list("status", "settled_by", "settled_at", "audit_open")),
        list(tasks.values_list("status", "kind", "closed_at", "reviews_done")),
        list(answers.values_list("kind", "value", "model_value", "review__blind", "review__created_at")),
        list(labels.values_list("value", "source", "blind", "pi", "created_at")),
    ]


def test_answers_in_bulk_leave_what_the_desk_leaves(people: Mapping[str, User]) -> None:
    found = []
    for slug, answer in (("desk", answer_at_desk), ("bulk", answer_in_bulk)):
        live(MADE, people, 1, 25, answer)
        workflow = Workflow.objects.get(slug="made-up")
        found.append(left_behind(workflow))
        Workflow.objects.filter(pk=workflow.pk).update(slug=slug)
    assert found[0] == found[1]
    assert len(found[0][3]) == 25


@on_real_answers
def test_the_naive_method_breaks_its_target_on_overconfident_models() -> None:
    for data in ("clinc150", "banking77"):
        recording = recorded(data, "nb_a01")
        lowest = possible_thresholds(recording)
        found = naive_thresholds(recording, recording.examples, weeks=12, seed=1)
        assert sum(found[label] < lowest.get(label, 1.0) for label in found) >= 3


def test_the_naive_method_begins_with_people() -> None:
    assert naive_thresholds(MADE, MADE.examples, weeks=3, seed=1) == {}
    assert naive_thresholds(MADE, MADE.examples[:9] * 4, weeks=4, seed=1) == {"left": 0.5}


def test_what_is_possible_is_known_from_the_truth() -> None:
    assert possible_thresholds(MADE) == {}


def test_nothing_recorded_is_said(people: Mapping[str, User], tmp_path: Path) -> None:
    figures = measure_calibration(tmp_path / "no", endpoint=make_endpoint(), people=people, items_a_week=1)
    assert figures == {"measured": f"nothing, as there are no recorded answers in {tmp_path / 'no'}"}


def test_no_figures_of_no_streams() -> None:
    assert summary([])["calibration_true_error"]["value"] is None


def test_an_intent_of_no_topic_is_refused() -> None:
    assert topic_of("pin_blocked") == "card"
    with pytest.raises(ValueError, match="weather belongs to no topic"):
        topic_of("weather")


@on_real_answers
def test_shares_of_the_recordings_sum_to_one() -> None:
    for recording in recordings(FOLDER):
        assert all(abs(sum(each.shares) - 1) < 1e-9 for each in recording.examples)
        assert {each.truth for each in recording.examples} <= set(recording.labels)
