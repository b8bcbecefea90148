"""What a browser sends from the desk."""

from __future__ import annotations

import re
import uuid

from django.http import HttpResponse
from django.test import Client

from apps.reviews.models import Lease, ReviewTask

DESK = "/w/leads/review/"
HTMX = {"HX-Request": "true", "HX-Target": "desk"}


def open_desk(client: Client, address: str = DESK) -> str:
    return client.get(address).content.decode()


def lease_on(page: str) -> uuid.UUID:
    found = re.search(r'name="lease" value="([0-9a-f-]{36})"', page)
    assert found, "no item on this page"
    return uuid.UUID(found[1])


def submit(
    client: Client, lease: object, *, headers: dict[str, str] = HTMX, address: str = DESK, **form: str
) -> HttpResponse:
    """Names of questions as keywords: `intent="o:spam"`; anything else of the form through `more`."""
    sent = {
        f"q:{name}" if name not in {"note", "seconds", "accept", "figures"} else name: form[name]
        for name in form
    }
    answer = client.post(f"{address}submit/", {"lease": str(lease), **sent}, headers=headers)
    assert isinstance(answer, HttpResponse)
    return answer


def held_by(task: ReviewTask, name: str) -> Lease:
    return Lease.objects.get(task=task, user__username=name)
