from __future__ import annotations

import io
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from apps.sources.configuring import save_source
from apps.sources.models import Source
from apps.workflows.models import Workflow
from tests.sources.mailbox.conftest import mail
from tests.sources.mailbox.dovecot import PASSWORD, MailServerUser

pytestmark = pytest.mark.django_db
MAILBOX = ["host=imap.example.org", "user=desk@example.org", "password_variable=MAILBOX_PASSWORD"]


def add(*settings: str, kind: str | None = "imap", name: str = "desk", **more: Any) -> str:
    out = io.StringIO()
    options = {"workflow": "leads", "name": name, "kind": kind, "set": list(settings)} | more
    call_command("add_source", stdout=out, stderr=out, **options)
    return out.getvalue()


def tried(user: MailServerUser) -> str:
    more: dict[str, Any] = {"try": True}
    return add(*(f"{key}={value}" for key, value in user.settings.items()), **more)


def test_it_works(workflow: Workflow) -> None:
    said = add(*MAILBOX, "port=143", "tls=starttls", "folders=INBOX", "folders=Orders")
    settings = Source.objects.get(workflow=workflow, name="desk", kind="imap").settings
    assert "desk is added: Mailbox (IMAP)." in said
    assert "MAILBOX_PASSWORD is not set here" in said
    assert (settings["port"], settings["tls"], settings["folders"]) == (143, "starttls", ["INBOX", "Orders"])


def test_again_changes_what_is_given_alone(workflow: Workflow) -> None:
    add(*MAILBOX, "since=2026-11-01")
    Source.objects.update(cursor={"read": 3})
    assert "desk is there" in add(*MAILBOX)
    add("poll_seconds=300", kind=None)
    desk = Source.objects.get()
    assert (desk.settings["since"], desk.settings["poll_seconds"], desk.cursor) == (
        "2026-11-01",
        300,
        {"read": 3},
    )


def test_another_mailbox_is_read_from_the_start(workflow: Workflow) -> None:
    add(*MAILBOX)
    Source.objects.update(cursor={"read": 3}, error="x", failures_in_a_row=2)
    add("user=other@example.org")
    desk = Source.objects.get()
    assert (desk.cursor, desk.error, desk.failures_in_a_row) == ({}, "", 0)


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ("port=70000", "port: must be less than or equal to 65535"),
        ("port=imap", "port: must be a valid integer"),
        ("tls=none", 'tls: can be "none" for this very machine only'),
        ("tls=ssl", "tls: must be 'tls', 'starttls' or 'none'"),
        ("host=https://imap.example.org", "host: has a form that is not allowed"),
        ("password_variable=secret word", "password_variable: has a form that is not allowed"),
        ("since=yesterday", "since: must be a day such as 2026-11-30"),
        ("since=20261130", "since: must be a day such as 2026-11-30"),
        ("poll_seconds=1", "poll_seconds: must be greater than or equal to 15"),
        ("password=secret", "password: is not known here"),
        ("user=a\x00b", "user: must be visible characters"),
        ("folders=", "folders[0]: must not be empty"),
        ("secret", "is not KEY=VALUE"),
    ],
)
def test_what_cannot_be_meant(workflow: Workflow, setting: str, why: str) -> None:
    with pytest.raises(CommandError) as refusal:
        add(*MAILBOX, setting)
    assert why in str(refusal.value)
    assert not Source.objects.exists()


def test_an_address_to_post_to(workflow: Workflow) -> None:
    said = add("secret_variable=SHOP_SECRET", "whole_body=true", kind="webhook", name="shop")
    source = Source.objects.get()
    assert f"Post to /hooks/{source.public_id}/ of this site." in said
    assert source.settings == {"secret_variable": "SHOP_SECRET", "whole_body": True}


def test_another_kind_is_another_source(workflow: Workflow) -> None:
    add(*MAILBOX)
    with pytest.raises(CommandError, match="another kind: Mailbox"):
        add("secret_variable=SHOP_SECRET", kind="webhook")


def test_pause_resume_remove(workflow: Workflow) -> None:
    save_source(workflow=workflow, kind="webhook", name="shop", given={"secret_variable": ["SHOP"]})
    add(name="shop", kind=None, pause=True)
    assert Source.objects.get().is_paused
    add(name="shop", kind=None, resume=True)
    assert not Source.objects.get().is_paused
    assert "its items stay" in add(name="shop", kind=None, remove=True)
    with pytest.raises(CommandError, match="it has: none yet"):
        add(name="shop", kind=None, pause=True)


def test_trying_says_what_is_there(ann: MailServerUser, workflow: Workflow) -> None:
    ann.put(mail(1), mail(2))
    ann.client.create_folder("2026")
    said = tried(ann)
    assert f"{ann.settings['user']} is let in." in said
    assert "  INBOX: 2 (read)\n" in said
    assert "  2026: 0 (not read)\n" in said
    assert Source.objects.get().cursor == {}


def test_trying_says_why_not(
    ann: MailServerUser, workflow: Workflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAILBOX_PASSWORD", "guess")
    with pytest.raises(CommandError, match="does not let ann-") as refusal:
        tried(ann)
    assert PASSWORD not in str(refusal.value)
