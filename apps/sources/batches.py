"""What a file holds, in batches; and the next one made ready while the one before is stored."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

T = TypeVar("T")


def in_batches(
    entries: Iterable[T], *, most: int, most_size: int, size_of: Callable[[T], int]
) -> Iterator[list[T]]:
    """At most `most` of them; those of a batch are in memory together, so a few large ones make one, too."""
    batch: list[T] = []
    size = 0
    for entry in entries:
        batch.append(entry)
        size += size_of(entry)
        if len(batch) >= most or size >= most_size:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def read_ahead(
    batches: Iterator[T], *, waiting: Callable[[], None] | None = None, every_s: float | None = None
) -> Generator[T, None, None]:
    """`batches` one ahead, made by a thread: only for what is made without asking the database.

    While none comes, `waiting` is called every `every_s` seconds, in the caller's own thread. Closing this waits
    for the batch that is being made.
    """
    with ThreadPoolExecutor(1) as pool:
        following = pool.submit(next, batches, None)
        while True:
            while waiting is not None and not wait([following], every_s).done:
                waiting()
            if (batch := following.result()) is None:
                return
            following = pool.submit(next, batches, None)
            yield batch
