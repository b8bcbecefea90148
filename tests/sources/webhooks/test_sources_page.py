"""The Sources page: what it tells of each source, and the three things that can be done there."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse

from apps.accounts.models import User
from apps.sources.mailbox.cursors import Cursor, Place
from apps.sources.models import Delivery, Source
from apps.sources.selectors import source_states, sources_of
from apps.sources.webhooks.working import KEPT, sweep_deliveries, work_off_deliveries
from apps.workflows.models import Workflow
from tests.conftest import SignIn
from tests.factories import NOW
from tests.sources.webhooks.conftest import Sender, make_webhook, make_whatsapp

ITEM = {"external_id": "a-1", "state": "Hello"}


def page(workflow: Workflow, mara: User, signed_in: SignIn) -> str:
    response = signed_in(mara).get(reverse("sources:overview", args=[workflow.slug]))
    assert response.status_code == 200
    return response.content.decode()


def post(mara: User, signed_in: SignIn, name: str, *args: Any) -> Any:
    return signed_in(mara).post(reverse(f"sources:{name}", args=args))


def refused(sender: Sender) -> Delivery:
    sender.post(b"no json", id="msg_bad")
    work_off_deliveries(now=lambda: NOW)
    return Delivery.objects.get(message_id="msg_bad")


def test_it_works(webhook: Sender, workflow: Workflow, mara: User, signed_in: SignIn) -> None:
    refused(webhook)
    shown = page(workflow, mara, signed_in)
    for words in (
        f"http://testserver{webhook.url}",
        "HOOK_SECRET",
        "Working",
        "Not taken: not JSON",
        "msg_bad",
    ):
        assert words in shown


def test_without_sources_it_says_how_to_add_one(workflow: Workflow, mara: User, signed_in: SignIn) -> None:
    shown = page(workflow, mara, signed_in)
    assert "No source yet" in shown
    assert f"add_source --workflow {workflow.slug} --kind webhook" in shown


def test_no_secret_is_shown(webhook: Sender, workflow: Workflow, mara: User, signed_in: SignIn) -> None:
    make_whatsapp(workflow)
    shown = page(workflow, mara, signed_in)
    assert "META_VERIFY" in shown
    assert not [each for each in ("whsec_", "app secret of meta", "token of the handshake") if each in shown]


def test_a_name_is_text(workflow: Workflow, mara: User, signed_in: SignIn) -> None:
    Source.objects.create(workflow=workflow, name="<script>x</script>", kind="imap", settings={"host": "<b>"})
    shown = page(workflow, mara, signed_in)
    assert ("<script>x" in shown, "&lt;script&gt;x" in shown, "&lt;b&gt;" in shown) == (False, True, True)


def test_a_mailbox_tells_how_far_it_is(workflow: Workflow, mara: User, signed_in: SignIn) -> None:
    cursor = Cursor(read=3, new=2, refused=1, folders={"Verträge": Place(validity=1, uid=9, mails=12)})
    more = {"settings": {"host": "imap.example.org"}, "error": "The password was refused."}
    Source.objects.create(workflow=workflow, name="desk", kind="imap", cursor=cursor.to_json(), **more)
    shown = page(workflow, mara, signed_in)
    for words in (
        "In trouble",
        "The password was refused.",
        "3 mails: 2 new items, 1 not taken",
        "Verträge",
        "12 mails",
    ):
        assert words in shown


def test_pausing_and_resuming(webhook: Sender, workflow: Workflow, mara: User, signed_in: SignIn) -> None:
    where = (workflow.slug, webhook.source.pk)
    assert post(mara, signed_in, "source_pause", *where).status_code == 302
    assert "Paused" in page(workflow, mara, signed_in)
    assert post(mara, signed_in, "source_resume", *where).status_code == 302
    assert not Source.objects.get().is_paused


def test_a_refused_one_is_worked_off_again(
    webhook: Sender, workflow: Workflow, mara: User, signed_in: SignIn
) -> None:
    delivery = refused(webhook)
    assert post(mara, signed_in, "delivery_again", workflow.slug, delivery.pk).status_code == 302
    delivery.refresh_from_db()
    assert (delivery.status, delivery.attempts) == ("pending", 0)


def test_one_that_is_done_is_not(webhook: Sender, workflow: Workflow, mara: User, signed_in: SignIn) -> None:
    webhook.post(ITEM)
    work_off_deliveries(now=lambda: NOW)
    client, here = (
        signed_in(mara),
        reverse("sources:delivery_again", args=[workflow.slug, Delivery.objects.get().pk]),
    )
    assert "is not refused any more" in client.post(here, follow=True).content.decode()
    assert Delivery.objects.get().status == "done"


@pytest.mark.parametrize("name", ["source_pause", "source_resume"])
def test_a_source_of_another_workflow_is_not_there(
    name: str, workflow: Workflow, other_workflow: Workflow, mara: User, signed_in: SignIn
) -> None:
    theirs = make_webhook(other_workflow)
    assert post(mara, signed_in, name, workflow.slug, theirs.pk).status_code == 404
    assert not Source.objects.get().is_paused


def test_a_delivery_of_another_workflow_is_not_there(
    workflow: Workflow, other_workflow: Workflow, mara: User, signed_in: SignIn
) -> None:
    theirs = refused(Sender(make_webhook(other_workflow)))
    assert post(mara, signed_in, "delivery_again", workflow.slug, theirs.pk).status_code == 404


def test_counts_are_of_a_day(webhook: Sender, workflow: Workflow) -> None:
    webhook.post(ITEM)
    refused(webhook)
    Delivery.objects.create(
        source=webhook.source,
        message_id="old",
        sha256="",
        body=b"",
        status="done",
        items=7,
        received_at=NOW - KEPT,
    )
    now = Delivery.objects.latest("received_at").received_at
    (shown,) = sources_of(workflow, now=now)
    assert (shown.items, shown.refused, shown.waiting, len(shown.deliveries)) == (1, 1, 0, 3)


def test_a_secret_that_is_missing_is_told(webhook: Sender) -> None:
    ((_, state),) = source_states(now=NOW, environment={})
    assert (state.is_ok, state.detail) == (False, "Not set here: HOOK_SECRET.")


def test_what_waits_too_long_is_told(webhook: Sender, workflow: Workflow) -> None:
    webhook.post(ITEM)
    later = Delivery.objects.get().received_at + timedelta(minutes=11)
    ((_, state),) = source_states(workflow, now=later)
    assert (state.is_ok, state.words) == (False, "Behind")


def test_old_ones_are_swept_and_waiting_ones_kept(webhook: Sender) -> None:
    refused(webhook)
    webhook.post(ITEM)
    Delivery.objects.update(received_at=NOW - KEPT - timedelta(seconds=1))
    sweep_deliveries(now=NOW)
    assert Delivery.objects.get().status == "pending"
