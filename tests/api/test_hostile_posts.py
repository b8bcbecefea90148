"""Whatever is posted: an answer in the API's form, never a server error, and nothing half stored."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from apps.items.models import Item, ItemContent
from apps.workflows.models import Role
from tests.api.conftest import Caller, caller_of
from tests.factories import join, make_user, make_workflow

BOUNDED = settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
# Lone surrogates too: JSON can write them.
texts = st.text(st.characters(), max_size=20) | st.sampled_from(["\x00", "\ud800", "\u202e<script>", "m", ""])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
NAMES = [
    "external_id",
    "state",
    "metadata",
    "received_at",
    "priority",
    "images",
    "mail",
    "group",
    "items",
    "else",
]
likely = st.fixed_dictionaries(
    {"external_id": texts | values, "state": texts | values},
    optional={
        "metadata": st.dictionaries(texts, values, max_size=3) | values,
        "received_at": st.datetimes().map(lambda each: each.isoformat() + "Z") | texts,
        "priority": st.integers() | values,
    },
)
bodies = (
    likely
    | st.lists(likely, max_size=3).map(lambda rows: {"items": rows})
    | st.dictionaries(st.sampled_from(NAMES), values)
)

pytestmark = pytest.mark.slow


class HostilePosts(TestCase):
    caller: Caller

    def setup_example(self) -> None:
        # In the example's own transaction; setUp would be outside of it and leave its rows behind.
        super().setup_example()  # type: ignore[no-untyped-call]  # hypothesis's own has no types
        workflow = make_workflow()
        ivan = make_user("ivan")
        join(ivan, workflow, Role.REVIEWER)
        self.caller = caller_of(workflow, ivan)

    def check(self, body: bytes) -> None:
        response = self.caller.post("/workflows/leads/items", body)
        answer = response.json()
        assert response.status_code in {200, 201, 400, 409, 413, 422}, answer
        if response.status_code >= 400:
            assert set(answer["error"]) == {"code", "message", "fields"}
        assert Item.objects.count() == ItemContent.objects.count()
        for item_id in Item.objects.values_list("pk", flat=True):
            assert self.caller.get(f"/items/{item_id}").status_code == 200

    @BOUNDED
    @given(bodies)
    def test_it_works(self, body: Any) -> None:
        self.check(json.dumps(body).encode())

    @BOUNDED
    @given(st.binary(min_size=1, max_size=60))
    def test_bytes(self, body: bytes) -> None:
        self.check(body)
