from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import override_settings

from apps.outbox.models import Subscription
from apps.workflows.models import Workflow
from tests.outbox.receiver import SECRET


@pytest.fixture(autouse=True)
def _may_reach_loopback(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    with override_settings(ALLOW_PRIVATE_WEBHOOKS=True):
        yield


def subscribe(workflow: Workflow, url: str, *events: str, **more: object) -> Subscription:
    values = {"kind": "webhook", "address": url, "secret_variable": "HOOK_SECRET"} | more
    return Subscription.objects.create(
        workflow=workflow, events=list(events or ("policy.activated",)), **values
    )
