"""Whatever is signed and posted: answered with 200, ended at the first try, with a reason or with items."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from apps.items.models import Item, ItemContent
from apps.sources.models import Delivery
from apps.sources.webhooks.working import work_off_deliveries
from tests.factories import NOW, make_workflow
from tests.sources.webhooks.conftest import Meta, Sender, chat, make_webhook, make_whatsapp, said

BOUNDED = settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow], deadline=None)
# Lone surrogates too: JSON can write them.
texts = st.text(st.characters(), max_size=20) | st.sampled_from(["\x00", "\ud800", "\u202e<script>", "m", ""])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
names = st.sampled_from(
    [
        "external_id",
        "state",
        "metadata",
        "received_at",
        "priority",
        "group",
        "images",
        "mail",
        "items",
        "data",
        "type",
    ]
)
rows = st.dictionaries(names, values) | st.fixed_dictionaries({"external_id": texts, "state": values})
bodies = (
    values
    | rows
    | st.lists(rows, max_size=3).map(lambda each: {"items": each})
    | rows.map(lambda each: {"type": "x", "timestamp": "?", "data": each})
)
messages = st.tuples(
    st.sampled_from(["text", "image", "order", "contacts", "interactive"]), values, values
).map(lambda each: said(each[0], each[1], id=each[2], context=each[1]))


@pytest.mark.slow
@pytest.mark.usefixtures("_secrets")
class HostilePosts(TestCase):
    webhook: Sender
    meta: Meta

    def setup_example(self) -> None:
        # In the example's own transaction; setUp would be outside of it and leave its rows behind.
        super().setup_example()  # type: ignore[no-untyped-call]  # hypothesis's own has no types
        workflow = make_workflow()
        self.webhook, self.meta = Sender(make_webhook(workflow)), Meta(make_whatsapp(workflow))

    def check(self, sender: Sender, body: Any) -> None:
        assert sender.post(json.dumps(body).encode()).status_code == 200
        work_off_deliveries(now=lambda: NOW)
        delivery = Delivery.objects.get()
        assert (delivery.status in ("done", "refused"), delivery.attempts) == (True, 1), delivery.note
        assert delivery.status == "done" or delivery.note
        assert Item.objects.count() == ItemContent.objects.count() == delivery.items

    @BOUNDED
    @given(bodies)
    def test_it_works(self, body: Any) -> None:
        self.check(self.webhook, body)

    @BOUNDED
    @given(st.lists(messages, max_size=3) | values)
    def test_whatsapp(self, sent: Any) -> None:
        self.check(
            self.meta, chat(*sent) if isinstance(sent, list) else chat(sent, contacts=sent, statuses=sent)
        )
