"""What is sent as an array arrives as it was, whatever characters are in it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection
from psycopg.types.json import Jsonb

from apps.items.models import Image


def sent(values: list[Any], kind: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT (%s)::{kind}", [values])
        return cursor.fetchone()[0]


@pytest.mark.django_db
def test_it_works() -> None:
    hostile = ['"', "\\", '\\"', "{}", "a,b", "NULL", "null", "", "  ", "\n\t", "عقد", "'; --", "%s", None]
    assert sent(hostile, "text[]") == hostile


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("bigint[]", [1, -2, None, 2**40]),
        ("double precision[]", [0.1, 1e-300, float("inf"), None]),
        ("boolean[]", [True, False, None]),
        ("bytea[]", [b'\x00"\\', b"", None]),
        ("text[]", []),
        ("text[]", [None, None]),
        ("text[]", [['"', "\\"], ["a", "b"]]),
    ],
)
def test_every_kind_of_value_arrives(kind: str, values: list[Any]) -> None:
    assert sent(values, kind) == values


@pytest.mark.django_db
def test_json_arrives() -> None:
    states = [{"a": ['"', "\\", "\\\\n", "{", "😀"]}, [], "", 'say "no"', 1.5, True]
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_jsonb((%s)::jsonb[])::text", [[Jsonb(each) for each in states]])
        assert json.loads(cursor.fetchone()[0]) == states


@pytest.mark.django_db
def test_every_pair_of_plain_characters_arrives() -> None:
    characters = [chr(code) for code in range(1, 128)]
    pairs = [first + second for first in characters for second in characters]
    assert sent(pairs, "text[]") == pairs


@pytest.mark.django_db
def test_rows_of_a_bulk_insert_go_through_it() -> None:
    about: dict[str, Any] = {
        "content_type": "image/png",
        "width": 1,
        "height": 1,
        "size": 2,
        "thumbnail": b"{}",
    }
    pictures = [Image(sha256=name, data=b'"\\', **about) for name in ('"', "\\")]
    Image.objects.bulk_create(pictures)
    assert sorted(Image.objects.values_list("pk", flat=True)) == ['"', "\\"]
