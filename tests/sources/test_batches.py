from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from apps.sources.batches import in_batches, read_ahead


def test_it_works() -> None:
    assert [*in_batches("abcde", most=2, most_size=99, size_of=len)] == [["a", "b"], ["c", "d"], ["e"]]
    assert [*read_ahead(iter([1, 2, 3]))] == [1, 2, 3]
    assert [*read_ahead(iter([]))] == []


def test_a_large_one_ends_its_batch() -> None:
    entries = ["a", "long", "b", "c"]
    assert [*in_batches(entries, most=9, most_size=4, size_of=len)] == [["a", "long"], ["b", "c"]]


def test_the_next_is_made_meanwhile() -> None:
    made = threading.Event()

    def batches() -> Iterator[str]:
        yield "first"
        made.set()
        yield "second"

    ahead = read_ahead(batches())
    assert next(ahead) == "first"
    assert made.wait(10)
    assert [*ahead] == ["second"]


def test_while_none_comes_the_caller_is_called() -> None:
    go_on = threading.Event()

    def batches() -> Iterator[bool]:
        yield go_on.wait(10)

    assert [*read_ahead(batches(), waiting=go_on.set, every_s=0.01)] == [True]


def test_what_breaks_while_reading_breaks_for_the_caller() -> None:
    def batches() -> Iterator[int]:
        yield 1
        raise ValueError("broken line")

    with pytest.raises(ValueError, match="broken line"):
        list(read_ahead(batches()))
