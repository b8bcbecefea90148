"""Pictures go to models that read them, made to fit; an item whose pictures no model reads goes to people."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from typing import Any

import httpx
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from PIL import Image as Pixels

from apps.clef.errors import ClefError
from apps.clef.local.server import StandIn
from apps.clef.types import MAX_REQUEST_BYTES, EndpointSettings, NoulQuestion
from apps.items.models import Decision, Image, Item, Route
from apps.pipeline.incoming import Incoming
from apps.pipeline.intake import add_items
from apps.pipeline.pictures import Prepared, prepare_requests
from apps.pipeline.processing import decide_batch
from apps.routing.explain import explain
from apps.sources.images.enclosures import RawFile, to_attachments
from apps.workflows.models import Endpoint, Workflow
from tests.factories import NOW
from tests.sources.pictures import drawn, noisy

QUESTIONS = (NoulQuestion("money", "Is it about money?"),)


class Reading:
    """A model that reads images as far as anybody can tell: it keeps them, and lets the stand-in answer the rest."""

    def __init__(self, standin: StandIn) -> None:
        self.asked: list[dict[str, Any]] = []
        asked = self.asked
        address = EndpointSettings("systemone", standin.url, "clef").url

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                document = json.loads(self.rfile.read(int(self.headers["content-length"])))
                asked.append(dict(document))
                document.pop("images", None)
                reply = httpx.post(address, json=document)
                self.send_response(reply.status_code)
                self.send_header("content-length", str(len(reply.content)))
                self.end_headers()
                self.wfile.write(reply.content)

            def log_message(self, format: str, *args: Any) -> None:
                """Nothing on standard error."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    @contextmanager
    def running(self) -> Iterator[Reading]:
        thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        thread.start()
        Endpoint.objects.update(base_url=f"http://127.0.0.1:{self.server.server_port}/v1")
        yield self
        self.server.shutdown()
        thread.join()
        self.server.server_close()


@pytest.fixture
def standin(workflow: Workflow) -> Iterator[StandIn]:
    with StandIn() as model:
        Endpoint.objects.update(base_url=model.url)
        yield model


@pytest.fixture
def reading(standin: StandIn) -> Iterator[Reading]:
    with Reading(standin).running() as model:
        yield model


def add(workflow: Workflow, *pictures: bytes, state: Any = "", name: str = "a") -> Item:
    files = [RawFile(f"{n}.png", "image/png", data) for n, data in enumerate(pictures, start=1)]
    incoming = Incoming(name, state, attachments=to_attachments(files))
    added = add_items(workflow=workflow, incoming=[incoming], source="test", now=NOW).added
    return Item.objects.get(pk=added[0].item_id)


def decide(workflow: Workflow) -> None:
    workflow = Workflow.objects.select_related("endpoint").get(pk=workflow.pk)
    assert decide_batch(workflow=workflow, now=timezone.now)


def prepared(workflow: Workflow, item: Item) -> Prepared | Exception:
    return prepare_requests(workflow=workflow, item_ids=[item.pk], questions=QUESTIONS, until=float("inf"))[
        item.pk
    ]


def sentence(item: Item) -> str:
    return explain(Route.objects.get(item=item).reasons, {})[0]


def test_it_works(workflow: Workflow, reading: Reading) -> None:
    item = add(workflow, drawn(), state="The invoice is attached")
    decide(workflow)
    (asked,) = reading.asked
    kept = Image.objects.get()
    assert base64.b64decode(asked["images"][0].removeprefix("data:image/png;base64,")) == bytes(kept.data)
    assert asked["state"] == "The invoice is attached"
    decision = Decision.objects.get(item=item)
    assert decision.images == [{"sha256": kept.sha256, "width": 80, "height": 80, "size": kept.size}]


def test_an_item_of_pictures_alone_is_asked_by_their_names(workflow: Workflow, reading: Reading) -> None:
    item = add(workflow, drawn())
    decide(workflow)
    assert reading.asked[0]["state"] == {"attachments": ["1.png (image)"]}
    assert Decision.objects.filter(item=item).exists()


def test_large_pictures_are_scaled_to_share_the_request(workflow: Workflow, reading: Reading) -> None:
    large = noisy("JPEG", 1000, quality=90)
    item = add(workflow, large, drawn(), noisy("PNG", 600), state="x" * 40_000)
    decide(workflow)
    (asked,) = reading.asked
    sent = [Pixels.open(BytesIO(base64.b64decode(each.partition(",")[2]))) for each in asked["images"]]
    assert [each.format for each in sent] == ["JPEG", "PNG", "JPEG"]
    assert MAX_REQUEST_BYTES * 0.3 < len(json.dumps(asked)) <= MAX_REQUEST_BYTES
    told = Decision.objects.get(item=item).images
    assert [(each["width"], each["height"]) for each in told] == [each.size for each in sent]


def test_where_nothing_is_scaled_it_goes_to_people(workflow: Workflow, standin: StandIn) -> None:
    Workflow.objects.update(fits_images=False)
    item = add(workflow, noisy("JPEG", 1000, quality=90), state="x")
    decide(workflow)
    assert "(too_large): its images have" in sentence(item)
    assert "does not scale images down" in sentence(item)


def test_a_state_that_leaves_no_room_goes_to_people(workflow: Workflow, standin: StandIn) -> None:
    item = add(workflow, noisy("JPEG", 600), state="x" * 254_000)
    decide(workflow)
    assert "(too_large): an image does not fit into" in sentence(item)


def test_a_model_that_reads_no_images_is_not_asked(workflow: Workflow, reading: Reading) -> None:
    Endpoint.objects.update(reads_images=False)
    item, text = add(workflow, drawn(), state="x"), add(workflow, state="My order", name="b")
    decide(workflow)
    assert len(reading.asked) == 1
    assert sentence(item) == (
        "Held because of its images: it has images, and the model standin-ngram-1 does not read them."
    )
    assert Route.objects.get(item=item).reasons[0]["numbers"]["code"] == "images_unread"
    assert Decision.objects.get().item == text


def test_a_model_that_says_it_reads_no_images_is_well(workflow: Workflow, standin: StandIn) -> None:
    items = [add(workflow, drawn(), name=f"{n}") for n in range(8)]
    text = add(workflow, state="My order has not arrived", name="text")
    decide(workflow)
    for item in items:
        assert Route.objects.get(item=item).reasons[0]["numbers"]["code"] == "images_unread"
    assert Decision.objects.get().item == text
    assert Endpoint.objects.get().failures_in_a_row == 0


def test_a_workflow_may_keep_its_images_to_people(workflow: Workflow, reading: Reading) -> None:
    Workflow.objects.update(reads_images=False)
    mixed, alone = add(workflow, drawn(), state="My order"), add(workflow, drawn(), name="b")
    decide(workflow)
    assert "images" not in reading.asked[0]
    assert Decision.objects.get().item == mixed
    assert sentence(alone).endswith("it has images only, and this workflow gives its model no images.")


def test_pictures_that_take_too_long_wait_uncounted(workflow: Workflow) -> None:
    item, text = add(workflow, drawn(), state="x"), add(workflow, state="y", name="b")
    ready = prepare_requests(workflow=workflow, item_ids=[item.pk, text.pk], questions=QUESTIONS, until=0)
    late = ready[item.pk]
    assert isinstance(late, ClefError)
    assert (late.scope, late.code) == ("endpoint", "no_time")
    assert isinstance(ready[text.pk], Prepared)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_every_kind_is_scaled(workflow: Workflow, kind: str) -> None:
    ready = prepared(workflow, add(workflow, noisy(kind, 500, quality=95), state="x" * 100_000))
    assert isinstance(ready, Prepared)
    assert ready.request.images[0].content_type == "image/jpeg"
    assert ready.pictures[0]["size"] < 156_000 * 3 // 4


def test_pictures_are_loaded_one_item_at_a_time(workflow: Workflow) -> None:
    items = [add(workflow, drawn(colour=(n, 0, 0)), name=str(n)) for n in range(3)]
    ids = [item.pk for item in items]
    with CaptureQueriesContext(connection) as queries:
        prepare_requests(workflow=workflow, item_ids=ids, questions=QUESTIONS, until=float("inf"))
    reading = [each["sql"] for each in queries if '"items_image"."data"' in each["sql"]]
    assert len(reading) == 3


def test_a_picture_that_breaks_stops_no_other_item(workflow: Workflow, reading: Reading) -> None:
    broken = add(workflow, noisy("JPEG", 1000, quality=90), state="x")
    Image.objects.update(data=b"rotten")
    good = add(workflow, drawn(), name="b")
    decide(workflow)
    broken.refresh_from_db()
    assert (broken.status, broken.attempts) == ("received", 1)
    assert "A fault of Fermata’s own (UnidentifiedImageError" in broken.wait_reason
    assert Decision.objects.get().item == good
