from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from apps.core.errors import Conflict
from apps.outbox.models import Event, Sending, Subscription
from apps.outbox.sending import send_next
from apps.outbox.services import (
    KEPT,
    emit,
    emit_all,
    pause,
    resume,
    send_again,
    sweep_events,
    wanted_types,
    withdraw,
)
from apps.workflows.models import Workflow
from tests.factories import NOW
from tests.outbox.conftest import subscribe
from tests.outbox.receiver import receiving


def alarm(workflow: Workflow) -> Event:
    return emit(workflow=workflow, type="alarm.raised", data={"text": "Spam"}, now=NOW)


def test_it_works(workflow: Workflow, other_workflow: Workflow) -> None:
    wants = subscribe(workflow, "https://a.example/", "alarm.raised", "item.settled")
    subscribe(workflow, "https://b.example/", "policy.activated")
    subscribe(workflow, "https://c.example/", "alarm.raised", is_active=False)
    subscribe(other_workflow, "https://d.example/", "alarm.raised")
    event = alarm(workflow)
    assert [each.subscription for each in event.sendings.all()] == [wants]
    assert event.data == {"workflow": "leads", "text": "Spam"}
    assert wanted_types(workflow) == {"alarm.raised", "item.settled", "policy.activated"}


def test_it_happens_with_what_it_tells_or_not_at_all(workflow: Workflow) -> None:
    subscribe(workflow, "https://a.example/", "alarm.raised")
    with transaction.atomic():
        alarm(workflow)
        transaction.set_rollback(True)
    assert not Event.objects.exists()


def test_what_is_taken_back_in_time_is_never_sent(workflow: Workflow) -> None:
    subscribe(workflow, "http://127.0.0.1:9/", "item.settled")
    data = [{"item": {"id": number}} for number in (1, 2)]
    later = timezone.now() + timedelta(seconds=10)
    emit_all(workflow=workflow, type="item.settled", data=data, now=NOW, not_before=later)
    assert not send_next(now=timezone.now)
    assert withdraw(workflow=workflow, type="item.settled", item_id=1) == 1
    assert [each.event.data["item"]["id"] for each in Sending.objects.all()] == [2]


def test_once_more_by_hand_is_the_same_id(workflow: Workflow) -> None:
    with receiving() as receiver:
        subscribe(workflow, receiver.url, "alarm.raised")
        alarm(workflow)
        send_next(now=timezone.now)
        send_again(sending=Sending.objects.get(), now=NOW)
        with pytest.raises(Conflict, match="already"):
            send_again(sending=Sending.objects.get(), now=NOW)
        send_next(now=timezone.now)
    assert len(receiver.received) == 2
    assert len({headers["webhook-id"] for headers, _ in receiver.received}) == 1
    assert Sending.objects.get().attempts.count() == 2


def test_paused_gets_nothing_and_resumed_what_waited(workflow: Workflow) -> None:
    with receiving() as receiver:
        subscription = subscribe(workflow, receiver.url, "alarm.raised")
        alarm(workflow)
        pause(subscription=subscription)
        alarm(workflow)
        assert not send_next(now=timezone.now)
        with pytest.raises(Conflict, match="switched off"):
            send_again(sending=Sending.objects.get(), now=NOW)
        resume(subscription=subscription)
        assert send_next(now=timezone.now)
    assert len(receiver.received) == 1


def test_resumed_forgets_what_was_in_the_way(workflow: Workflow) -> None:
    tomorrow = timezone.now() + timedelta(days=1)
    more = {"failures_in_a_row": 7, "paused_until": tomorrow, "error": "Answered 500."}
    subscription = subscribe(workflow, "http://127.0.0.1:9/", "alarm.raised", **more)
    alarm(workflow)
    Sending.objects.update(tries=3, next_try_at=tomorrow)
    resume(subscription=subscription)
    assert Sending.objects.get().next_try_at <= timezone.now()
    assert Subscription.objects.get().failures_in_a_row == 0


def test_old_events_go_and_what_waits_stays(workflow: Workflow) -> None:
    subscription = subscribe(workflow, "https://a.example/", "alarm.raised")
    waiting, sent, fresh = alarm(workflow), alarm(workflow), alarm(workflow)
    Sending.objects.filter(event__in=[sent, fresh]).update(status="sent")
    Event.objects.filter(pk=fresh.pk).update(created_at=NOW + timedelta(days=1))
    now = NOW + KEPT + timedelta(seconds=1)
    sweep_events(now=now)
    assert set(Event.objects.all()) == {waiting, fresh}
    pause(subscription=subscription)  # nobody waits for it any more
    sweep_events(now=now)
    assert set(Event.objects.all()) == {fresh}
