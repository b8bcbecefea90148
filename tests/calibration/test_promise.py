from __future__ import annotations

import pytest

from apps.accounts.models import User
from apps.calibration.looking import look
from apps.calibration.models import CalibrationSettings
from apps.workflows.models import Workflow
from tests.calibration.pages import shown_fields
from tests.conftest import SignIn
from tests.factories import NOW

pytestmark = pytest.mark.django_db

ADDRESS = "/w/leads/calibration/promise/"


def test_it_works(workflow: Workflow, mara: User, signed_in: SignIn) -> None:
    browser = signed_in(mara)
    shown = shown_fields(browser, ADDRESS)
    assert (shown["confidence"], shown["scope"]) == ("0.95", "per_label")
    response = browser.post(ADDRESS, {"confidence": "0.99", "scope": "all_labels"})
    assert response.status_code == 302
    chosen = CalibrationSettings.objects.get(workflow=workflow)
    assert (chosen.confidence, chosen.scope) == (0.99, "all_labels")


@pytest.mark.parametrize("confidence", ["0.79", "1", "nan", ""])
def test_another_confidence_is_refused(
    workflow: Workflow, mara: User, signed_in: SignIn, confidence: str
) -> None:
    response = signed_in(mara).post(ADDRESS, {"confidence": confidence, "scope": "per_label"})
    assert response.status_code == 422
    assert not CalibrationSettings.objects.exists()


def test_the_risk_is_shared_among_all_labels(workflow: Workflow) -> None:
    CalibrationSettings.objects.create(workflow=workflow, confidence=0.9, scope="all_labels")
    inputs = look(workflow=workflow, now=NOW).inputs
    promised = {"confidence": 0.9, "scope": "all_labels", "labels": 3}
    assert inputs["settings"] == promised | {"power": 0.8, "assumed": 0.5}
    # A third of 0.1, of which the first attempt spends 6 / pi².
    assert [round(entry["delta"], 6) for entry in inputs["labels"]] == [0.020264] * 3
