from __future__ import annotations

import datetime as dt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.stats.certificates import LabelCertificate, certificate_sentence, certify
from apps.stats.intervals import audits_needed
from apps.stats.thresholds import GRID, Counts, empty_counts
from tests.stats.counting import audited_at, counts_from_items, counts_of, reviewed_at, uncovered_at


def certified(counts: Counts, **audits: int) -> LabelCertificate:
    return certify(counts, alpha=0.05, delta=0.05, **audits)


def sentence(certificate: LabelCertificate, checks_per_week: float | None = None) -> str:
    start_on, end_on = dt.date(2026, 3, 2), dt.date(2026, 4, 26)
    return certificate_sentence(
        certificate, start_on=start_on, end_on=end_on, checks_per_week=checks_per_week
    )


def test_it_works() -> None:
    found = certified(counts_of(audited_at(0.97, 200, 1), audited_at(0.95, 100, 2), audited_at(0.94, 50, 20)))
    assert (found.start, found.last, found.certified) == (0.97, 0.95, (0.97, 0.96, 0.95))
    assert [step.threshold for step in found.walked] == [0.97, 0.96, 0.95, 0.94]


def test_all_of_the_grid_may_be_certified() -> None:
    found = certified(counts_of(audited_at(1.0, 5000, 0)))
    assert (found.start, found.last, len(found.certified)) == (0.999, 0.5, len(GRID))


def test_a_pass_below_a_failure_does_not_count() -> None:
    found = certified(
        counts_of(audited_at(0.97, 200, 1), audited_at(0.96, 50, 20), audited_at(0.9, 100_000, 0))
    )
    assert found.last == 0.97


def test_the_certificate_keeps_what_it_rests_on() -> None:
    step = certified(counts_of(reviewed_at(0.95, 300, 2), audited_at(0.97, 200, 1, items=4000))).last_step
    assert step is not None
    assert (step.reviewed_items, step.audited_items, step.labelled, step.wrong) == (300, 4000, 500, 3)


def test_without_labels_nothing_is_certified() -> None:
    found = certified(empty_counts())
    assert (found.start, found.last, found.certified, found.reason) == (None, None, (), "too_few_draws")
    assert (found.labelled, found.needed, found.more) == (0, 120, 120)


def test_fifty_messages_without_a_mistake_are_too_few() -> None:
    found = certified(counts_of(reviewed_at(0.9, 50, 0)))
    assert (found.reason, found.labelled, found.needed) == ("too_few_draws", 50, 120)


def test_the_planner_says_how_many_more() -> None:
    found = certified(counts_of(reviewed_at(0.9, 130, 4)))
    assert found.reason == "not_enough_checks"
    assert found.needed == audits_needed(0.05, 0.05, 4)
    assert found.more == found.needed - 130


def test_needed_counts_over_two_strata_are_the_least_that_pass() -> None:
    found = certified(counts_of(reviewed_at(0.9, 100, 8), audited_at(0.9, 100, 1, items=1000)))
    assert found.reason == "not_enough_checks"
    assert found.needed is not None
    assert 200 < found.needed < 600


def test_mistakes_above_the_target_are_not_mended_by_more_checks() -> None:
    found = certified(counts_of(audited_at(0.9, 200, 30)))
    assert (found.reason, found.needed, found.wrong) == ("target_not_supported", None, 30)
    assert found.target_at_start is not None
    assert certify(counts_of(audited_at(0.9, 200, 30)), alpha=0.21, delta=0.05).last == 0.5
    assert found.target_at_start < 0.21


def test_many_unanswered_draws_stop_everything() -> None:
    counts = counts_of(audited_at(0.97, 400, 1))
    assert certified(counts, drawn=100, unanswered=5).last is not None
    assert certified(counts, drawn=100, unanswered=6).reason == "too_many_unanswered"


def test_what_could_never_be_checked_stops_the_label() -> None:
    found = certified(counts_of(audited_at(0.97, 400, 0), uncovered_at(0.97, 40)))
    assert (found.reason, found.last) == ("not_covered", None)


@given(st.integers(0, 2**32 - 1))
def test_a_strictly_rising_map_accepts_the_same_items(seed: int) -> None:
    """Thresholds move with the scale: items between two grid values of one scale stay between them."""
    chance = np.random.default_rng(seed)
    place = chance.integers(1, len(GRID), 3000)
    conf = np.asarray(GRID)[place]
    mapped = np.asarray(GRID)[place - 1]
    wrong, flags = chance.random(3000) < 0.35 * (1 - conf), np.zeros(3000, bool)
    one, two = (certified(counts_from_items(c, wrong, flags, flags, 1.0)).last for c in (conf, mapped))
    assert (conf >= (one or np.inf)).tolist() == (mapped >= (two or np.inf)).tolist()


def test_the_walk_on_two_scales_can_end_in_the_middle() -> None:
    """Else the test above would compare nothing with nothing."""
    rows = [reviewed_at(t, 60, 0 if t > 0.8 else 20) for t in GRID[1:]]
    assert certified(counts_of(*rows)).last == 0.79


@pytest.mark.parametrize(("drawn", "unanswered"), [(5, 6), (0, -1)])
def test_impossible_draws_are_refused(drawn: int, unanswered: int) -> None:
    with pytest.raises(ValueError, match="unanswered"):
        certified(empty_counts(), drawn=drawn, unanswered=unanswered)


def test_certified_words() -> None:
    found = certified(counts_of(reviewed_at(0.95, 300, 2), audited_at(0.97, 1200, 1)))
    assert sentence(found) == (
        "With 95% confidence at most 5% of the items accepted by itself under this rule are ones your "
        "reviewers would have decided otherwise. "
        "Based on 1,200 blind checks and 300 reviews from 2026-03-02 to 2026-04-26."
    )


def test_not_yet_words() -> None:
    found = certified(counts_of(reviewed_at(0.9, 50, 0)))
    assert sentence(found) == "Not enough checks yet: 50 of about 120."
    assert sentence(found, 30) == "Not enough checks yet: 50 of about 120. At the present rate: 3 weeks."
    assert sentence(found, 70).endswith("At the present rate: 1 week.")


def test_not_supported_words() -> None:
    found = certified(counts_of(audited_at(0.9, 200, 30)))
    assert sentence(found, 30) == "The checks do not support this target: 30 wrong of 200."


def test_unanswered_and_uncovered_words() -> None:
    counts = counts_of(audited_at(0.97, 400, 0), uncovered_at(0.97, 40))
    assert sentence(certified(counts)).startswith("40 of 440 items could never have been checked")
    assert "6 of 100" in sentence(certified(counts, drawn=100, unanswered=6))
