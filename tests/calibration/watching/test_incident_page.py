from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.calibration.models import Incident
from apps.calibration.watching.incidents import Finding, open_incident
from apps.calibration.watching.watching import watch_alarms
from apps.items.models import Item
from apps.workflows.models import Workflow
from tests.calibration.streams import UNCHECKED, insert_past
from tests.calibration.watching.watched import mixed
from tests.conftest import SignIn
from tests.factories import NOW, make_task

pytestmark = pytest.mark.django_db

PAGE = "/w/leads/calibration/incidents/"


@pytest.fixture
def incident(workflow: Workflow) -> Incident:
    week = [replace(UNCHECKED, at=NOW - timedelta(days=1), p=0.9731)] * 60
    insert_past(workflow, [*mixed(80, 20), *week])
    (found,) = watch_alarms(workflow=workflow, now=NOW)
    return found


def address(incident: Incident) -> str:
    return f"{PAGE}{incident.pk}/"


def test_it_works(incident: Incident, mara: User, signed_in: SignIn) -> None:
    page = signed_in(mara).get(address(incident))
    shown = page.content.decode()
    assert page.status_code == 200
    for words in (incident.sentence, "60 items, 0 checked by people", "97.3", "nobody looked", "Evidence"):
        assert words in shown, words


def test_the_list_tells_which_are_open(incident: Incident, mara: User, signed_in: SignIn) -> None:
    shown = signed_in(mara).get(PAGE).content.decode()
    assert "Alarm: target broken" in shown
    assert "Open</span>" in shown


def test_items_are_paged(incident: Incident, mara: User, signed_in: SignIn) -> None:
    browser = signed_in(mara)
    first = browser.get(address(incident))
    assert len(first.context["items"]) == 50
    second = browser.get(address(incident) + first.context["older"])
    seen = {route.pk for page in (first, second) for route, _, _ in page.context["items"]}
    assert len(seen) == 60


@pytest.mark.parametrize("before", ["-1", "x", "9" * 40, "", "²"])
def test_a_place_that_is_none_is_the_first(
    incident: Incident, mara: User, signed_in: SignIn, before: str
) -> None:
    page = signed_in(mara).get(address(incident), {"before": before})
    assert page.status_code == 200
    assert len(page.context["items"]) == 50


def test_who_may_be_asked_blind_does_not_see_the_item(
    incident: Incident, workflow: Workflow, mara: User, signed_in: SignIn
) -> None:
    task = make_task(workflow, kind="audit")
    Incident.objects.update(opened_at=NOW + timedelta(minutes=1))
    shown = signed_in(mara).get(address(incident)).content.decode()
    assert "1 more waits for a blind check" in shown
    assert f"/items/{task.item_id}/" not in shown


def test_closing_needs_a_note(incident: Incident, mara: User, signed_in: SignIn) -> None:
    page = signed_in(mara).post(f"{address(incident)}close/", {"note": "  "})
    assert page.status_code == 422
    assert "must have 1 to 500 characters" in page.content.decode()
    incident.refresh_from_db()
    assert incident.closed_at is None


def test_closed_it_keeps_who_and_why(incident: Incident, mara: User, signed_in: SignIn) -> None:
    page = signed_in(mara).post(f"{address(incident)}close/", {"note": "A <b>new</b> form"}, follow=True)
    assert "A &lt;b&gt;new&lt;/b&gt; form" in page.content.decode()
    incident.refresh_from_db()
    assert (incident.closed_by, incident.note) == (mara, "A <b>new</b> form")


def test_of_two_who_close_it_the_second_is_told(incident: Incident, mara: User, signed_in: SignIn) -> None:
    browser = signed_in(mara)
    browser.post(f"{address(incident)}close/", {"note": "Seen"})
    page = browser.post(f"{address(incident)}close/", {"note": "Seen as well"})
    assert page.status_code == 409
    assert "It was closed meanwhile by mara." in page.content.decode()


def test_an_incident_of_another_workflow_is_not_there(
    incident: Incident, other_workflow: Workflow, mara: User, signed_in: SignIn
) -> None:
    found = Finding(Incident.Kind.CHANGED, Incident.Level.ALARM, "", "", {}, "Changed.")
    other = open_incident(workflow=other_workflow, found=found, now=NOW)
    assert other is not None
    assert signed_in(mara).get(address(other)).status_code == 404
    assert signed_in(mara).get(f"{PAGE}{2**70}/").status_code == 404


def test_the_overview_shows_what_is_open(incident: Incident, mara: User, signed_in: SignIn) -> None:
    browser = signed_in(mara)
    assert incident.sentence in browser.get("/w/leads/insights/").content.decode()
    Incident.objects.update(closed_at=timezone.now())
    assert incident.sentence not in browser.get("/w/leads/insights/").content.decode()


def test_held_items_are_not_in_the_list(incident: Incident, mara: User, signed_in: SignIn) -> None:
    held = Item.objects.order_by("-pk").first()
    assert held is not None
    held.routes.update(superseded_at=NOW)
    assert signed_in(mara).get(address(incident)).context["accepted"] == 59
