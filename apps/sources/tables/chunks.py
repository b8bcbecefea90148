"""A file that is kept in pieces, read as one: it never has to be whole in memory."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any, Protocol


class ByteStream(Protocol):
    """All that reading a file asks of it: an open file, a ChunkStream."""

    def read(self, size: int, /) -> bytes | None: ...


class ChunkStream(io.RawIOBase):
    """The bytes of `chunks`, one after the other, each asked for when it is needed. Reads forward only."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._chunk = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._chunk:
            following = next(self._chunks, None)
            if following is None:
                return 0
            self._chunk = memoryview(following)
        count = min(len(buffer), len(self._chunk))
        buffer[:count] = self._chunk[:count]
        self._chunk = self._chunk[count:]
        return count


def open_chunks(chunks: Iterable[bytes]) -> io.BufferedReader:
    """For everything that reads a file."""
    return io.BufferedReader(ChunkStream(chunks), 1 << 18)
