"""Rules of opinions: drawn from the item alone, as its task is made, and never under somebody's hands."""

from __future__ import annotations

import pytest

from apps.accounts.models import User
from apps.core.errors import InvalidInput
from apps.reviews.drawing import Drawn, draw_opinions
from apps.reviews.models import ReviewRules
from apps.reviews.rules import RulesChange, change_rules, rules_in_force
from apps.routing.draw import second_draw
from apps.workflows.models import Workflow
from tests.factories import NOW, make_task


def drawn(*, blind: float = 0.9, second: float = 0.9, share: float = 0.2, **rules: object) -> Drawn:
    row = ReviewRules(**rules)
    return draw_opinions(row, label="spam", blind_share=share, blind=blind, second=second)


def change(workflow: Workflow, user: User, **more: object) -> ReviewRules:
    values = {
        "wanted": 1,
        "wanted_by_label": {},
        "second_share": 0.0,
        "most": 3,
        "consensus": "majority",
    } | more
    return change_rules(workflow=workflow, user=user, change=RulesChange(**values), now=NOW)  # type: ignore[arg-type]  # a test's keywords


def test_it_works(workflow: Workflow, mara: User) -> None:
    assert rules_in_force(workflow).wanted == 1
    assert change(workflow, mara, wanted=2).wanted == 2
    change(workflow, mara, wanted=3)
    assert (rules_in_force(workflow).wanted, ReviewRules.objects.count()) == (3, 2)


def test_the_most_that_any_part_asks_for() -> None:
    assert drawn() == Drawn(1, False, 0.8)
    assert drawn(wanted=2) == Drawn(2, True, 1.0)
    assert drawn(wanted=2, wanted_by_label={"spam": 3, "lead": 5}) == Drawn(3, True, 1.0)
    assert drawn(wanted_by_label={"lead": 5}) == Drawn(1, False, 0.8)


@pytest.mark.parametrize(
    ("draws", "expected"),
    [
        ({"second": 0.05}, (2, True, 0.28)),
        ({"blind": 0.1}, (1, True, 0.28)),
        ({}, (1, False, 0.72)),
    ],
)
def test_blindness_that_chance_decided_has_its_chance(
    draws: dict[str, float], expected: tuple[int, bool, float]
) -> None:
    assert drawn(**draws, second_share=0.1) == pytest.approx(expected)


def test_a_check_is_blind_by_rule() -> None:
    assert drawn(share=1.0) == Drawn(1, True, 1.0)
    assert drawn(share=1.0, second=0.05, second_share=0.1) == Drawn(2, True, 1.0)


def test_the_second_draw_is_one_of_its_own() -> None:
    draws = [second_draw(b"key", "leads", str(number)) for number in range(2_000)]
    assert 0.45 < sum(draws) / len(draws) < 0.55
    assert draws[7] == second_draw(b"key", "leads", "7")


def test_an_open_task_stays_as_it_was_drawn(workflow: Workflow, mara: User) -> None:
    task, check = make_task(workflow), make_task(workflow, kind="audit")
    change(workflow, mara, wanted=2, wanted_by_label={"spam": 3}, second_share=1.0)
    for each in (task, check):
        each.refresh_from_db()
    assert (task.reviews_needed, task.blind, check.reviews_needed, check.blind) == (1, False, 1, True)


@pytest.mark.parametrize(
    ("wrong", "path"),
    [
        ({"wanted": 4}, "wanted"),
        ({"most": 8}, "most"),
        ({"second_share": 1.1}, "second_share"),
        ({"most": 1, "second_share": 0.1}, "second_share"),
        ({"consensus": "loudest"}, "consensus"),
        ({"wanted_by_label": {"spam": 4}}, "wanted_by_label.spam"),
        ({"wanted_by_label": {"nonsense": 2}}, "wanted_by_label.nonsense"),
    ],
)
def test_numbers_out_of_bounds_are_named(
    workflow: Workflow, mara: User, wrong: dict[str, object], path: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        change(workflow, mara, **wrong)
    assert [problem.path for problem in caught.value.problems] == [path]
    assert not ReviewRules.objects.exists()
