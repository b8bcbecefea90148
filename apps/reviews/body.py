"""What came in as pieces to read: text, names and values, messages. A page shows the first, the rest on demand.

The pieces of a state are the same at every call, so a place in them (`Body.next`) holds from one request to the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, ClassVar

from apps.core.templatetags.tree import rows_of
from apps.reviews.chat import Message, chat_of
from apps.reviews.marking import marked
from apps.routing.words import Phrase

LONGEST_BLOCK = 4_000
LONGEST_LINE = 20_000
"""A longer line is broken: a browser lays out no part of a line."""
FIRST = 16_000
"""Characters that come with the page; a longer text goes on when it is scrolled to, searched or asked for."""
REST = 400_000
WHOLE = 1 << 60
MOST_MARKED = 100_000
"""Characters of a request in which words are looked for: finding their places takes a millisecond for two thousand."""
MOST_ROWS = 20_000
_OF_A_GROUP = 100
_MARKUP = 100
"""What a row or a message costs a page besides its characters, counted as such: a thousand empty ones are long, too."""


@dataclass(frozen=True, slots=True)
class TextPiece:
    kind: ClassVar[str] = "text"
    text: str


@dataclass(frozen=True, slots=True)
class RowPiece:
    """`text` is None for a branch. `is_more`: goes on with the value before. `is_top`: chosen to be seen first."""

    kind: ClassVar[str] = "row"
    name: str
    depth: int
    text: str | None
    is_top: bool = False
    is_more: bool = False

    @property
    def is_branch(self) -> bool:
        return self.text is None

    @property
    def look(self) -> str:
        """Classes of its name."""
        return f"depth-{self.depth}{' is-branch' if self.is_branch else ''}{' is-top' if self.is_top else ''}"


@dataclass(frozen=True, slots=True)
class MessagePiece:
    kind: ClassVar[str] = "message"
    message: Message
    text: str
    is_more: bool = False


Piece = TextPiece | RowPiece | MessagePiece


@dataclass(frozen=True, slots=True)
class Group:
    """Neighbours of one kind, few enough to be laid out together."""

    kind: str
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Body:
    """`next` is where the rest begins, None when all is here; `left` counts its characters."""

    groups: tuple[Group, ...]
    next: int | None = None
    left: int = 0

    @property
    def size(self) -> int:
        return sum(_size(piece) for group in self.groups for piece in group.pieces)


def body_of(
    state: Any,
    *,
    top_fields: Sequence[str] = (),
    phrases: Sequence[Phrase] = (),
    start: int = 0,
    most: int = FIRST,
) -> Body:
    """The pieces of a state from the one at `start` on, until they weigh `most` characters; words marked."""
    pieces = list(_pieces(state, top_fields))
    shown: list[Piece] = []
    size, end = 0, start
    while end < len(pieces) and size < most:
        shown.append(_marked(pieces[end], phrases if size < MOST_MARKED else ()))
        size += _weight(pieces[end])
        end += 1
    left = sum(map(_size, pieces[end:]))
    return Body(tuple(_groups(shown)), end if end < len(pieces) else None, left)


def _pieces(state: Any, top_fields: Sequence[str]) -> Iterator[Piece]:
    if isinstance(state, str):
        yield from map(TextPiece, in_blocks(state) if state else [])
        return
    rest, messages = _conversation(state)
    top, rest = _apart(rest, top_fields)
    for name, value in top:
        yield from _rows({name: value}, is_top=True)
    yield from _rows(rest)
    for message in messages:
        first, *more = in_blocks(message.text)
        yield MessagePiece(message, first)
        yield from (MessagePiece(message, block, is_more=True) for block in more)


def _conversation(state: Any) -> tuple[Any, list[Message]]:
    """What else a state says, and its messages: it is a list of them, or an object with such a list."""
    messages = chat_of(state)
    if messages:
        return None, messages
    if isinstance(state, dict):
        messages = chat_of(state.get("messages"))
        if messages:
            return {name: value for name, value in state.items() if name != "messages"}, messages
    return state, []


def _apart(state: Any, top_fields: Sequence[str]) -> tuple[list[tuple[str, Any]], Any]:
    """The chosen fields in their order, and the state without them; one deep inside stays there, too."""
    if not isinstance(state, dict):
        return [], state
    top = [(field, value) for field in top_fields for value in _at(state, field)]
    named = dict(top)
    return top, {name: value for name, value in state.items() if name not in named}


def _at(state: dict[str, Any], field: str) -> Iterator[Any]:
    """The value of a field, or of one inside an object (`order.total`)."""
    if field in state:
        yield state[field]
        return
    inner: Any = state
    for step in field.split("."):
        if not isinstance(inner, dict) or step not in inner:
            return
        inner = inner[step]
    yield inner


def _rows(state: Any, *, is_top: bool = False) -> Iterator[RowPiece]:
    for row in rows_of(state, most=MOST_ROWS):
        if row.value is None:
            yield RowPiece(row.name, row.depth, None, is_top)
            continue
        first, *more = in_blocks(row.value)
        yield RowPiece(row.name, row.depth, first, is_top)
        yield from (RowPiece(row.name, row.depth, block, is_top, is_more=True) for block in more)


def in_blocks(text: str) -> list[str]:
    """The lines of a text in blocks that a browser can leave unpainted until they are scrolled to."""
    blocks, size = list[list[str]](), LONGEST_BLOCK
    for line in _lines(text):
        if size >= LONGEST_BLOCK:
            blocks.append([])
            size = 0
        blocks[-1].append(line)
        size += len(line) + 1
    return ["\n".join(block) for block in blocks]


def _lines(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        at = 0
        while len(line) - at > LONGEST_LINE:
            space = line.rfind(" ", at + 1, at + LONGEST_LINE)
            end = space + 1 if space > 0 else at + LONGEST_LINE
            yield line[at:end]
            at = end
        yield line[at:]


def _size(piece: Piece) -> int:
    return len(piece.text or "") + (len(piece.name) if isinstance(piece, RowPiece) else 0) + 1


def _weight(piece: Piece) -> int:
    match piece:
        case TextPiece() | MessagePiece(is_more=True):
            return _size(piece)
        case RowPiece():
            return _size(piece) + _MARKUP
        case MessagePiece(message=message):
            more = sum(len(name) + len(value) + _MARKUP for name, value in message.more)
            return _size(piece) + len(message.author) + more + 2 * _MARKUP


def _marked(piece: Piece, phrases: Sequence[Phrase]) -> Piece:
    text = marked(piece.text, phrases) if piece.text else piece.text
    if text is piece.text:
        return piece
    match piece:
        case TextPiece():
            return TextPiece(text or "")
        case RowPiece():
            return RowPiece(piece.name, piece.depth, text, piece.is_top, piece.is_more)
        case MessagePiece():
            return MessagePiece(piece.message, text or "", piece.is_more)


def _groups(pieces: Sequence[Piece]) -> Iterator[Group]:
    for kind, alike in groupby(pieces, key=lambda piece: piece.kind):
        together = list(alike)
        for at in range(0, len(together), _OF_A_GROUP):
            yield Group(kind, tuple(together[at : at + _OF_A_GROUP]))
