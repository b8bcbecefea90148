"""Bodies that cannot be read, whatever the call."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.test import Client

from apps.api.errors import ApiError
from apps.api.reading import parse_json
from apps.items.models import Item
from tests.api.conftest import Caller

POST = "/workflows/leads/items"
BODY = b'{"external_id": "m", "state": "x"}'


def test_it_works() -> None:
    assert parse_json(b'\xef\xbb\xbf{"a": ["\xc3\xa9", 1.5, null]}') == {"a": ["é", 1.5, None]}


@pytest.mark.parametrize(
    ("raw", "code", "words"),
    [
        (b"", "invalid_json", "line 1, column 1"),
        (b'{"a": }', "invalid_json", "character 6"),
        (b'{"a": 1} x', "invalid_json", "character 9"),
        (b'{"a": "\xff"}', "invalid_utf8", "byte 7"),
        (b'{"a": {"b": 1, "b": 2}}', "duplicate_key", "'b'"),
        (b"[" * 200_000, "invalid_json", "deep"),
        (b'{"a":' * 200_000, "invalid_json", "deep"),
        (b"9" * 5_000, "invalid_json", "digits"),
    ],
)
def test_what_cannot_be_read_is_400_and_says_where(raw: bytes, code: str, words: str) -> None:
    with pytest.raises(ApiError) as refused:
        parse_json(raw)
    assert (refused.value.status, refused.value.code) == (400, code)
    assert words in refused.value.message


def test_over_http(ivan: Caller) -> None:
    response = ivan.post(POST, b'{"external_id": "m", "state": ')
    assert (response.status_code, response.json()["error"]["code"]) == (400, "invalid_json")


def test_depth_is_named(ivan: Caller) -> None:
    deep = "[" * 500 + '"x"' + "]" * 500
    response = ivan.post(POST, f'{{"external_id": "m", "state": {deep}}}')
    assert (response.status_code, response.json()["error"]["fields"][0]["path"]) == (422, "state")


@pytest.mark.parametrize(
    "more",
    [
        {"content_type": "text/plain"},
        {"content_type": "application/x-www-form-urlencoded"},
        {"content_type": "application/json; charset=utf-16"},
        {"headers": {"Content-Encoding": "gzip"}},
    ],
)
def test_other_media_types_are_415(ivan: Caller, more: dict[str, Any]) -> None:
    response = ivan.post(POST, BODY, **more)
    assert (response.status_code, response.json()["error"]["code"]) == (415, "unsupported_media_type")


class Endless(io.RawIOBase):
    """A body that never ends; counts what was read of it."""

    taken = 0

    def read(self, size: int = -1, /) -> bytes:
        self.taken += size
        return b"x" * size


def post_raw(caller: Caller, **environ: Any) -> Any:
    return caller.client.generic("POST", f"/api/v1{POST}", b"{}", content_type="application/json", **environ)


def test_an_announced_size_over_the_limit_is_refused_unread(ivan: Caller) -> None:
    body = Endless()
    response = post_raw(ivan, CONTENT_LENGTH=str(13 * 1024 * 1024 + 1), **{"wsgi.input": body})
    assert (response.status_code, response.json()["error"]["code"]) == (413, "too_large")
    assert body.taken == 0


def test_a_chunked_body_is_read_to_the_limit_only(ivan: Caller) -> None:
    body = Endless()
    chunked = {"HTTP_TRANSFER_ENCODING": "chunked", "CONTENT_LENGTH": "", "wsgi.input_terminated": True}
    response = post_raw(ivan, **chunked, **{"wsgi.input": body})
    assert response.status_code == 413
    assert body.taken < 14 * 1024 * 1024


def test_a_chunked_body_is_taken(ivan: Caller) -> None:
    chunked = {"HTTP_TRANSFER_ENCODING": "chunked", "CONTENT_LENGTH": "", "wsgi.input_terminated": True}
    response = post_raw(ivan, **chunked, **{"wsgi.input": io.BytesIO(BODY)})
    assert (response.status_code, Item.objects.count()) == (201, 1)


def test_a_server_that_does_not_end_chunked_bodies_asks_for_a_length(ivan: Caller) -> None:
    response = post_raw(ivan, HTTP_TRANSFER_ENCODING="chunked", CONTENT_LENGTH="")
    assert response.status_code == 411


def test_a_length_that_lies_is_no_item(ivan: Caller) -> None:
    response = post_raw(ivan, CONTENT_LENGTH="10", **{"wsgi.input": io.BytesIO(BODY)})
    assert (response.status_code, Item.objects.count()) == (400, 0)


def test_a_length_that_is_no_number(ivan: Caller) -> None:
    assert post_raw(ivan, CONTENT_LENGTH="many").status_code == 400


def test_many_problems_are_counted_not_listed(ivan: Caller) -> None:
    body = {"external_id": "m", "state": "x"} | {f"k{n}" * 200: n for n in range(300)}
    response = ivan.post(POST, json.dumps(body))
    assert response.json()["error"]["fields"][-1]["message"] == "and 200 more"
    assert len(response.content) < 60_000


def test_without_a_token_nothing_is_read(db: None) -> None:
    response = Client().post(f"/api/v1{POST}", b"{", content_type="application/json")
    assert response.status_code == 401
