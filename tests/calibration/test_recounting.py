"""A certificate that counted visible reviews does not silently stand once reviewers turn out to follow the model."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from apps.accounts.models import User
from apps.calibration.attempts import attempts_by_label
from apps.calibration.counting.evidence import basis_for
from apps.calibration.models import CalibrationRun, Certificate, Incident
from apps.calibration.night import look_tonight
from apps.calibration.running import recompute
from apps.outbox.models import Event
from apps.policies.services import activate
from apps.workflows.models import Workflow
from tests.calibration.certificates import certificate_in_force, history
from tests.calibration.counting.test_blind_reviews import at_desk, follow
from tests.calibration.streams import AUDITED, REVIEWED, insert_past
from tests.calibration.test_night import autonomy
from tests.calibration.test_running import calibrate
from tests.calibration.watching.watched import change_rules
from tests.conftest import SignIn
from tests.factories import NOW

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

SURE = replace(REVIEWED, label="lead", answer="lead", p=0.9)
UNSURE = replace(SURE, p=0.7)
CHECKED = replace(AUDITED, label="lead", answer="lead", p=0.9)
LATER = NOW + timedelta(weeks=2)


def certify(workflow: Workflow, user: User, *, blind: int, is_mixed: bool = False) -> Certificate:
    """Leads act by themselves, after 600 reviews, some of them blind. `is_mixed`: and after others of 70 %, of which
    only blind ones were changed, but too few to raise the flag."""
    more = [replace(UNSURE, answer="spam")] * 7 + [UNSURE] * 33 if is_mixed else []
    at_desk(workflow, user, [SURE] * blind + more, blind=True)
    at_desk(workflow, user, [SURE] * (600 - blind) + [UNSURE] * 10 * len(more), blind=False)
    proposal = calibrate(workflow).proposal
    assert proposal is not None
    activate(policy=proposal, user=None, now=NOW)
    certificate = certificate_in_force(workflow, "lead")
    assert certificate is not None
    return certificate


def raise_flag(workflow: Workflow, user: User) -> list[CalibrationRun]:
    follow(workflow, user, at=LATER - timedelta(days=2))
    return look_tonight(now=LATER)


def test_it_works(workflow: Workflow, rosa: User) -> None:
    certificate = certify(workflow, rosa, blind=60)
    assert raise_flag(workflow, rosa) != []
    certificate.refresh_from_db()
    assert (certificate.ended_because, certificate_in_force(workflow, "lead")) == ("recounted", None)
    assert autonomy(workflow) == "suggest"
    incident = Incident.objects.get(kind="anchored")
    assert incident.numbers["demoted"] == ["lead"]
    assert "and in 140 of 160 that did not" in incident.sentence
    assert incident.sentence.endswith("“Qualified lead” goes back to people.")


def test_its_page_shows_both_rates(workflow: Workflow, rosa: User, mara: User, signed_in: SignIn) -> None:
    certify(workflow, rosa, blind=60)
    raise_flag(workflow, rosa)
    incident = Incident.objects.get(kind="anchored")
    page = signed_in(mara).get(f"/w/leads/calibration/incidents/{incident.pk}/").content.decode()
    for words in ("140 of 160", "Agreed where it was hidden", "Qualified lead", "from blind answers"):
        assert words in page, words


def test_subscribers_are_told(workflow: Workflow, rosa: User) -> None:
    certify(workflow, rosa, blind=60)
    raise_flag(workflow, rosa)
    told = Event.objects.filter(type="alarm.raised").values_list("data__kind", flat=True)
    assert "anchored" in told


def test_what_blind_reviews_support_stands(workflow: Workflow, rosa: User) -> None:
    certificate = certify(workflow, rosa, blind=300)
    raise_flag(workflow, rosa)
    assert certificate_in_force(workflow, "lead") == certificate
    assert autonomy(workflow) == "audited"
    assert not Incident.objects.filter(kind="anchored").exists()


def test_without_the_flag_it_stands(workflow: Workflow, rosa: User) -> None:
    certificate = certify(workflow, rosa, blind=60)
    look_tonight(now=LATER)
    assert certificate_in_force(workflow, "lead") == certificate


def test_it_keeps_what_blind_reviews_support(workflow: Workflow, rosa: User) -> None:
    certificate = certify(workflow, rosa, blind=200, is_mixed=True)
    assert min(certificate.certified) < 0.7
    raise_flag(workflow, rosa)
    left = certificate_in_force(workflow, "lead")
    assert left is not None
    assert (left.run.trigger, max(left.certified), min(left.certified)) == ("recounted", 0.9, 0.71)


def test_a_certificate_counted_again_is_the_same_attempt(workflow: Workflow, rosa: User) -> None:
    old = certify(workflow, rosa, blind=200, is_mixed=True)
    raise_flag(workflow, rosa)
    left = history(workflow, "lead").first()
    assert left is not None
    assert (left.attempt, left.delta, left.issued_at, left.expires_at) == (1, old.delta, NOW, old.expires_at)
    basis = basis_for(workflow=workflow, now=LATER, weeks=8)
    assert basis is not None
    assert attempts_by_label(basis)["lead"].made == 1


def test_it_is_counted_again_once(workflow: Workflow, rosa: User) -> None:
    certify(workflow, rosa, blind=200, is_mixed=True)
    raise_flag(workflow, rosa)
    look_tonight(now=LATER + timedelta(days=1))
    assert CalibrationRun.objects.filter(trigger="recounted").count() == 1


def test_anybody_can_count_it_again(workflow: Workflow, rosa: User) -> None:
    certify(workflow, rosa, blind=200, is_mixed=True)
    raise_flag(workflow, rosa)
    run = CalibrationRun.objects.get(trigger="recounted")
    assert recompute(run) == run.results


def test_checks_since_then_take_it_up(workflow: Workflow, rosa: User) -> None:
    """They are blind, so the attempt that is due the same night certifies with them, and nobody is disturbed."""
    certify(workflow, rosa, blind=65)
    insert_past(workflow, [replace(CHECKED, at=LATER - timedelta(days=3))] * 1000, prefix="checked")
    raise_flag(workflow, rosa)
    certificate = certificate_in_force(workflow, "lead")
    assert certificate is not None
    assert (certificate.attempt, autonomy(workflow)) == (2, "audited")
    assert "stays certified" in Incident.objects.get(kind="anchored").sentence


def test_a_label_that_the_policy_names_no_more_breaks_no_night(workflow: Workflow, rosa: User) -> None:
    certify(workflow, rosa, blind=200, is_mixed=True)
    rules = workflow.policies.get(status="active").rules
    del rules["labels"]["lead"]
    change_rules(workflow, rules)
    assert raise_flag(workflow, rosa) != []
    assert Incident.objects.get(kind="anchored").numbers["demoted"] == []
