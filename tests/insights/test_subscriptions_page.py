from __future__ import annotations

import pytest
from django.test import Client
from django.utils import timezone

from apps.accounts.models import User
from apps.outbox.models import Sending, Subscription
from apps.outbox.selectors import PAGE
from apps.outbox.sending import MOST_TRIES, send_next
from apps.outbox.services import emit
from apps.workflows.models import Workflow
from tests.conftest import SignIn
from tests.factories import NOW

ADDRESS = "https://127.0.0.1:9/hook"
SETTINGS = "/w/leads/settings/"


@pytest.fixture
def maras(workflow: Workflow, mara: User, signed_in: SignIn) -> Client:
    return signed_in(mara)


@pytest.fixture
def subscription(workflow: Workflow, monkeypatch: pytest.MonkeyPatch) -> Subscription:
    """To an address that nothing is ever posted to: it is on a private network."""
    monkeypatch.setenv("HOOK_SECRET", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    return Subscription.objects.create(
        workflow=workflow,
        kind="webhook",
        address=ADDRESS,
        events=["alarm.raised"],
        secret_variable="HOOK_SECRET",
    )


def raise_alarm(workflow: Workflow, text: str = "Spam is wrong too often.") -> None:
    emit(workflow=workflow, type="alarm.raised", data={"text": text}, now=NOW)


def page_of(subscription: Subscription) -> str:
    return f"{SETTINGS}subscriptions/{subscription.pk}/"


def test_it_works(maras: Client, workflow: Workflow, subscription: Subscription) -> None:
    raise_alarm(workflow)
    assert send_next(now=timezone.now)
    page = maras.get(SETTINGS).content.decode()
    for shown in (ADDRESS, "alarm.raised", "Failing", "private network"):
        assert shown in page, shown
    page = maras.get(page_of(subscription)).content.decode()
    for shown in ("Spam is wrong too often.", "1 failure in a row", "Waiting", "HOOK_SECRET", "Try now"):
        assert shown in page, shown
    assert "whsec_" not in page


def test_given_up_is_sent_again_by_hand(
    maras: Client, workflow: Workflow, subscription: Subscription
) -> None:
    raise_alarm(workflow)
    Sending.objects.update(tries=MOST_TRIES - 1)
    send_next(now=timezone.now)
    sending = Sending.objects.get(status="given_up")
    again = f"{SETTINGS}sendings/{sending.pk}/again/"
    assert again in maras.get(page_of(subscription)).content.decode()
    assert maras.post(again)["Location"] == page_of(subscription)
    assert Sending.objects.get().status == "pending"
    assert "waiting to be sent already" in maras.post(again, follow=True).content.decode()


def test_paused_and_resumed(maras: Client, subscription: Subscription) -> None:
    for act, is_active, state in (("pause", False, ">Off<"), ("resume", True, ">On<")):
        page = maras.post(f"{page_of(subscription)}{act}/", follow=True).content.decode()
        subscription.refresh_from_db()
        assert subscription.is_active is is_active
        assert state in page


def test_others_find_nothing(
    workflow: Workflow, other_workflow: Workflow, subscription: Subscription, maras: Client
) -> None:
    Subscription.objects.update(workflow=other_workflow)
    raise_alarm(other_workflow)
    again = f"{SETTINGS}sendings/{Sending.objects.get().pk}/again/"
    assert maras.get(page_of(subscription)).status_code == 404
    assert [maras.post(page_of(subscription) + "pause/").status_code, maras.post(again).status_code] == [
        404,
        404,
    ]


@pytest.mark.parametrize("before", ["", "0", "x", "-1", "9" * 40, "٣"])
def test_pages_and_places_that_are_none(
    before: str, maras: Client, workflow: Workflow, subscription: Subscription
) -> None:
    for number in range(PAGE + 1):
        raise_alarm(workflow, f"alarm {number}")
    assert maras.get(page_of(subscription), {"before": before}).status_code == 200
    first = maras.get(page_of(subscription)).content.decode()
    place = Sending.objects.order_by("pk")[1].pk
    assert f"?before={place}" in first
    assert "alarm 0" in maras.get(f"{page_of(subscription)}?before={place}").content.decode()


def test_what_an_event_says_is_inert(maras: Client, workflow: Workflow, subscription: Subscription) -> None:
    raise_alarm(workflow, "<script>alert(1)</script>")
    assert "<script>alert" not in maras.get(page_of(subscription)).content.decode()


def test_operators_see_counts_and_never_an_address(
    workflow: Workflow, subscription: Subscription, olga: User, signed_in: SignIn
) -> None:
    raise_alarm(workflow)
    send_next(now=timezone.now)
    page = signed_in(olga).get("/operate/").content.decode()
    assert "1 waiting" in page
    assert "private network" in page
    assert "127.0.0.1:9/hook" not in page
