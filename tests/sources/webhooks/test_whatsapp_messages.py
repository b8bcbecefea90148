"""Every kind of message that the Cloud API documents, in words; pure."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.sources.webhooks.whatsapp import Media, Message, read_post
from tests.sources.webhooks.conftest import chat, said


def read_one(message: Any, **value: Any) -> Message:
    post = read_post(chat(message, **value))
    assert post.problems == []
    (read,) = post.messages
    return read


def test_it_works() -> None:
    read = read_one(said("text", {"body": "Does it come in another colour?"}))
    assert read.incoming.external_id == "wamid.1"
    assert read.incoming.state == {"text": "Does it come in another colour?", "type": "text"}
    assert read.incoming.metadata == {
        "from": "16505551234",
        "profile_name": "Sheena Nelson",
        "phone_number_id": "106540352242922",
        "display_phone_number": "15550783881",
        "timestamp": "1749416383",
        "wamid": "wamid.1",
        "type": "text",
    }
    assert read.incoming.received_at == datetime(2025, 6, 8, 20, 59, 43, tzinfo=UTC)
    assert (read.incoming.group, read.media) == ("whatsapp:106540352242922:16505551234", None)


CONTACT = {
    "name": {"formatted_name": "Barbara J. Johnson"},
    "org": {"company": "Social Tsunami"},
    "phones": [{"phone": "+1 (659) 555-9876", "type": "HOME"}],
    "emails": [{"email": "barbara@example.com"}],
}
ORDER = {
    "catalog_id": "194836987003835",
    "text": "For Friday",
    "product_items": [
        {"product_retailer_id": "di9ozbzfi4", "quantity": 2, "item_price": 30.5, "currency": "USD"}
    ],
}
FLOW = {"type": "nfm_reply", "nfm_reply": {"body": "Sent", "response_json": '{"size": "L"}'}}
PICKED = {"id": "express", "title": "Express", "description": "Next day"}


@pytest.mark.parametrize(
    ("kind", "content", "words"),
    [
        ("image", {"caption": "Broken", "id": "1"}, "Broken"),
        ("image", {"id": "1"}, "(image without words)"),
        ("video", {"id": "1"}, "(video without words)"),
        ("document", {"id": "1", "filename": "order.pdf", "caption": "Here"}, "Here (document: order.pdf)"),
        ("audio", {"id": "1", "voice": True}, "(voice message)"),
        ("audio", {"id": "1"}, "(audio)"),
        ("sticker", {"id": "1", "animated": False}, "(sticker)"),
        ("button", {"payload": "STOP", "text": "Stop writing"}, "Stop writing"),
        ("interactive", {"type": "button_reply", "button_reply": {"id": "c", "title": "Cancel"}}, "Cancel"),
        ("interactive", {"type": "list_reply", "list_reply": PICKED}, "Express: Next day"),
        ("interactive", FLOW, 'Sent {"size": "L"}'),
        (
            "location",
            {"latitude": 37.44216, "longitude": -122.16153, "name": "Shop", "address": "University Ave 1"},
            "(location) Shop, University Ave 1 (37.44216, -122.16153)",
        ),
        (
            "contacts",
            [CONTACT],
            "(contacts) Barbara J. Johnson, Social Tsunami, +1 (659) 555-9876, barbara@example.com",
        ),
        ("order", ORDER, "For Friday (order) 2 × di9ozbzfi4 at 30.5 USD"),
        ("hologram", {"id": "1"}, "(hologram)"),
    ],
)
def test_every_kind_reads_as_words(kind: str, content: Any, words: str) -> None:
    assert read_one(said(kind, content)).incoming.state == {"text": words, "type": kind}


def test_what_whatsapp_does_not_hand_over_says_so() -> None:
    errors = [{"code": 131051, "title": "Message type unknown", "message": "Message type unknown"}]
    state: Any = read_one(said("unsupported", {}, errors=errors)).incoming.state
    assert state["text"] == "(a message of a kind that WhatsApp does not hand over) [Message type unknown]"


def test_an_answer_names_what_it_answers() -> None:
    context = {"from": "15550783881", "id": "wamid.0", "forwarded": True}
    metadata = read_one(said("text", {"body": "Yes"}, context=context)).incoming.metadata
    assert (metadata["reply_to"], metadata["forwarded"]) == ("wamid.0", True)


def test_a_message_after_an_advertisement_says_which() -> None:
    referral = {
        "headline": "Chat with us",
        "body": "Summer",
        "source_type": "ad",
        "ctwa_clid": "x",
        "image_url": "y",
    }
    state: Any = read_one(said("text", {"body": "Hi"}, referral=referral)).incoming.state
    assert state["came_from"] == {"headline": "Chat with us", "body": "Summer", "source_type": "ad"}


def test_a_question_about_a_product_names_it() -> None:
    context = {"referred_product": {"catalog_id": "1", "product_retailer_id": "di9"}}
    state: Any = read_one(said("text", {"body": "Is it blue?"}, context=context)).incoming.state
    assert state["product"] == "di9"


def test_media_is_told_apart() -> None:
    image = read_one(said("image", {"id": "7", "mime_type": "image/jpeg; x=1", "sha256": "z"})).media
    assert image == Media("7", "image", "image/jpeg", "image")
    pdf = read_one(said("document", {"id": "8", "mime_type": "application/pdf", "filename": "a.pdf"})).media
    word = read_one(said("document", {"id": "9", "mime_type": "application/msword"})).media
    assert (pdf and pdf.can_be_looked_at, word and word.can_be_looked_at) == (True, False)


def test_what_is_no_message_is_counted() -> None:
    reaction = said("reaction", {"message_id": "wamid.0", "emoji": "👍"})
    body = chat(reaction, said("system", {"body": "changed"}), statuses=[{"status": "read"}] * 3, errors=[{}])
    body["entry"][0]["changes"].append({"field": "account_update", "value": {}})
    post = read_post(body)
    assert post.messages == []
    assert +post.ignored == {
        "reactions": 1,
        "notices": 1,
        "statuses": 3,
        "errors": 1,
        "account_update changes": 1,
    }


def test_a_message_without_an_id_is_named_and_stops_no_other() -> None:
    post = read_post(chat(said("text", {"body": "a"}, id=""), said("text", {"body": "b"})))
    assert [each.path for each in post.problems] == ["entry[0].changes[0].value.messages[0].id"]
    assert len(post.messages) == 1


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(
    anything,
    st.sampled_from(["text", "image", "interactive", "contacts", "order", "location", "unsupported"]),
)
def test_any_content_reads_as_something(content: Any, kind: str) -> None:
    (message,) = read_post(chat(said(kind, content, context=content, errors=content))).messages
    assert isinstance(message.incoming.state, dict)
    assert message.incoming.state["text"].strip()


@given(anything)
def test_any_body_is_read(body: Any) -> None:
    assert read_post(body).messages == []
    assert read_post(chat(body, metadata=body, contacts=body)).messages == []
