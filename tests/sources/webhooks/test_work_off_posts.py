"""What a signed post becomes, and what is said when it cannot."""

from __future__ import annotations

import base64
import io
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from PIL import Image

from apps.items.models import Attachment, Item
from apps.sources.models import Delivery
from apps.sources.tasks import sweep_deliveries as sweep_task
from apps.sources.tasks import work_off_deliveries as work_off_task
from apps.sources.webhooks.posts import read_items
from apps.sources.webhooks.reading import Look
from apps.sources.webhooks.working import MOST_ATTEMPTS, claim_delivery, work_again, work_off_deliveries
from apps.workflows.models import Workflow
from tests.factories import NOW
from tests.sources.webhooks.conftest import Sender, make_webhook

ITEM = {"external_id": "a-1", "state": "Hello"}


def worked_off(sender: Sender, body: Any, **more: Any) -> Delivery:
    delivery_id = sender.post(body, **more).json()["delivery"]
    work_off_deliveries(now=lambda: NOW)
    return Delivery.objects.get(pk=delivery_id)


def test_it_works(webhook: Sender) -> None:
    more = {
        "metadata": {"vip": True},
        "priority": 3,
        "group": "order 7",
        "received_at": "2026-11-29T08:00:00Z",
    }
    delivery = worked_off(webhook, ITEM | more)
    item = Item.objects.get()
    assert (delivery.status, delivery.items, bytes(delivery.body), delivery.note) == ("done", 1, b"", "")
    assert (item.external_id, item.source, item.metadata, item.priority) == (
        "a-1",
        "webhook",
        {"vip": True},
        3,
    )
    assert (item.group_key, item.received_at) == ("order 7", datetime(2026, 11, 29, 8, tzinfo=UTC))


def test_the_task_works_off_what_there_is(webhook: Sender) -> None:
    webhook.post(ITEM)
    work_off_task()
    sweep_task()
    assert (Delivery.objects.get().status, Item.objects.count()) == ("done", 1)


def test_an_item_without_an_id_has_the_message_s(webhook: Sender) -> None:
    worked_off(webhook, {"state": {"subject": "Hi"}}, id="msg_77")
    assert Item.objects.get().external_id == "msg_77"


def test_an_envelope_is_opened(webhook: Sender) -> None:
    body = {"type": "ticket.created", "timestamp": "2026-11-28T10:00:00.123456Z", "data": {"state": "Help"}}
    worked_off(webhook, body)
    item = Item.objects.get()
    assert (item.external_id, item.received_at.day, item.title) == ("msg_1", 28, "Help")


def test_the_whole_body_is_the_item_where_the_source_says_so(workflow: Workflow) -> None:
    sender = Sender(make_webhook(workflow, whole_body=True))
    body = {"items": [{"sku": 7}], "subject": "Order 12", "type": "order", "data": {"state": "paid"}}
    worked_off(sender, body, id="evt_9")
    item = Item.objects.select_related("content").get()
    assert (item.external_id, item.title, item.content.state) == ("evt_9", "Order 12", body)


def test_good_rows_are_kept_and_bad_ones_named(webhook: Sender) -> None:
    rows = [ITEM, {"external_id": "a-2"}, ITEM | {"external_id": "a-3", "priority": "high"}, {"state": "x"}]
    delivery = worked_off(webhook, {"items": rows})
    assert (delivery.status, delivery.items, Item.objects.count()) == ("refused", 1, 1)
    assert "items[1].state: is missing" in delivery.note
    assert "items[2].priority: must be a whole number" in delivery.note
    assert "items[3].external_id: is missing" in delivery.note


def test_a_picture_comes_along(webhook: Sender) -> None:
    drawn = io.BytesIO()
    Image.new("RGB", (80, 80), "red").save(drawn, "PNG")
    url = "data:image/png;base64," + base64.b64encode(drawn.getvalue()).decode()
    delivery = worked_off(webhook, ITEM | {"images": [url]})
    assert (delivery.status, Attachment.objects.get().image is not None) == ("done", True)


MAIL = "From: Ana <ana@example.com>\r\nSubject: Lost\r\nMessage-ID: <m1@example.com>\r\n\r\nWhere is it?\r\n"


def test_a_raw_mail_is_an_item(webhook: Sender) -> None:
    assert worked_off(webhook, {"mail": MAIL}).status == "done"
    encoded = {"base64": base64.b64encode(MAIL.replace("Where", "When").encode()).decode()}
    assert worked_off(webhook, {"items": [{"mail": encoded}]}, id="msg_2").status == "done"
    first, second = Item.objects.order_by("pk")
    assert (first.external_id, first.title) == ("m1@example.com", "Lost")
    assert second.external_id.startswith("m1@example.com#")


def test_what_stands_beside_a_mail_wins(webhook: Sender) -> None:
    more = {"external_id": "t-9", "metadata": {"vip": True}, "group": "t", "priority": 2}
    assert worked_off(webhook, {"mail": MAIL} | more).status == "done"
    item = Item.objects.get()
    assert (item.external_id, item.group_key, item.priority) == ("t-9", "t", 2)
    assert (item.metadata["vip"], item.metadata["from"]) == (True, "ana@example.com")


def test_what_takes_too_long_to_look_at_is_named(workflow: Workflow) -> None:
    rows = {"items": [{"mail": MAIL}, ITEM]}
    reading = read_items(rows, workflow=workflow, message_id="m", look=Look(seconds=-1))
    assert [(each.path, "too long" in each.message) for each in reading.problems] == [("items[0]", True)]
    assert (len(reading.taken), reading.mails) == (1, [])


def test_an_id_taken_by_other_content_is_a_refusal(webhook: Sender) -> None:
    worked_off(webhook, ITEM)
    delivery = worked_off(webhook, ITEM | {"state": "Other"}, id="msg_2")
    assert (delivery.status, "state: differs" in delivery.note, Item.objects.count()) == ("refused", True, 1)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"hello", "not JSON"),
        (b"", "not JSON"),
        (b"[" * 100_000, "nested too deep"),
        (b"[" * 900 + b"]" * 900, "must be an object"),
        (b'{"state":' + b"[" * 400 + b"1" + b"]" * 400 + b"}", "nested"),
        (b'{"state": 1, "state": 2}', "stands twice"),
        (b'{"state": ' + b"9" * 5000 + b"}", "too many digits"),
        (b'{"state": "x", "metadata": {"n": NaN}}', "finite"),
        (b'{"state": "x", "\\ud800": 1}', "not known here"),
        (
            json.dumps({"items": [{"external_id": str(n), "state": "x"} for n in range(2000)]}).encode(),
            "1,000",
        ),
        (b'{"items": {}}', "must be an array"),
        (b'{"items": [], "else": 1}', "not empty"),
        (b'{"images": {"a": 1}, "state": "x"}', "images: must be an array"),
        (b'{"state": "x", "received_at": "yesterday"}', "received_at: must be a time"),
        (b'"text"', "must be an object"),
        (b'{"state": "x", "metadata": [1]}', "metadata: must be an object"),
        (b'{"state": "x", "external_id": 7}', "external_id: must be a text"),
        (b'{"state": 7}', "state: must be a text"),
        (b'{"mail": 7}', "mail: must be a text"),
        (b'{"mail": {"base64": "?"}}', "mail: is not base64"),
        (b'{"mail": "PK\\u0003\\u0004 a zip"}', "mail: "),
        (b'{"mail": "Subject: x", "state": "y"}', "state: cannot stand beside mail"),
    ],
)
def test_what_cannot_be_taken_says_why_and_is_kept(webhook: Sender, body: bytes, why: str) -> None:
    delivery = worked_off(webhook, body)
    assert (delivery.status, why in delivery.note, Item.objects.count()) == ("refused", True, 0), (
        delivery.note
    )
    assert bytes(delivery.body) == body


def test_a_name_chosen_by_a_stranger_does_not_hide_the_reasons(webhook: Sender) -> None:
    delivery = worked_off(webhook, {"items": [ITEM | {"x" * 5000: 1}, {"external_id": "b"}]})
    assert "x…: is not known here; items[1].state: is missing." in delivery.note


def test_characters_that_cannot_be_stored_are_replaced(webhook: Sender) -> None:
    worked_off(webhook, b'{"external_id": "n\\u0000", "state": {"a": "b\\ud800c"}}')
    item = Item.objects.select_related("content").get()
    assert (item.external_id, item.content.state) == ("n\ufffd", {"a": "b\ufffdc"})
    assert item.content.repairs == ["2 characters that cannot be stored were replaced."]


def test_a_paused_source_waits(webhook: Sender) -> None:
    webhook.source.is_paused = True
    webhook.source.save()
    assert worked_off(webhook, ITEM).status == "pending"
    webhook.source.is_paused = False
    webhook.source.save()
    assert (work_off_deliveries(now=lambda: NOW), Item.objects.count()) == (1, 1)


def test_a_claimed_delivery_is_nobody_elses(webhook: Sender) -> None:
    webhook.post(ITEM)
    assert claim_delivery() is not None
    assert claim_delivery() is None


POISON = """
    CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'broken'; END $$;
    CREATE TRIGGER poison BEFORE INSERT ON items_item FOR EACH ROW WHEN (NEW.external_id = 'poison')
    EXECUTE FUNCTION poison();
"""


def test_one_that_breaks_is_tried_later_and_stops_no_other(webhook: Sender) -> None:
    with connection.cursor() as cursor:
        cursor.execute(POISON)
    webhook.post(ITEM | {"external_id": "poison"}, id="bad")
    good, bad = worked_off(webhook, ITEM, id="good"), Delivery.objects.get(message_id="bad")
    assert (good.status, bad.status, bad.attempts, bytes(bad.body) != b"") == ("done", "pending", 1, True)
    assert "while it was worked off" in bad.note
    assert bad.next_try_at is not None
    assert 0 < (bad.next_try_at - timezone.now()).total_seconds() < 16


def test_workers_that_die_at_it_give_it_up(webhook: Sender) -> None:
    webhook.post(ITEM)
    Delivery.objects.update(attempts=MOST_ATTEMPTS)
    work_off_deliveries(now=lambda: NOW)
    delivery = Delivery.objects.get()
    assert (delivery.status, delivery.note) == ("refused", f"Given up after {MOST_ATTEMPTS} tries.")


def test_a_refused_one_is_worked_off_again(webhook: Sender) -> None:
    webhook.source.settings = {"nothing": "known"}
    webhook.source.save()
    delivery = Delivery.objects.create(
        source=webhook.source,
        message_id="m",
        sha256="0" * 64,
        body=json.dumps(ITEM).encode(),
        received_at=NOW,
    )
    work_off_deliveries(now=lambda: NOW)
    delivery.refresh_from_db()
    assert (delivery.status, "secret_variable" in delivery.note) == ("refused", True)
    webhook.source.settings = {"secret_variable": "HOOK_SECRET"}
    webhook.source.save()
    work_again(delivery=delivery)
    work_off_deliveries(now=lambda: NOW + timedelta(hours=1))
    delivery.refresh_from_db()
    assert (delivery.status, delivery.items, delivery.note) == ("done", 1, "")
