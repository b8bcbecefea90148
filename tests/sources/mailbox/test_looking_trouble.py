"""Servers that cannot be reached, do not let in, or hang up: said in a sentence, tried later, nothing lost."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from datetime import timedelta

import pytest

from apps.items.models import Item
from apps.sources.mailbox.looking import look_at_next_mailbox
from apps.sources.models import Source
from apps.workflows.models import Workflow
from tests.factories import NOW
from tests.sources.mailbox.conftest import HangingUp, due, mail, make_mailbox
from tests.sources.mailbox.dovecot import PASSWORD, MailServerUser

pytestmark = pytest.mark.slow

Proxies = Callable[[bytes], HangingUp]
AFTER_FETCH = rb"OK Fetch completed[^\r]*\r\n"


def looked_at(source: Source) -> Source:
    look_at_next_mailbox(now=lambda: NOW)
    source.refresh_from_db()
    return source


def test_it_works_over_tls(ann: MailServerUser, workflow: Workflow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(ann.server.certificate))
    ann.put(mail(1))
    desk = make_mailbox(workflow, ann, port=ann.server.tls_port, tls="tls")
    assert (looked_at(desk).error, Item.objects.count()) == ("", 1)


def test_starttls(ann: MailServerUser, workflow: Workflow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(ann.server.certificate))
    ann.put(mail(1))
    assert (looked_at(make_mailbox(workflow, ann, tls="starttls")).error, Item.objects.count()) == ("", 1)


@pytest.mark.parametrize("tls", ["tls", "starttls"])
def test_a_certificate_that_is_not_trusted(ann: MailServerUser, workflow: Workflow, tls: str) -> None:
    port = ann.server.tls_port if tls == "tls" else ann.server.port
    desk = looked_at(make_mailbox(workflow, ann, port=port, tls=tls))
    assert desk.error.startswith(f"The certificate of 127.0.0.1:{port} is not trusted: self")


def test_tls_where_there_is_none(ann: MailServerUser, workflow: Workflow) -> None:
    desk = looked_at(make_mailbox(workflow, ann, tls="tls"))
    assert desk.error.endswith("WRONG_VERSION_NUMBER. Is it a port for TLS?")


def test_a_wrong_password(ann: MailServerUser, desk: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAILBOX_PASSWORD", "guess-7")
    assert f"does not let {ann.settings['user']} in: [AUTHENTICATIONFAILED]" in looked_at(desk).error
    assert (desk.failures_in_a_row, desk.next_look_at, desk.looked_at) == (
        1,
        NOW + timedelta(seconds=120),
        None,
    )
    Source.objects.update(failures_in_a_row=8)
    looked_at(due(desk))
    assert (desk.failures_in_a_row, desk.next_look_at) == (9, NOW + timedelta(hours=1))
    monkeypatch.setenv("MAILBOX_PASSWORD", PASSWORD)
    assert (looked_at(due(desk)).error, desk.failures_in_a_row) == ("", 0)


def test_a_variable_that_is_not_set(desk: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MAILBOX_PASSWORD")
    assert looked_at(desk).error == "the environment variable MAILBOX_PASSWORD is not set"


def test_nobody_there(ann: MailServerUser, workflow: Workflow) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        desk = looked_at(make_mailbox(workflow, ann, port=port))
    assert desk.error == f"Nothing answers at 127.0.0.1:{port}."


def test_a_name_that_nobody_has(ann: MailServerUser, workflow: Workflow) -> None:
    desk = looked_at(make_mailbox(workflow, ann, host="no-such-host.invalid", tls="tls"))
    assert desk.error == "No server is known by the name no-such-host.invalid."


def test_a_folder_that_is_missing_stops_no_other(ann: MailServerUser, workflow: Workflow) -> None:
    ann.put(mail(1))
    desk = looked_at(make_mailbox(workflow, ann, folders=["Gone", "INBOX"]))
    assert (desk.error.startswith("The folder Gone cannot be opened: "), Item.objects.count()) == (True, 1)
    assert (desk.failures_in_a_row, desk.next_look_at) == (0, NOW + timedelta(seconds=60))


@pytest.mark.slow
def test_hanging_up_after_every_fetch(ann: MailServerUser, workflow: Workflow, hanging_up: Proxies) -> None:
    ann.put(*(mail(number) for number in range(120)))
    proxy = hanging_up(AFTER_FETCH)
    desk = looked_at(make_mailbox(workflow, ann, port=proxy.port))
    assert (Item.objects.count(), desk.cursor["read"], desk.error) == (120, 120, "")
    assert proxy.connections >= 6  # sizes and mails of three batches


@pytest.mark.parametrize("cue", [rb"Logged in", rb"\* SEARCH"])
def test_hanging_up_earlier_is_a_failure(
    ann: MailServerUser, workflow: Workflow, hanging_up: Proxies, cue: bytes
) -> None:
    ann.put(mail(1))
    desk = looked_at(make_mailbox(workflow, ann, port=hanging_up(cue).port))
    assert "broke off" in desk.error
    desk.settings |= {"port": ann.server.port}
    desk.save()
    assert (looked_at(due(desk)).error, Item.objects.count()) == ("", 1)


def test_a_server_that_talks_nonsense(ann: MailServerUser, workflow: Workflow) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        desk = make_mailbox(workflow, ann, port=listener.getsockname()[1])
        answering = threading.Thread(target=_greet, args=(listener, b"220 smtp.example ESMTP\r\n"))
        answering.start()
        looked_at(desk)
        answering.join(timeout=10)
    assert (desk.failures_in_a_row, "127.0.0.1" in desk.error, PASSWORD in desk.error) == (1, True, False)


def _greet(listener: socket.socket, greeting: bytes) -> None:
    client, _ = listener.accept()
    with client:
        client.sendall(greeting)
