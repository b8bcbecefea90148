from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core import mail
from django.test import override_settings
from django.utils import timezone

from apps.outbox.letters import MOST_LINES, text_of
from apps.outbox.models import Event, Sending, Subscription
from apps.outbox.sending import send_next
from apps.outbox.services import emit
from apps.workflows.models import Workflow
from tests.factories import NOW
from tests.outbox.conftest import subscribe

NO_SERVER_HERE = {
    "EMAIL_BACKEND": "django.core.mail.backends.smtp.EmailBackend",
    "EMAIL_HOST": "127.0.0.1",
    "EMAIL_PORT": 9,
}


@pytest.fixture(autouse=True)
def _mail_server() -> Iterator[None]:
    with override_settings(EMAIL_HOST="mail.example.org", EMAIL_FROM="Fermata <desk@example.org>"):
        yield


def send_alarm(workflow: Workflow, **data: Any) -> Event:
    subscribe(workflow, "mara@example.org", "alarm.raised", kind="mail", secret_variable="")
    event = emit(workflow=workflow, type="alarm.raised", data=data, now=NOW)
    assert send_next(now=timezone.now)
    return event


def test_it_works(workflow: Workflow) -> None:
    event = send_alarm(workflow, text="Spam is wrong too often.", labels=["spam"], wrong={"of": 12, "are": 4})
    (letter,) = mail.outbox
    assert (letter.subject, letter.to) == ("Leads: Alarm", ["mara@example.org"])
    assert letter.body.startswith(
        "Spam is wrong too often.\n\nlabels: spam\nworkflow: leads\nwrong:\n  are: 4\n"
    )
    assert letter.message()["Message-ID"] == f"<{event.public_id}@example.org>"
    assert Sending.objects.get().status == "sent"


def test_a_name_cannot_write_headers(workflow: Workflow) -> None:
    workflow.name = "Leads\r\nBcc: all@example.org"
    workflow.save()
    send_alarm(workflow, text="x")
    (letter,) = mail.outbox
    assert letter.subject == "Leads Bcc: all@example.org: Alarm"
    assert letter.recipients() == ["mara@example.org"]


@override_settings(EMAIL_HOST="")
def test_without_a_server_it_says_so(workflow: Workflow) -> None:
    send_alarm(workflow, text="x")
    assert Subscription.objects.get().error == "Not sent: No mail server is configured (EMAIL_HOST)."
    assert mail.outbox == []


@override_settings(**NO_SERVER_HERE)
def test_a_server_that_is_away_is_tried_again(workflow: Workflow) -> None:
    send_alarm(workflow, text="x")
    sending = Sending.objects.get()
    assert sending.status == "pending"
    assert sending.attempts.get().error == "The mail server did not take it (ConnectionRefusedError)."


def test_a_mail_stays_short_enough_to_read(workflow: Workflow) -> None:
    data = {f"key_{number}": "x" * 10_000 for number in range(1_000)}
    text = text_of(Event(workflow=workflow, type="alarm.raised", data=data, created_at=NOW))
    assert len(text.splitlines()) < MOST_LINES + 10
    assert max(map(len, text.splitlines())) < 2_100
