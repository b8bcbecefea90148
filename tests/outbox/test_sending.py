"""What is due is sent, tried again, given up; a receiver that takes nothing rests."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone
from standardwebhooks import Webhook

from apps.outbox.models import Attempt, Event, Sending, Subscription
from apps.outbox.posting import Outcome, post_event
from apps.outbox.sending import AT_ONCE, BEGUN, MOST_FAILURES, MOST_TRIES, claim, record, send_next
from apps.outbox.services import emit, emit_all
from apps.workflows.models import Workflow
from tests.factories import NOW
from tests.outbox.conftest import subscribe
from tests.outbox.receiver import SECRET, receiving

NOWHERE = "http://127.0.0.1:9/"


def activated(workflow: Workflow) -> Event:
    return emit(workflow=workflow, type="policy.activated", data={"version": 2}, now=NOW)


def send_all() -> int:
    """Rounds until nothing is due."""
    rounds = 0
    while send_next(now=timezone.now):
        rounds += 1
        assert rounds < 100
    return rounds


def make_due() -> None:
    Sending.objects.update(next_try_at=NOW)
    Subscription.objects.update(paused_until=None)


def test_it_works(workflow: Workflow) -> None:
    with receiving() as receiver:
        subscription = subscribe(workflow, receiver.url)
        event = activated(workflow)
        assert send_all() == 1
    ((headers, body),) = receiver.received
    assert headers["webhook-id"] == str(event.public_id)
    assert Webhook(SECRET).verify(body, headers)["data"] == {"workflow": "leads", "version": 2}
    sending = Sending.objects.get(subscription=subscription)
    assert (sending.status, sending.tries, sending.claim_token) == ("sent", 1, None)
    assert [(each.http_status, each.error) for each in sending.attempts.all()] == [(204, "")]


def test_it_is_sent_until_it_gets_through_with_one_id_and_one_body(workflow: Workflow) -> None:
    with receiving(lambda number: 500 if number < 2 else 200) as receiver:
        subscribe(workflow, receiver.url)
        activated(workflow)
        for _ in range(3):
            make_due()
            send_all()
    assert len({(headers["webhook-id"], body) for headers, body in receiver.received}) == 1
    sending = Sending.objects.get()
    assert (sending.status, sending.tries) == ("sent", 3)
    assert [each.http_status for each in sending.attempts.all()] == [500, 500, 200]
    assert Subscription.objects.get().failures_in_a_row == 0


def test_between_tries_it_waits_longer_and_longer_and_then_it_is_given_up(workflow: Workflow) -> None:
    subscribe(workflow, NOWHERE)
    activated(workflow)
    waits = []
    for _ in range(MOST_TRIES):
        make_due()
        assert send_next(now=timezone.now)
        waits.append(round((Sending.objects.get().next_try_at - timezone.now()).total_seconds(), -1))
    assert waits[:4] == [0, 300, 1_800, 7_200]
    assert Sending.objects.get().status == "given_up"
    assert Attempt.objects.count() == MOST_TRIES


def test_a_receiver_that_asks_for_time_gets_it(workflow: Workflow) -> None:
    with receiving(lambda number: 503, Retry_After="1000") as receiver:
        subscribe(workflow, receiver.url)
        activated(workflow)
        send_all()
    assert Sending.objects.get().next_try_at > timezone.now() + timedelta(seconds=900)


def test_who_takes_nothing_rests_and_is_asked_with_one_alone(workflow: Workflow) -> None:
    subscription = subscribe(workflow, NOWHERE)
    for _ in range(3):
        activated(workflow)
    assert send_all() == 1  # then it rests
    subscription.refresh_from_db()
    assert subscription.failures_in_a_row == 1
    assert subscription.paused_until is not None
    assert subscription.error == "The connection failed (ConnectionRefusedError)."
    make_due()
    send_all()
    assert Attempt.objects.count() == 3 + 1


def test_a_rest_keeps_nobody_else_waiting(workflow: Workflow) -> None:
    subscribe(workflow, NOWHERE)
    with receiving() as receiver:
        subscribe(workflow, receiver.url)
        activated(workflow)
        send_all()
    assert len(receiver.received) == 1


def test_gone_is_believed(workflow: Workflow) -> None:
    with receiving(lambda number: 410) as receiver:
        subscription = subscribe(workflow, receiver.url)
        activated(workflow)
        send_all()
        make_due()
        assert send_all() == 0
    subscription.refresh_from_db()
    assert not subscription.is_active
    assert "410" in subscription.error
    assert Sending.objects.get().status == "pending"


def test_after_days_of_nothing_it_is_switched_off(workflow: Workflow) -> None:
    subscription = subscribe(workflow, NOWHERE, failures_in_a_row=MOST_FAILURES - 1)
    activated(workflow)
    send_all()
    subscription.refresh_from_db()
    assert not subscription.is_active
    assert subscription.error.startswith("Nothing got through for days.")


def test_many_go_at_once_and_each_once(workflow: Workflow) -> None:
    with receiving() as receiver:
        subscribe(workflow, receiver.url)
        emit_all(
            workflow=workflow, type="policy.activated", data=[{"version": n} for n in range(50)], now=NOW
        )
        assert send_all() == -(-50 // AT_ONCE)
    assert len({headers["webhook-id"] for headers, _ in receiver.received}) == 50
    assert len(receiver.received) == 50


def test_what_a_dead_worker_had_is_sent_again_under_the_same_id(workflow: Workflow) -> None:
    """It died after the receiver had said yes and before that was written: at least once."""
    with receiving() as receiver:
        subscription = subscribe(workflow, receiver.url)
        activated(workflow)
        (held,) = claim(subscription=subscription, now=NOW)
        assert post_event(held.sending.event, subscription, allow_private=True).is_sent
        assert send_all() == 0  # it is still claimed
        assert [each.error for each in Attempt.objects.all()] == [BEGUN]
        Sending.objects.update(claimed_until=NOW)
        assert send_all() == 1
    (first, _), (second, _) = receiver.received
    assert first["webhook-id"] == second["webhook-id"]
    assert Sending.objects.get(subscription=subscription).status == "sent"


def test_workers_that_die_again_and_again_end_it(workflow: Workflow) -> None:
    subscription = subscribe(workflow, NOWHERE)
    activated(workflow)
    Sending.objects.update(tries=MOST_TRIES)
    assert claim(subscription=subscription, now=NOW) == []
    assert Sending.objects.get().status == "given_up"


def test_who_wakes_up_late_changes_nothing_but_its_attempt(workflow: Workflow) -> None:
    subscription = subscribe(workflow, NOWHERE)
    activated(workflow)
    (late,) = claim(subscription=subscription, now=NOW)
    Sending.objects.update(claimed_until=NOW)
    (second,) = claim(subscription=subscription, now=NOW)
    record(claimed=late, outcome=Outcome(False, error="late"), seconds=1, now=NOW)
    assert Sending.objects.get().claim_token == second.sending.claim_token
    record(claimed=second, outcome=Outcome(True, http_status=200), seconds=1, now=NOW)
    assert Sending.objects.get().status == "sent"
