from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from apps.reviews.body import FIRST, WHOLE, Body, MessagePiece, RowPiece, body_of, in_blocks
from apps.reviews.chat import chat_of
from apps.routing.words import Phrase

CHAT = [
    {"role": "user", "text": "Hi", "at": "2026-11-30T09:00:00Z"},
    {"role": "agent", "author": "Rosa", "text": "Hello", "id": 7},
]


def texts(body: Body) -> list[str | None]:
    return [piece.text for group in body.groups for piece in group.pieces]


def rows(state: Any, *top: str) -> list[tuple[str, bool]]:
    pieces = [piece for group in body_of(state, top_fields=top).groups for piece in group.pieces]
    return [(piece.name, piece.is_top) for piece in pieces if isinstance(piece, RowPiece)]


def test_it_works() -> None:
    body = body_of("One\ntwo")
    assert (texts(body), body.next, body.left) == (["One\ntwo"], None, 0)


def test_a_long_text_goes_on_where_it_stopped() -> None:
    text = "\n".join(f"line {n}" for n in range(20_000))
    first = body_of(text)
    assert first.next is not None
    assert FIRST <= first.size < FIRST + 5_000
    rest = body_of(text, start=first.next, most=WHOLE)
    assert rest.size == first.left
    assert "\n".join(str(each) for each in texts(first) + texts(rest)) == text


def test_a_line_without_end_is_broken_at_a_space() -> None:
    blocks = in_blocks("word " * 20_000)
    assert "".join(blocks) == "word " * 20_000
    assert all(block.endswith(" ") for block in blocks[:-1])
    assert "".join(in_blocks("x" * 50_000)) == "x" * 50_000


@pytest.mark.parametrize(
    "state",
    [
        [{"role": "user", "text": ""}] * 5_000,
        [{"role": "user", "text": "", "id": "x" * 1_000}] * 500,
        [[]] * 5_000,
        {f"k{n}": "" for n in range(5_000)},
    ],
)
def test_ever_so_many_empty_ones_are_a_long_item_too(state: Any) -> None:
    first = body_of(state)
    assert sum(len(group.pieces) for group in first.groups) < 200
    assert first.next is not None
    assert body_of(state, start=first.next, most=WHOLE).next is None


def test_chosen_fields_come_first_and_nothing_twice() -> None:
    state = {"id": 1, "note": "x", "order": {"total": 5}}
    assert rows(state, "note", "order.total", "missing") == [
        ("note", True),
        ("order.total", True),
        ("id", False),
        ("order", False),
        ("total", False),
    ]


def test_a_long_value_goes_on_under_its_name() -> None:
    pieces = [p for g in body_of({"body": "line\n" * 2_000}).groups for p in g.pieces]
    assert [piece.is_more for piece in pieces if isinstance(piece, RowPiece)] == [False, True, True]


def test_a_chat_is_told_by_sides() -> None:
    first, second = chat_of(CHAT)
    assert (first.author, first.is_ours, first.at) == ("user", False, datetime(2026, 11, 30, 9, tzinfo=UTC))
    assert (second.author, second.is_ours, second.more) == ("Rosa · agent", True, (("id", "7"),))


def test_whoever_wrote_first_asks() -> None:
    names = [{"from": "Ann", "body": "?"}, {"from": "Bob", "body": "!"}, {"from": "Ann", "body": "?"}]
    assert [message.is_ours for message in chat_of(names)] == [False, True, False]


@pytest.mark.parametrize(
    ("time", "at", "when"),
    [
        (1_764_493_200, datetime(2025, 11, 30, 9, tzinfo=UTC), ""),
        (1_764_493_200_000, datetime(2025, 11, 30, 9, tzinfo=UTC), ""),
        ("2026-11-30 09:00", None, "2026-11-30 09:00"),
        ("yesterday", None, "yesterday"),
        (float("inf"), None, "inf"),
        (7, None, "7"),
        (10**400, None, f"1{'0' * 400}"),
        # No time of ours in any other zone.
        ("0001-01-01T00:00:00+14:00", None, "0001-01-01T00:00:00+14:00"),
        ("9999-12-31T23:59:59-14:00", None, "9999-12-31T23:59:59-14:00"),
    ],
)
def test_times_as_senders_write_them(time: Any, at: datetime | None, when: str) -> None:
    (message,) = chat_of([{"role": "user", "text": "Hi", "time": time}])
    assert (message.at, message.when) == (at, when)


@pytest.mark.parametrize(
    "state",
    [[], "x", [1], [{"role": "user"}], [{"text": "x"}], [*CHAT, "x"], {"a": 1}, [{"role": 1, "text": "x"}]],
)
def test_what_is_no_chat(state: Any) -> None:
    assert chat_of(state) == []


def test_an_object_may_hold_a_chat_and_more() -> None:
    body = body_of({"messages": CHAT, "channel": "web"})
    assert [group.kind for group in body.groups] == ["row", "message"]
    (group,) = body_of(CHAT).groups
    assert all(isinstance(piece, MessagePiece) for piece in group.pieces)


@pytest.mark.parametrize(
    "state",
    [
        "a <b>refund</b>",
        {"x": "a <b>refund</b>"},
        [{"role": "user", "text": "a <b>refund</b>"}],
    ],
)
def test_words_of_rules_are_marked_and_the_rest_is_inert(state: Any) -> None:
    marked = body_of(state, phrases=[Phrase.of("refund")])
    assert texts(marked) == ["a &lt;b&gt;<mark>refund</mark>&lt;/b&gt;"]


def test_many_rows_are_laid_out_in_groups() -> None:
    body = body_of({f"key {n}": n for n in range(1_000)}, most=WHOLE)
    assert [len(group.pieces) for group in body.groups] == [100] * 10
