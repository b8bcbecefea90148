"""What a replay says of a policy, against numbers one can count by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from apps.calibration.counting.counts import count_labels
from apps.calibration.models import Incident
from apps.calibration.replay.replaying import Replayed, replay
from apps.stats.certificates import certify
from apps.stats.intervals import clopper_pearson, upper_bound
from apps.stats.thresholds import GRID, two_stratum_bounds
from apps.workflows.models import Workflow
from tests.calibration.replay.replays import insert_replayable
from tests.calibration.streams import AUDITED, REVIEWED, UNCHECKED, Past, random_past
from tests.factories import NOW, RULES

pytestmark = pytest.mark.django_db

UNSURE = replace(REVIEWED, p=0.75)


def with_threshold(threshold: float, **more: Any) -> dict[str, Any]:
    labels = {**RULES["labels"], "spam": {**RULES["labels"]["spam"], "threshold": threshold}}
    return {**RULES, "labels": labels, **more}


def replayed(workflow: Workflow, rules: dict[str, Any], **more: Any) -> Replayed:
    found = replay(workflow=workflow, rules=rules, now=NOW, **more)
    assert found is not None
    return found


def test_it_works(workflow: Workflow) -> None:
    insert_replayable(workflow, [UNSURE] * 4 + [UNCHECKED] * 5 + [AUDITED])

    found = replayed(workflow, with_threshold(0.7))

    assert found.cells == {(True, True): 6, (False, True): 4, (False, False): 0, (True, False): 0}
    assert (found.current.automation.value, found.candidate.automation.value) == (0.6, 1.0)
    assert found.candidate.audits.mean == pytest.approx(10 * 0.1 / found.days)


def test_without_an_answer_of_a_model_there_is_nothing_to_replay(workflow: Workflow) -> None:
    assert replay(workflow=workflow, rules=RULES, now=NOW) is None


def test_the_policy_in_force_changes_nothing(workflow: Workflow) -> None:
    insert_replayable(workflow, [UNSURE] * 3 + [UNCHECKED] * 3)

    found = replayed(workflow, RULES)

    assert found.cells[False, True] == found.cells[True, False] == 0
    assert found.candidate == found.current
    assert found.load_change == 0


def test_error_is_weighted_by_the_chance_of_having_been_seen(workflow: Workflow) -> None:
    wrong_check = replace(AUDITED, answer="lead")
    insert_replayable(workflow, [UNSURE] * 5 + [AUDITED, wrong_check] + [UNCHECKED] * 18)

    found = replayed(workflow, with_threshold(0.7))

    # Reviews weigh 1, checks at a tenth weigh 10: one wrong of 10 + 10 + 5.
    assert found.candidate.error.value == pytest.approx(10 / 25)
    assert found.current.error.value == pytest.approx(10 / 20)


def test_what_newly_goes_on_by_itself_was_seen_and_has_an_exact_interval(workflow: Workflow) -> None:
    insert_replayable(
        workflow, [UNSURE] * 38 + [replace(UNSURE, answer="lead")] * 2 + [replace(UNSURE, answer="")]
    )

    new = replayed(workflow, with_threshold(0.7)).newly_automatic

    assert (new.items, new.error.numerator, new.error.denominator) == (41, 2, 40)
    assert (new.error.low, new.error.high) == clopper_pearson(2, 40)
    assert new.bound == upper_bound(2, 40, 0.05)


def test_mistakes_that_people_would_newly_catch(workflow: Workflow) -> None:
    insert_replayable(workflow, [AUDITED, replace(AUDITED, answer=None), UNCHECKED])

    found = replayed(workflow, with_threshold(0.99))

    assert found.newly_reviewed.items == 3
    assert (found.newly_reviewed.caught.numerator, found.newly_reviewed.caught.denominator) == (1, 2)
    assert found.load_change == pytest.approx(3 / 0.3 - 1)


def test_an_item_nobody_could_have_seen_is_not_covered(workflow: Workflow) -> None:
    insert_replayable(workflow, [replace(UNCHECKED, pi=0.0), UNCHECKED, UNCHECKED, UNCHECKED])

    assert replayed(workflow, RULES).candidate.not_covered.value == 0.25


def test_cost_a_day_with_what_the_model_predicts(workflow: Workflow) -> None:
    wrong = replace(AUDITED, answer="lead", at=NOW - timedelta(days=10))
    insert_replayable(workflow, [wrong] + [replace(UNCHECKED, at=NOW - timedelta(days=10))] * 9)

    side = replayed(workflow, RULES).candidate

    # Ten items at 1.5 each over ten days, and a check a ten days at the cost of a review.
    assert side.cost.error_cost_per_day == pytest.approx(1.5)
    assert side.cost.cost_per_day == pytest.approx(1.5 + 0.1)
    assert side.predicted_cost == pytest.approx((0.05 / 3) * (1.5 + 1.5 + 1.0))


def test_items_of_another_model_are_left_out_and_counted(workflow: Workflow) -> None:
    older = Past(model="older", at=NOW - timedelta(days=30))
    insert_replayable(workflow, [REVIEWED, older, older])

    found = replayed(workflow, RULES)

    assert (found.replayed, found.found.replayable, found.found.others) == (1, 1, 2)


def test_items_before_the_window_do_not_count(workflow: Workflow) -> None:
    insert_replayable(workflow, [REVIEWED, replace(REVIEWED, at=NOW - timedelta(days=57))])

    assert replayed(workflow, RULES).found.replayable == 1


def test_out_of_time_the_newest_are_replayed(workflow: Workflow) -> None:
    insert_replayable(workflow, [replace(REVIEWED, at=NOW - timedelta(days=n)) for n in range(9)])

    found = replayed(workflow, RULES, budget_s=0.0, batch=3)

    assert (found.replayed, found.found.replayable) == (3, 9)
    assert found.start == NOW - timedelta(days=2)


def test_batches_join_to_the_whole(workflow: Workflow) -> None:
    insert_replayable(workflow, [REVIEWED, UNSURE, AUDITED, UNCHECKED] * 5)

    whole, apart = (replayed(workflow, with_threshold(0.7), batch=size) for size in (1000, 3))

    assert replace(apart, seconds=0) == replace(whole, seconds=0)


def test_days_vary(workflow: Workflow) -> None:
    days = [replace(REVIEWED, p=0.3, at=NOW - timedelta(days=day)) for day in range(10) for _ in range(day)]
    insert_replayable(workflow, days)

    reviews = replayed(workflow, RULES).candidate.reviews

    assert reviews.mean == pytest.approx(45 / 9)
    # Whole days are those of 2 to 8 items, as nothing came today.
    assert (reviews.low, reviews.high) == pytest.approx((2.3, 7.7))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_bounds_are_those_of_the_certificates(workflow: Workflow, seed: int) -> None:
    past = [replace(each, p=max(each.p, 0.3), is_open=True) for each in random_past(seed, 600)]
    # Of a group certificates count one of all there ever were, a replay one of those it sees.
    past = [each for each in past if each.at > NOW - timedelta(days=55)]
    insert_replayable(workflow, [replace(each, group=f"g{n % 300}") for n, each in enumerate(past)])

    bound = next(each for each in replayed(workflow, RULES).labels if each.label == "spam")

    counted = count_labels(workflow=workflow, now=NOW)["spam"]
    at = GRID.index(0.8)
    assert bound.bound == pytest.approx(two_stratum_bounds(counted.counts, 0.05)[at])
    assert (bound.labelled, bound.wrong) == (counted.counts.labelled[at], counted.counts.wrong[at])
    certified = certify(
        counted.counts, alpha=0.05, delta=0.05, drawn=counted.drawn, unanswered=counted.unanswered
    ).certified
    assert (bound.certified, bound.end_on) == (0.8 in certified, counted.end_on)


def test_what_an_alarm_dropped_enters_no_bound(workflow: Workflow) -> None:
    insert_replayable(workflow, [REVIEWED] * 300)
    insert_replayable(workflow, [replace(REVIEWED, at=NOW - timedelta(days=1))] * 40, prefix="since")
    Incident.objects.create(
        workflow=workflow,
        level=Incident.Level.ALARM,
        kind=Incident.Kind.BROKEN_TARGET,
        label="spam",
        numbers={},
        opened_at=NOW - timedelta(days=5),
    )
    (bound,) = replayed(workflow, RULES).labels
    assert (bound.items, bound.labelled, bound.certified) == (40, 40, False)
