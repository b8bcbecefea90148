from __future__ import annotations

from datetime import UTC, datetime

import pytest

from apps.items.models import Item, ItemContent, Mail
from apps.pipeline.intake import Intake
from apps.sources.mail.adding import add_mails
from apps.sources.mail.parsing import parse_mail
from apps.workflows.models import Workflow

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 30, 9, tzinfo=UTC)


def mail(text: str, *headers: str) -> bytes:
    lines = ["From: Ada <ada@farm.example>", "Subject: Milk", "Message-ID: <1@farm.example>", *headers]
    return ("\r\n".join([*lines, "", text])).encode()


def add(workflow: Workflow, *raws: bytes) -> Intake:
    return add_mails(workflow=workflow, mails=[parse_mail(raw) for raw in raws], source="mail", now=NOW)


def test_it_works(workflow: Workflow) -> None:
    intake = add(workflow, mail("Two litres, please.\r\n-- \r\nAda"))
    assert (intake.created, intake.refused) == (1, ())
    item = Item.objects.get()
    assert (item.external_id, item.group_key, item.title) == ("1@farm.example", "1@farm.example", "Milk")
    state = {"from": "Ada <ada@farm.example>", "subject": "Milk", "body": "Two litres, please."}
    assert ItemContent.objects.get().state == state
    assert [part["kind"] for part in Mail.objects.get().parts] == ["body", "signature"]


def test_the_same_mail_again_is_existing(workflow: Workflow) -> None:
    add(workflow, mail("Hello"))
    assert (add(workflow, mail("Hello"), mail("Hello")).existing, Item.objects.count()) == (2, 1)


def test_a_message_id_taken_by_another_mail_loses_none(workflow: Workflow) -> None:
    other = parse_mail(mail("Pay here!"))
    for _ in range(2):
        intake = add(workflow, mail("Hello"), mail("Pay here!"))
        assert (len(intake.added), intake.refused) == (2, ())
    item = Item.objects.get(external_id=f"1@farm.example#{other.sha256[:12]}")
    assert "has the same Message-ID" in item.content.repairs[-1]
    assert Item.objects.count() == 2


def test_what_is_read_otherwise_today_is_the_same_mail(workflow: Workflow) -> None:
    raw = mail("Yes.\r\n\r\nOn 3 May 2026 Bob wrote:\r\n> Tea?")
    add(workflow, raw)
    workflow.reads_quoted = True
    # A copy with other line ends, as another program would save it.
    intake = add(workflow, raw, raw.replace(b"\r\n", b"\n"))
    assert (intake.existing, Item.objects.count()) == (2, 1)
