"""Passing an item on from the desk, as the browser does it."""

from __future__ import annotations

from apps.accounts.models import User
from apps.reviews.models import Lease, ReviewTask, TaskEvent
from apps.workflows.models import Workflow
from tests.conftest import SignIn
from tests.factories import make_task
from tests.reviews.desk_forms import DESK, HTMX, lease_on, open_desk

INSIDE = {"HX-Request": "true", "HX-Target": "hand-over"}


def test_it_works(signed_in: SignIn, rosa: User, ravi: User, workflow: Workflow) -> None:
    task = make_task(workflow)
    client = signed_in(rosa)
    form = {"lease": str(lease_on(open_desk(client))), "to": "ravi", "why": "Speaks Dutch"}
    page = client.post(f"{DESK}hand-over/send/", form, headers=HTMX).content.decode()
    assert "Nothing for you now" in page
    theirs = open_desk(signed_in(ravi))
    assert task.item.external_id in theirs
    assert "Handed to you" in theirs
    assert "Speaks Dutch" in theirs


def test_the_form_is_fetched_and_names_who_could(
    signed_in: SignIn, rosa: User, ravi: User, workflow: Workflow
) -> None:
    make_task(workflow)
    client = signed_in(rosa)
    lease = lease_on(open_desk(client))
    page = client.get(f"{DESK}hand-over/?lease={lease}", headers=INSIDE).content.decode()
    assert '<option value="ravi">' in page
    assert '<option value="rosa">' not in page
    assert "<html" not in page
    assert "<html" in client.get(f"{DESK}hand-over/?lease={lease}").content.decode()


def test_nobody_sees_the_form_of_anothers_item(
    signed_in: SignIn, rosa: User, ravi: User, workflow: Workflow
) -> None:
    make_task(workflow)
    lease = lease_on(open_desk(signed_in(rosa)))
    assert signed_in(ravi).get(f"{DESK}hand-over/?lease={lease}").status_code == 404


def test_without_a_note_or_a_person_what_was_typed_stays(
    signed_in: SignIn, rosa: User, ravi: User, workflow: Workflow
) -> None:
    make_task(workflow)
    client = signed_in(rosa)
    form = {"lease": str(lease_on(open_desk(client))), "to": "nobody", "why": "Typed with care"}
    answer = client.post(f"{DESK}hand-over/send/", form, headers=HTMX)
    assert answer.status_code == 422
    assert "Typed with care" in answer.content.decode()
    assert Lease.objects.exists()


def test_a_hold_that_is_gone_keeps_the_note(
    signed_in: SignIn, rosa: User, ravi: User, workflow: Workflow
) -> None:
    make_task(workflow)
    client = signed_in(rosa)
    form = {"lease": str(lease_on(open_desk(client))), "to": "ravi", "why": "Typed with care"}
    Lease.objects.all().delete()
    answer = client.post(f"{DESK}hand-over/send/", form, headers=HTMX)
    assert answer.status_code == 409
    assert "Typed with care" in answer.content.decode()


def test_escalating_needs_a_note(signed_in: SignIn, rosa: User, mara: User, workflow: Workflow) -> None:
    make_task(workflow)
    client = signed_in(rosa)
    form = {"lease": str(lease_on(open_desk(client))), "why": " "}
    assert client.post(f"{DESK}escalate/", form, headers=HTMX).status_code == 422
    assert client.post(f"{DESK}escalate/", form | {"why": "A threat?"}, headers=HTMX).status_code == 200
    assert ReviewTask.objects.get().stage == "escalated"
    assert "A threat?" in open_desk(signed_in(mara))


def test_who_it_would_go_to_is_not_offered_to_escalate(
    signed_in: SignIn, rosa: User, mara: User, workflow: Workflow
) -> None:
    make_task(workflow)
    assert "review/escalate/" in open_desk(signed_in(rosa))
    Lease.objects.all().delete()
    assert "review/escalate/" not in open_desk(signed_in(mara))


def test_giving_back_leads_to_the_queue(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    make_task(workflow)
    client = signed_in(rosa)
    answer = client.post(f"{DESK}give-back/", {"lease": str(lease_on(open_desk(client)))})
    assert answer.headers["Location"] == f"{DESK}queue/"
    assert not Lease.objects.exists()


def test_nobody_passes_on_through_another_workflow(
    signed_in: SignIn, rosa: User, ravi: User, workflow: Workflow, other_workflow: Workflow
) -> None:
    make_task(workflow)
    lease = lease_on(open_desk(signed_in(rosa)))
    other_workflow.memberships.create(user=rosa, role="reviewer")
    form = {"lease": str(lease), "to": "ravi", "why": "x"}
    for way in ("hand-over/send/", "escalate/", "give-back/"):
        signed_in(rosa).post(f"/w/elsewhere/review/{way}", form)
    assert Lease.objects.filter(token=lease).exists()
    assert not TaskEvent.objects.exists()


def test_next_obeys_the_filter(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    make_task(workflow, label="lead", priority=5)
    spam, last = make_task(workflow, label="spam"), make_task(workflow, label="spam")
    client = signed_in(rosa)
    page = open_desk(client, f"{DESK}?label=spam")
    assert spam.item.external_id in page
    assert 'name="filter" value="label=spam"' in page
    form = {"lease": str(lease_on(page)), "q:intent": "o:spam", "filter": "label=spam"}
    page = client.post(f"{DESK}submit/", form, headers=HTMX).content.decode()
    assert last.item.external_id in page
    form |= {"lease": str(lease_on(page))}
    page = client.post(f"{DESK}submit/", form, headers=HTMX).content.decode()
    assert "1 is outside the filter" in " ".join(page.split())


def test_without_a_script_the_filter_stands_in_the_address(
    signed_in: SignIn, rosa: User, workflow: Workflow
) -> None:
    make_task(workflow)
    client = signed_in(rosa)
    lease = lease_on(open_desk(client))
    sent = {"lease": str(lease), "q:intent": "o:spam", "filter": "label=spam"}
    assert client.post(f"{DESK}submit/", sent).headers["Location"] == f"{DESK}?label=spam"


def test_a_filter_that_cannot_be_read_is_explained(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    make_task(workflow)
    answer = signed_in(rosa).get(f"{DESK}?older_than_h=soon", follow=True)
    assert answer.status_code == 422
    assert "whole number" in answer.content.decode()
    assert not Lease.objects.exists()
