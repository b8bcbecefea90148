from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from django.template.loader import render_to_string

from apps.calibration.asked_about import Spoken
from apps.calibration.counting.judged import Judged
from apps.calibration.scores import ScoreReading, graded_losses, largest_weight, read_score, read_scores
from apps.routing.types import ScoreHold
from apps.stats.betting import Bets
from apps.workflows.models import Question, Workflow
from tests.factories import NOW, make_workflow
from tests.factories import RULES as STORED
from tests.routing.situations import RULES

LEVELS = ("0", "1", "2", "3")
ANGER = Question(key="anger", kind="score", options=[{"id": each, "name": each} for each in LEVELS])
HOLD = ScoreHold("anger", 0.6)


def judged(
    pairs: Sequence[tuple[int, int]], *, share: float = 0.7, pi: float = 0.1, automatic: bool = True
) -> Judged:
    """(the model's level, people's); 4 is no level."""
    p = np.full((len(pairs), 5), (1 - share) / 3)
    p[:, 4] = 0
    for row, (level, _) in enumerate(pairs):
        p[row, level] = share
    return Judged(
        options=(*LEVELS, ""),
        p=p,
        truth=np.array([truth for _, truth in pairs], np.intp),
        pi=np.full(len(pairs), pi),
        automatic=np.full(len(pairs), automatic),
        days=tuple(NOW.date() for _ in pairs),
    )


def read(found: Judged, *, late: int = 0) -> ScoreReading:
    return read_score(ANGER, HOLD, Spoken("standin", found, late, False), RULES, 0.95)


def test_it_works() -> None:
    found = read(judged([(1, 1)] * 90 + [(1, 2)] * 9 + [(0, 3)]))
    assert found.loss == pytest.approx((9 / 3 + 1) / 100)
    assert found.loss_levels == pytest.approx(12 / 100)
    assert [each.share.value for each in found.off_by] == pytest.approx([0.9, 0.09, 0.0, 0.01])


def test_the_bound_is_that_of_the_betting_test() -> None:
    pairs = [(1, 1)] * 90 + [(1, 2)] * 10
    losses = [0.0] * 90 + [1 / 3] * 10
    # The least check rate is 2 %: answers weigh 10 of at most 50.
    assert read(judged(pairs)).bound == pytest.approx(Bets([10] * 100, losses, 50).upper_bound(0.05))


def test_one_step_off_costs_less_than_all_of_them() -> None:
    near = read(judged([(1, 1)] * 90 + [(1, 2)] * 10))
    far = read(judged([(0, 0)] * 90 + [(0, 3)] * 10))
    assert near.bound < far.bound


def test_no_level_fits_is_as_wrong_as_can_be() -> None:
    found = judged([(1, 1), (1, 4), (3, 0), (0, 1)])
    assert graded_losses(found, 4).tolist() == pytest.approx([0, 1, 1, 1 / 3])
    assert read(found).off_by[-1].steps is None


def test_a_check_nobody_answered_counts_as_all_levels_off() -> None:
    pairs = [(1, 1)] * 100
    assert read(judged(pairs), late=3).bound > read(judged(pairs)).bound
    assert read(judged(pairs), late=3).loss == 0


def test_only_what_the_hold_let_pass_is_read() -> None:
    assert read(judged([(1, 1)] * 5, share=0.59)).checks == 0
    assert read(judged([(1, 1)] * 5, automatic=False)).checks == 0
    assert read(judged([(1, 1)] * 5, share=0.6)).checks == 5


def test_without_a_check_nothing_is_known() -> None:
    found = read(judged([]))
    assert (found.loss, found.bound, found.off_by) == (None, 1.0, ())


def test_the_largest_weight_is_that_of_the_least_rate() -> None:
    assert largest_weight(RULES, []) == 50
    assert largest_weight(RULES, [0.01]) == 100


def test_it_is_told_in_levels() -> None:
    found = read(judged([(1, 1)] * 90 + [(1, 2)] * 9 + [(0, 4)]), late=2)
    page = render_to_string("calibration/_bounds_score.html", {"score": found, "forloop": {"counter": 1}})
    assert "On average 0.12 levels off" in page
    assert "of 3. From 100 blind checks, weighted; 2 more were not answered" in page
    assert "No level fits" in page


@pytest.mark.django_db
def test_a_question_nobody_is_asked_is_not_read(workflow: Workflow) -> None:
    assert read_scores(workflow=workflow, now=NOW) == []


@pytest.mark.django_db
def test_a_score_that_can_hold_is_read(db: None) -> None:
    workflow = make_workflow(rules=STORED | {"holds": [{"question": "anger", "min_share": 0.6}]})
    asked = Question.objects.create(
        question_set=workflow.question_sets.get(),
        key="anger",
        position=2,
        kind="score",
        instructions="How angry?",
        options=ANGER.options,
    )
    (found,) = read_scores(workflow=workflow, now=NOW)
    assert (found.question, found.min_share, found.checks, found.bound) == (asked, 0.6, 0, 1.0)
