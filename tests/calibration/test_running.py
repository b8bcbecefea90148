from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from django.db import IntegrityError, transaction

from apps.calibration.looking import look
from apps.calibration.models import CalibrationRun, CalibrationSettings, Certificate, Incident
from apps.calibration.running import recompute, run_calibration
from apps.core.errors import Conflict
from apps.policies.models import Policy
from apps.policies.selectors import active_policy
from apps.policies.services import activate, go_back
from apps.workflows.models import Workflow
from tests.calibration.certificates import certificate_in_force, history
from tests.calibration.streams import REVIEWED, Past, insert_past, random_past
from tests.factories import NOW, RULES, make_policy

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

AGREED = [replace(REVIEWED, label="lead", answer="lead", p=0.8)] * 600
DISPUTED = [replace(REVIEWED, label="lead", answer="spam", p=0.7)] * 200
WEEK = timedelta(weeks=1)


def calibrate(workflow: Workflow, now: datetime = NOW, forced: Sequence[str] = ()) -> CalibrationRun:
    run = run_calibration(
        workflow=workflow, trigger=CalibrationRun.Trigger.ASKED, user=None, now=now, forced=forced
    )
    return CalibrationRun.objects.get(pk=run.pk)


def result(run: CalibrationRun, label: str = "lead") -> dict[str, object]:
    found: dict[str, object] = next(each for each in run.results if each["label"] == label)
    return found


def next_attempt(workflow: Workflow) -> object:
    return look(workflow=workflow, now=NOW).entry("lead")["attempt"]


def lately(past: Sequence[Past], now: datetime) -> list[Past]:
    return [replace(each, at=now - timedelta(days=2)) for each in past]


def rules_of(policy: Policy | None, label: str = "lead") -> tuple[float, str]:
    assert policy is not None
    rule = policy.rules["labels"][label]
    return rule["threshold"], rule["autonomy"]


def test_it_works(workflow: Workflow) -> None:
    insert_past(workflow, AGREED + DISPUTED)
    run = calibrate(workflow)
    certificate = certificate_in_force(workflow, "lead")
    assert certificate is not None
    assert (certificate.attempt, round(certificate.delta, 6)) == (1, 0.030396)
    assert (max(certificate.certified), min(certificate.certified)) == (0.8, 0.71)
    assert certificate.sentence.startswith("With 95% confidence at most 5% of the items")
    assert rules_of(run.proposal) == (0.71, "audited")
    assert run.proposal is not None
    assert (run.proposal.status, run.proposal.note) == (
        "proposed",
        "Calibration of 2026-11-30. Qualified lead acts by itself from 71 %, a share is checked.",
    )
    assert rules_of(active_policy(workflow)) == (0.9, "suggest")


def test_a_proposal_takes_effect_when_activated_and_can_be_taken_back(workflow: Workflow) -> None:
    insert_past(workflow, AGREED)
    proposal = calibrate(workflow).proposal
    assert proposal is not None
    activate(policy=proposal, user=None, now=NOW)
    assert rules_of(active_policy(workflow)) == (0.5, "audited")
    assert certificate_in_force(workflow, "lead") is not None
    go_back(workflow=workflow, user=None, now=NOW)
    assert rules_of(active_policy(workflow)) == (0.9, "suggest")


@pytest.mark.parametrize("seed", range(6))
def test_stored_results_are_what_their_inputs_give(workflow: Workflow, seed: int) -> None:
    insert_past(workflow, random_past(seed, 1_500))
    run = calibrate(workflow)
    assert recompute(run) == run.results
    assert {each["label"] for each in run.results} == {"lead", "customer", "spam"}


def test_another_formula_is_not_recomputed(workflow: Workflow) -> None:
    run = calibrate(workflow)
    run.formula = "two-stratum-exact/0"
    with pytest.raises(Conflict, match="two-stratum-exact/0"):
        recompute(run)


def test_what_could_not_pass_spends_nothing(workflow: Workflow) -> None:
    insert_past(workflow, AGREED[:60])
    run = calibrate(workflow)
    assert result(run)["sentence"] == "Not enough checks yet: 60 of about 140. At the present rate: 1 week."
    assert (Certificate.objects.count(), next_attempt(workflow)) == (0, 1)


def test_an_attempt_that_fails_is_spent(workflow: Workflow) -> None:
    insert_past(workflow, AGREED + [replace(DISPUTED[0], p=0.8)] * 50)
    calibrate(workflow)
    failed = history(workflow, "lead").get()
    assert (failed.outcome, failed.certified, next_attempt(workflow)) == ("not_supported", [], 2)
    assert failed.sentence == "The checks do not support this target: 50 wrong of 650."


def test_too_early_is_a_reading(workflow: Workflow) -> None:
    insert_past(workflow, AGREED + [replace(DISPUTED[0], p=0.8)] * 50)
    calibrate(workflow)
    again = calibrate(workflow, NOW + timedelta(days=6))
    assert str(result(again)["sentence"]).startswith(
        "A reading, which certifies nothing: attempt 2 is due on 2026-12-07."
    )
    assert history(workflow, "lead").count() == 1
    calibrate(workflow, NOW + WEEK)
    assert history(workflow, "lead").count() == 2


def test_a_manager_can_spend_an_attempt_knowingly(workflow: Workflow) -> None:
    insert_past(workflow, AGREED + [replace(DISPUTED[0], p=0.8)] * 50)
    calibrate(workflow)
    calibrate(workflow, NOW + timedelta(days=1), forced=["lead"])
    assert [each.attempt for each in history(workflow, "lead")] == [2, 1]


def test_after_four_attempts_every_four_weeks(workflow: Workflow) -> None:
    insert_past(workflow, AGREED + [replace(DISPUTED[0], p=0.8)] * 50)
    for week in range(5):
        calibrate(workflow, NOW + week * WEEK)
    assert [each.attempt for each in history(workflow, "lead")] == [4, 3, 2, 1]
    assert "attempt 5 is due on 2027-01-18" in str(result(calibrate(workflow, NOW + 5 * WEEK))["sentence"])


def test_a_certificate_is_held_against_one_that_reaches_less(workflow: Workflow) -> None:
    insert_past(workflow, AGREED)
    calibrate(workflow)
    insert_past(workflow, lately(DISPUTED, NOW + 4 * WEEK), prefix="later")
    calibrate(workflow, NOW + 4 * WEEK)
    stricter, held = history(workflow, "lead")
    assert (stricter.certified[-1], stricter.ended_because) == (0.71, "held")
    assert (held.certified[-1], certificate_in_force(workflow, "lead")) == (0.5, held)


def test_one_that_reaches_as_far_renews_it(workflow: Workflow) -> None:
    insert_past(workflow, AGREED)
    calibrate(workflow)
    calibrate(workflow, NOW + 4 * WEEK)
    renewed, before = history(workflow, "lead")
    assert (before.ended_because, renewed.attempt, renewed.ended_at) == ("renewed", 2, None)
    assert renewed.expires_at == NOW + 16 * WEEK


def test_the_least_share_of_checks_wants_a_renewed_certificate(workflow: Workflow) -> None:
    insert_past(workflow, AGREED)
    first = calibrate(workflow).proposal
    assert first is not None
    activate(policy=first, user=None, now=NOW)
    assert calibrate(workflow, NOW + WEEK).proposal is None
    assert rules_of(calibrate(workflow, NOW + 4 * WEEK).proposal) == (0.5, "automatic")


def test_what_acts_below_its_certificate_is_tightened_at_once(workflow: Workflow) -> None:
    insert_past(workflow, [replace(each, label="spam", answer="spam", p=0.9) for each in AGREED])
    insert_past(
        workflow, [replace(each, label="spam", answer="lead", p=0.85) for each in DISPUTED], prefix="no"
    )
    run = calibrate(workflow)
    active, incident = active_policy(workflow), Incident.objects.get()
    assert rules_of(active, "spam") == (0.86, "audited")
    assert active is not None
    assert (active.activated_by, run.proposal) == (None, None)
    assert (incident.kind, incident.label, incident.policy_after) == ("tightened", "spam", active)


def test_costs_make_it_stricter_never_laxer(workflow: Workflow) -> None:
    Policy.objects.update(status="retired")
    costs = {"lead": {"customer": 4.0, "spam": 4.0, "other": 8.0}}
    make_policy(workflow, RULES | {"costs": costs}, version=2)
    insert_past(workflow, AGREED)
    assert rules_of(calibrate(workflow).proposal) == (0.75, "audited")


@pytest.mark.parametrize(("above", "proposed"), [(60, None), (130, (0.88, "audited"))])
def test_a_cost_threshold_above_is_an_attempt_of_its_own(
    workflow: Workflow, above: int, proposed: tuple[float, str] | None
) -> None:
    Policy.objects.update(status="retired")
    make_policy(
        workflow, RULES | {"costs": {"lead": dict.fromkeys(["customer", "spam", "other"], 8.0)}}, version=2
    )
    insert_past(workflow, AGREED + [replace(AGREED[0], p=0.9)] * above)
    run = calibrate(workflow)
    of_costs, walk = history(workflow, "lead")
    assert (walk.attempt, walk.certified[0], of_costs.attempt) == (1, 0.8, 2)
    assert certificate_in_force(workflow, "lead") == (of_costs if proposed else walk)
    assert of_costs.sentence.startswith("Acting costs less than a review from 0.88 only.")
    assert (rules_of(run.proposal) if run.proposal else None) == proposed


def test_the_proposal_of_an_earlier_run_is_not_repeated(workflow: Workflow) -> None:
    insert_past(workflow, AGREED)
    first = calibrate(workflow).proposal
    assert calibrate(workflow, NOW + WEEK).proposal == first
    assert workflow.policies.count() == 2


def test_two_who_ask_at_once_get_one_run(workflow: Workflow) -> None:
    insert_past(workflow, AGREED)
    assert calibrate(workflow).pk == calibrate(workflow, NOW + timedelta(seconds=2)).pk


def test_without_a_policy_it_is_refused(workflow: Workflow) -> None:
    Policy.objects.update(status="retired")
    with pytest.raises(Conflict, match="no policy in force"):
        calibrate(workflow)


def test_what_was_computed_never_changes(workflow: Workflow) -> None:
    insert_past(workflow, AGREED)
    calibrate(workflow)
    with pytest.raises(IntegrityError, match="never edited"), transaction.atomic():
        CalibrationRun.objects.update(results=[])
    with pytest.raises(IntegrityError, match="written once"), transaction.atomic():
        Certificate.objects.update(certified=[0.5])


def test_a_label_relies_on_one_certificate(workflow: Workflow) -> None:
    insert_past(workflow, AGREED)
    calibrate(workflow)
    second = certificate_in_force(workflow, "lead")
    assert second is not None
    second.pk = None
    with pytest.raises(IntegrityError, match="certificate_one_in_force"), transaction.atomic():
        second.save(force_insert=True)


def test_other_choices_are_another_run(workflow: Workflow) -> None:
    first = calibrate(workflow)
    CalibrationSettings.objects.create(workflow=workflow, confidence=0.9)
    assert calibrate(workflow, NOW + timedelta(seconds=2)).pk != first.pk
