from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.calibration.planner import LabelPlan, Plans, Seen, Wish, plan, plan_label
from apps.routing.types import Autonomy, LabelRule
from apps.stats.intervals import exact_p, upper_bound
from apps.stats.rates import rate, unknown
from apps.workflows.models import Workflow
from tests.calibration.streams import AUDITED, REVIEWED, UNCHECKED, Past, insert_past
from tests.conftest import SignIn
from tests.factories import NOW

RULE = LabelRule(threshold=0.9, autonomy=Autonomy.AUDITED, target_error=0.05)
SEEN = Seen(8_000, rate(2, 100))


def _plan(rule: LabelRule = RULE, seen: Seen = SEEN, *, delta: float = 0.05, **wish: float) -> LabelPlan:
    wished = Wish(**{"audit_rate": 0.1} | wish)
    return plan_label("spam", "Spam", rule, seen, weeks=8, delta=delta, wish=wished)


def _plans(workflow: Workflow, **wish: float) -> Plans:
    found = plan(workflow=workflow, wish=Wish(**{"audit_rate": 0.1} | wish), now=NOW)
    assert found is not None
    return found


def _of(plans: Plans, label: str) -> LabelPlan:
    return next(each for each in plans.labels if each.label == label)


@pytest.mark.django_db
def test_it_works(workflow: Workflow) -> None:
    insert_past(workflow, [AUDITED] * 50 + [replace(AUDITED, answer="lead")] + [UNCHECKED] * 449)
    spam = _of(_plans(workflow), "spam")
    # Since the first day with an item, 20 days ago and today included.
    assert spam.per_week == pytest.approx(500 / 3)
    assert spam.checks_per_week == pytest.approx(50 / 3)
    assert spam.measured.numerator == pytest.approx(1)
    assert spam.measured.denominator == pytest.approx(51)
    assert spam.likely_error == pytest.approx(1.5 / 52)
    assert spam.checks is not None
    assert not spam.in_time
    assert not spam.is_rare


def test_so_many_checks_certify_with_the_chance_that_is_promised() -> None:
    # recalibration.md 5.2: (5 %, 2 %) takes 286, whatever the label.
    assert _plan(likely_error=0.02).checks == 286
    assert _plan(likely_error=0.01).checks == 124
    assert _plan(replace(RULE, target_error=0.02), likely_error=0.01).checks == 1_091
    assert exact_p(8, 286, 0.05) <= 0.05


def test_weeks_follow_from_the_share_and_what_came() -> None:
    found = _plan(likely_error=0.02, audit_rate=0.05)
    assert (found.per_week, found.checks_per_week) == (1_000, 50)
    assert found.weeks == pytest.approx(286 / 50)
    assert found.in_time
    assert found.rate_needed == pytest.approx(286 / 8_000)
    assert not _plan(likely_error=0.02, audit_rate=0.035).in_time


def test_no_fewer_checks_than_the_walk_needs_to_begin() -> None:
    assert _plan(likely_error=0.0).checks == 120


def test_a_later_attempt_takes_more_checks() -> None:
    first, second = _plan(likely_error=0.02, delta=0.03), _plan(likely_error=0.02, delta=0.0076)
    assert first.checks
    assert second.checks
    assert first.checks < second.checks


def test_too_few_answers_are_no_estimate() -> None:
    few = _plan(seen=Seen(8_000, rate(0, 29)))
    assert few.is_assumed
    assert few.likely_error == 0.025
    enough = _plan(seen=Seen(8_000, rate(0, 30)))
    assert not enough.is_assumed
    assert enough.likely_error == pytest.approx(0.5 / 31)


def test_a_target_near_the_error_has_no_plan() -> None:
    assert _plan(seen=Seen(8_000, rate(45, 1_000))).checks is None
    assert _plan(seen=Seen(8_000, rate(90, 1_000))).weeks is None


def test_without_items_nobody_can_say_how_long() -> None:
    found = _plan(seen=Seen(0, unknown()))
    assert found.checks is not None
    assert found.weeks is None
    assert found.rate_needed is None


def test_a_rare_label_is_told_what_all_its_items_could_show() -> None:
    found = _plan(seen=Seen(80, unknown()))
    assert found.is_rare
    assert found.weeks_of_all == pytest.approx((found.checks or 0) / 10)
    # 2 of 80 wrong, as 2.5 % is assumed.
    assert found.target_of_all == pytest.approx(upper_bound(2, 80, 0.05))


@pytest.mark.django_db
def test_rare_labels_of_one_target_are_counted_together(workflow: Workflow) -> None:
    lead = Past(label="lead", answer="lead")
    insert_past(workflow, [lead] * 20 + [replace(lead, label="customer", answer="customer")] * 10)
    lead_plan, customer, spam = (_of(_plans(workflow), each) for each in ("lead", "customer", "spam"))
    assert lead_plan.is_rare
    assert lead_plan.together == customer.together
    assert lead_plan.together == pytest.approx((lead_plan.checks or 0) / 10)
    assert spam.together is None


@pytest.mark.django_db
def test_only_items_from_the_threshold_on_are_planned_with(workflow: Workflow) -> None:
    insert_past(workflow, [replace(REVIEWED, p=0.79)] * 30 + [replace(REVIEWED, p=0.8)] * 12)
    assert _of(_plans(workflow), "spam").per_week == pytest.approx(4)
    assert _of(_plans(workflow, threshold=0.5), "spam").per_week == pytest.approx(14)


@pytest.mark.django_db
def test_large_steps_of_the_share_are_told(workflow: Workflow) -> None:
    assert not _plans(workflow, audit_rate=0.3).is_large_step
    assert _plans(workflow, audit_rate=0.31).is_large_step
    assert _plans(workflow, audit_rate=0.03).is_large_step


@pytest.mark.django_db
def test_the_policy_page_plans_and_the_slider_swaps_the_table_alone(
    workflow: Workflow, mara: User, signed_in: SignIn
) -> None:
    insert_past(workflow, [replace(AUDITED, at=timezone.now() - timedelta(days=1))] * 60)
    browser = signed_in(mara)
    assert 'id="planner-found"' in browser.get("/w/leads/policy/").content.decode()
    htmx = {"HX-Request": "true", "HX-Target": "planner-found"}
    found = browser.get("/w/leads/policy/planner/", {"percent": "40"}, headers=htmx).content.decode()
    assert found.startswith('<div id="planner-found"')
    assert "40 %" in found
    assert browser.get("/w/leads/policy/planner/").status_code == 200


@pytest.mark.django_db
@pytest.mark.parametrize(
    "asked", [{"percent": "0"}, {"percent": "x"}, {"target_error": "nan"}, {"threshold": "2"}]
)
def test_nonsense_is_refused(
    workflow: Workflow, mara: User, signed_in: SignIn, asked: dict[str, str]
) -> None:
    response = signed_in(mara).get("/w/leads/policy/planner/", asked)
    assert response.status_code == 422
    assert "No plan" in response.content.decode()
