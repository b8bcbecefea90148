from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import override_settings

from apps.core.errors import InvalidInput
from apps.outbox.models import Subscription
from apps.outbox.subscribing import MOST_SUBSCRIPTIONS, save_subscription
from apps.workflows.models import Workflow
from tests.outbox.conftest import subscribe
from tests.outbox.receiver import receiving


def run(*arguments: str) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    call_command("add_subscription", "--workflow", "leads", *arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_it_works(workflow: Workflow) -> None:
    with receiving() as receiver:
        hook = ("--webhook", receiver.url, "--secret-variable", "HOOK_SECRET")
        out, err = run(*hook, "--events", "item.settled, alarm.raised", "--try")
    assert "The test got through." in out
    assert err == ""
    assert b'"type":"test"' in receiver.received[0][1]
    subscription = Subscription.objects.get(workflow=workflow)
    assert subscription.events == ["item.settled", "alarm.raised"]
    assert subscription.secret_variable == "HOOK_SECRET"


def test_the_same_address_again_changes_it(workflow: Workflow) -> None:
    for events in ("item.settled", "item.decided"):
        run("--webhook", "https://example.org/", "--secret-variable", "HOOK_SECRET", "--events", events)
    assert Subscription.objects.get().events == ["item.decided"]


def test_what_is_missing_on_this_machine_is_told(workflow: Workflow) -> None:
    _, err = run("--webhook", "https://example.org/", "--secret-variable", "NOT_SET_ANYWHERE")
    assert "NOT_SET_ANYWHERE is not set" in err
    with override_settings(EMAIL_HOST=""):
        _, err = run("--mail", "mara@example.org")
    assert "EMAIL_HOST" in err


def test_a_test_that_fails_says_why(workflow: Workflow) -> None:
    with pytest.raises(CommandError, match="ConnectionRefusedError"):
        run("--webhook", "http://127.0.0.1:9/", "--secret-variable", "HOOK_SECRET", "--try")


def test_it_is_removed(workflow: Workflow) -> None:
    subscribe(workflow, "https://example.org/")
    assert "nothing any more" in run("--webhook", "https://example.org/", "--remove")[0]
    with pytest.raises(CommandError, match="no such"):
        run("--webhook", "https://example.org/", "--remove")


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"kind": "webhook", "address": "ftp://example.org/"}, "address"),
        ({"kind": "webhook", "secret_variable": "whsec_c2VjcmV0"}, "secret_variable"),
        ({"kind": "webhook", "events": ["item.eaten"]}, "events"),
        ({"kind": "webhook", "events": []}, "events"),
        ({"kind": "mail", "address": "a@b@c", "secret_variable": ""}, "address"),
        ({"kind": "mail", "address": "a@b.example\nBcc: c@d.example", "secret_variable": ""}, "address"),
        ({"kind": "mail", "address": "a@b.example"}, "secret_variable"),
        (
            {"kind": "mail", "address": "a@b.example", "secret_variable": "", "events": ["item.settled"]},
            "events",
        ),
    ],
)
def test_what_is_wrong_is_named(wrong: dict[str, object], field: str, workflow: Workflow) -> None:
    values = {
        "address": "https://example.org/",
        "secret_variable": "HOOK_SECRET",
        "events": ["alarm.raised"],
    } | wrong
    with pytest.raises(InvalidInput) as refused:
        save_subscription(workflow=workflow, **values)  # type: ignore[arg-type]  # wrong on purpose
    assert [problem.path for problem in refused.value.problems] == [field]
    assert not Subscription.objects.exists()


def test_there_is_an_end_to_them(workflow: Workflow) -> None:
    for number in range(MOST_SUBSCRIPTIONS):
        subscribe(workflow, f"https://{number}.example/")
    with pytest.raises(CommandError, match="one too many"):
        run("--webhook", "https://example.org/", "--secret-variable", "HOOK_SECRET")
