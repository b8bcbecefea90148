from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from math import nextafter
from zoneinfo import ZoneInfo

import pytest
from django.conf import settings

from apps.accounts.models import User
from apps.calibration.counting.counts import LabelCounts, count_labels, last_answered_day
from apps.items.models import Route
from apps.policies.models import Policy
from apps.reviews.leases import take_next_task
from apps.reviews.services import SubmittedAnswer, submit_review
from apps.routing.draw import group_hash, thin_draw
from apps.stats.thresholds import GRID, grid_bin
from apps.workflows.models import QuestionSet, Workflow
from tests.calibration.streams import AUDITED, EARLIER, REVIEWED, UNCHECKED, Past, insert_past, random_past
from tests.factories import NOW, RULES, make_policy, make_task

pytestmark = pytest.mark.django_db

Summary = dict[str, tuple[int, int, int]]


def counted(workflow: Workflow, past: Sequence[Past]) -> LabelCounts:
    insert_past(workflow, past)
    return count_labels(workflow=workflow, now=NOW)["spam"]


def summary(found: LabelCounts) -> Summary:
    """Items, labelled and wrong per stratum."""
    sums: dict[str, Counter[str]] = {}
    for row in found.rows:
        sums.setdefault(row.stratum, Counter()).update(
            items=row.items, labelled=row.labelled, wrong=row.wrong
        )
    return {name: (each["items"], each["labelled"], each["wrong"]) for name, each in sums.items()}


def test_it_works(workflow: Workflow) -> None:
    wrong_audit, wrong_review = replace(AUDITED, answer="lead"), replace(REVIEWED, answer="lead")
    past = [REVIEWED] * 4 + [wrong_review] + [AUDITED] * 2 + [wrong_audit] + [UNCHECKED] * 12
    found = counted(workflow, past)
    assert summary(found) == {"reviewed": (5, 5, 1), "audited": (15, 3, 1)}
    assert (found.drawn, found.unanswered, found.pending) == (3, 0, 0)
    assert sum(row.pi_sum for row in found.rows) == pytest.approx(5 + 1.5)


def test_one_item_of_a_group_counts(workflow: Workflow) -> None:
    thread = [replace(REVIEWED, group="thread"), *[replace(AUDITED, group="thread", answer="lead")] * 3]
    found = counted(
        workflow, [*thread, REVIEWED, *[replace(UNCHECKED, group=str(each)) for each in range(2)]]
    )
    assert sum(row.items for row in found.rows) == 4
    assert found.beside == 3


def test_the_one_that_counts_is_the_lowest_by_a_keyed_hash(workflow: Workflow) -> None:
    insert_past(workflow, [replace(REVIEWED, group="chat", label=f"label-{each}") for each in range(40)])
    found = count_labels(workflow=workflow, now=NOW)
    key = settings.SECRET_KEY.encode()
    lowest = min(range(40), key=lambda each: group_hash(key, workflow.slug, f"item-{each}"))
    assert [label for label, each in found.items() if each.rows] == [f"label-{lowest}"]


def test_answers_given_at_the_desk_are_counted(workflow: Workflow, rosa: User) -> None:
    for kind, value in (("routine", "spam"), ("audit", "lead")):
        make_task(workflow, kind=kind)
        lease = take_next_task(user=rosa, workflow=workflow)
        assert lease is not None
        answers = {"intent": SubmittedAnswer(value)}
        submit_review(user=rosa, lease_token=lease.token, answers=answers, seconds=1.0, note="", now=NOW)
    found = count_labels(workflow=workflow, now=NOW)["spam"]
    assert summary(found) == {"reviewed": (1, 1, 0), "audited": (1, 1, 1)}


def test_nothing_is_known_before_the_first_answer(workflow: Workflow) -> None:
    assert count_labels(workflow=workflow, now=NOW) == {}


def test_an_unchecked_item_is_no_agreement(workflow: Workflow) -> None:
    assert summary(counted(workflow, [UNCHECKED] * 9)) == {"audited": (9, 0, 0)}


def test_a_label_of_an_item_that_was_not_drawn_does_not_count(workflow: Workflow) -> None:
    asked_for_later = replace(UNCHECKED, answer="lead")
    assert summary(counted(workflow, [AUDITED, asked_for_later])) == {"audited": (2, 1, 0)}


def test_none_of_these_is_another_answer(workflow: Workflow) -> None:
    assert summary(counted(workflow, [replace(AUDITED, answer=None)])) == {"audited": (1, 1, 1)}


def test_imported_labels_do_not_count(workflow: Workflow) -> None:
    found = counted(workflow, [AUDITED, replace(AUDITED, source="import", at=NOW - timedelta(days=1))])
    assert (summary(found), found.pending) == ({"audited": (1, 1, 0)}, 1)


@pytest.mark.parametrize("age", [timedelta(days=7, seconds=1), timedelta(days=30)])
def test_an_audit_past_its_deadline_is_wrong(workflow: Workflow, age: timedelta) -> None:
    found = counted(workflow, [AUDITED] * 9 + [replace(AUDITED, answer="", at=NOW - age)])
    assert summary(found) == {"audited": (10, 10, 1)}
    assert (found.drawn, found.unanswered) == (10, 1)


def test_a_younger_audit_is_not_yet_drawn(workflow: Workflow) -> None:
    waiting = replace(AUDITED, answer="", at=NOW - timedelta(days=7))
    found = counted(workflow, [AUDITED] * 19 + [waiting])
    assert summary(found) == {"audited": (20, 19, 0)}
    assert (found.drawn, found.unanswered, found.pending) == (19, 0, 1)


def test_the_window_ends_where_most_is_answered(workflow: Workflow) -> None:
    waiting = replace(REVIEWED, answer="", at=NOW - timedelta(days=3))
    found = counted(workflow, [REVIEWED] * 18 + [waiting])
    assert (found.start_on, found.end_on) == (EARLIER.date(), EARLIER.date())
    assert (summary(found), found.pending) == ({"reviewed": (18, 18, 0)}, 1)


def test_a_backlog_leaves_no_window(workflow: Workflow) -> None:
    found = counted(workflow, [replace(REVIEWED, answer="")] * 3)
    assert (found.end_on, found.rows, found.pending) == (None, (), 3)


def test_last_answered_day_looks_at_all_since_the_start() -> None:
    first, second, third = (date(2026, 11, day) for day in (1, 2, 3))
    assert last_answered_day([(second, 10, 5), (first, 90, 90), (third, 100, 100)]) == third
    assert last_answered_day([(first, 10, 9), (second, 10, 10)]) == second
    assert last_answered_day([(first, 10, 9)]) is None


def test_the_window_begins_at_midnight_where_the_workflow_is(workflow: Workflow) -> None:
    Workflow.objects.filter(pk=workflow.pk).update(time_zone="Asia/Tokyo")
    workflow.refresh_from_db()
    first = datetime(2026, 10, 6, tzinfo=ZoneInfo("Asia/Tokyo")).astimezone(UTC)
    found = counted(
        workflow, [replace(REVIEWED, at=first), replace(REVIEWED, at=first - timedelta(seconds=1))]
    )
    assert (found.start_on, summary(found)) == (date(2026, 10, 6), {"reviewed": (1, 1, 0)})


def test_bins_are_those_of_stats(workflow: Workflow) -> None:
    values = [0.0, 1.0, *(each for t in GRID for each in (nextafter(t, 0), t, nextafter(t, 1)))]
    found = counted(workflow, [replace(REVIEWED, p=value) for value in values])
    expected = Counter(int(number) for number in grid_bin(values))
    assert {row.bin: row.items for row in found.rows} == dict(expected)


def test_other_models_questions_and_closed_gates_do_not_count(workflow: Workflow) -> None:
    newest = replace(REVIEWED, at=EARLIER + timedelta(days=1))
    found = counted(workflow, [newest, replace(REVIEWED, model="other"), replace(REVIEWED, is_open=False)])
    assert summary(found) == {"reviewed": (1, 1, 0)}
    QuestionSet.objects.filter(workflow=workflow).update(is_current=False)
    questions = QuestionSet.objects.create(workflow=workflow, version=2, is_current=True)
    questions.questions.create(
        key="intent", position=0, kind="choice", is_routing=True, instructions="?", options=[]
    )
    assert count_labels(workflow=workflow, now=NOW) == {}


def test_another_workflow_does_not_count(workflow: Workflow, other_workflow: Workflow) -> None:
    insert_past(other_workflow, [REVIEWED])
    assert summary(counted(workflow, [REVIEWED] * 2)) == {"reviewed": (2, 2, 0)}


def test_superseded_routes_and_taken_back_labels_do_not_count(workflow: Workflow) -> None:
    found = counted(workflow, [REVIEWED] * 2)
    Route.objects.filter(pk=Route.objects.earliest("pk").pk).update(superseded_at=NOW)
    Route.objects.latest("pk").item.labels.update(taken_back_at=NOW)
    after = count_labels(workflow=workflow, now=NOW)["spam"]
    assert (summary(found), after.rows, after.pending) == ({"reviewed": (2, 2, 0)}, (), 1)


@pytest.mark.parametrize(("changed", "counts"), [({"margin": 0.2}, False), ({"audit_rate": 0.5}, True)])
def test_other_gates_begin_anew(workflow: Workflow, changed: dict[str, float], counts: bool) -> None:
    insert_past(workflow, [REVIEWED])
    Policy.objects.filter(workflow=workflow).update(status="retired")
    make_policy(workflow, RULES | changed, version=2)
    assert ("spam" in count_labels(workflow=workflow, now=NOW)) is counts


def test_unequal_rates_are_thinned_to_the_smallest(workflow: Workflow) -> None:
    dense = replace(AUDITED, pi=0.2)
    found = counted(workflow, [AUDITED] * 100 + [dense] * 200)
    kept = sum(_is_kept(workflow, index, 0.1 / 0.2) for index in range(100, 300))
    assert summary(found) == {"audited": (300, 100 + kept, 0)}
    assert (found.thinned_to, found.drawn) == (0.1, 300)
    assert 70 < kept < 130


def test_thinning_cannot_be_drawn_again(workflow: Workflow) -> None:
    found = counted(workflow, [AUDITED] * 20 + [replace(AUDITED, pi=0.2, answer="lead")] * 40)
    assert count_labels(workflow=workflow, now=NOW + timedelta(seconds=1))["spam"] == found


def test_days_of_a_much_lower_rate_are_left_out(workflow: Workflow) -> None:
    rare_day = EARLIER + timedelta(days=2)
    rare = [replace(AUDITED, pi=0.02, at=rare_day), replace(REVIEWED, at=rare_day)]
    found = counted(workflow, [AUDITED] * 30 + rare)
    assert (summary(found), found.left_out) == ({"audited": (30, 30, 0)}, (rare_day.date(),))
    assert found.thinned_to is None


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_database_counts_as_python_does(workflow: Workflow, seed: int) -> None:
    past = random_past(seed, 600)
    insert_past(workflow, past)
    for label, found in count_labels(workflow=workflow, now=NOW).items():
        assert {key: tuple(cell) for key, cell in _cells(found).items()} == _recounted(workflow, past, label)


def _cells(found: LabelCounts) -> dict[tuple[str, int], list[int]]:
    cells: dict[tuple[str, int], list[int]] = {}
    for row in found.rows:
        cell = cells.setdefault((row.stratum, row.bin), [0, 0, 0])
        cells[row.stratum, row.bin] = [
            have + more for have, more in zip(cell, (row.items, row.labelled, row.wrong), strict=True)
        ]
    return cells


def _is_kept(workflow: Workflow, index: int, chance: float) -> bool:
    return thin_draw(settings.SECRET_KEY.encode(), workflow.slug, f"item-{index}") < chance


def _recounted(
    workflow: Workflow, past: Sequence[Past], label: str
) -> dict[tuple[str, int], tuple[int, int, int]]:
    """The same by the plainest loop: no SQL, no days grouped, one item after another."""
    first = NOW.date() - timedelta(days=55)
    mine = [
        (index, each)
        for index, each in enumerate(past)
        if each.label == label and each.is_open and each.at.date() >= first
    ]
    asked = [each for _, each in mine if each.outcome == "review" or each.drawn]
    ends = []
    for day in sorted({each.at.date() for each in asked}):
        until = [each for each in asked if each.at.date() <= day]
        if sum(_is_settled(each) for each in until) >= 0.95 * len(until):
            ends.append(day)
    smallest = min(each.pi for _, each in mine if each.outcome == "automatic" and each.at.date() <= ends[-1])
    cells: dict[tuple[str, int], list[int]] = {}
    for index, each in mine:
        if each.at.date() > ends[-1]:
            continue
        stratum = "reviewed" if each.outcome == "review" else "audited"
        cell = cells.setdefault((stratum, sum(each.p >= t for t in GRID)), [0, 0, 0])
        labelled = stratum == "reviewed" and each.answer != ""
        if each.drawn and _is_settled(each):
            labelled = _is_kept(workflow, index, smallest / each.pi)
        cell[0] += 1
        cell[1] += labelled
        cell[2] += labelled and each.answer != label
    return {key: (items, n, k) for key, (items, n, k) in cells.items()}


def _is_settled(each: Past) -> bool:
    return each.answer != "" or (each.drawn and each.at < NOW - timedelta(days=7))


def test_answers_after_the_window_are_told_and_not_counted(workflow: Workflow) -> None:
    later = NOW - timedelta(days=3)
    past = [REVIEWED] * 10 + [replace(REVIEWED, at=later)] * 2 + [replace(REVIEWED, answer="", at=later)] * 5
    found = counted(workflow, past)
    assert (found.end_on, found.asked, found.answered, found.uncounted) == (EARLIER.date(), 17, 12, 2)


def test_without_a_window_no_answer_counts(workflow: Workflow) -> None:
    found = counted(workflow, [REVIEWED, replace(REVIEWED, answer="")])
    assert (found.end_on, found.asked, found.answered, found.uncounted) == (None, 2, 1, 1)
