"""Which encoding bytes are in: what they say themselves, then what they can be, then what they most probably are."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from enum import StrEnum

from apps.sources.tables.guessing import guess_encoding

LOST = "fermata_lost"
"""For `errors=`: what cannot be decoded becomes a lone surrogate, which everything after replaces and counts."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (b"\x84\x31\x95\x33", "gb18030"),
)
_HALF_IN_UTF8 = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")


class Found(StrEnum):
    MARK = "its byte order mark"
    CHOSEN = "chosen"
    VALID = "valid throughout what was looked at"
    PATTERN = "where its zero bytes stand"
    GUESSED = "guessed from its letters"


@dataclass(frozen=True, slots=True)
class Encoding:
    """`name` is Python's, and never one that takes a byte order mark away: readers do, see `without_mark`."""

    name: str
    found: Found


def _mark_lost(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    half = _HALF_IN_UTF8.match(error.object, error.start) if error.encoding == "utf-8" else None
    return "\udcff", half.end() if half else error.end


codecs.register_error(LOST, _mark_lost)


def find_encoding(sample: bytes) -> Encoding | None:
    """None for what is no text. `sample` may be cut off anywhere."""
    for mark, name in _MARKS:
        if sample.startswith(mark):
            return Encoding(name, Found.MARK)
    wide = _wide(sample)
    if wide:
        return Encoding(wide, Found.PATTERN)
    if sample.count(0) > len(sample) // 10:
        return None
    if _is_utf8(sample):
        return Encoding("utf-8", Found.VALID)
    return Encoding(guess_encoding(sample), Found.GUESSED)


def known_encoding(name: str) -> str | None:
    """Python's name for what a person calls it; None when there is no such encoding of text."""
    try:
        info = codecs.lookup(name.strip())
        "".encode(info.name)
    except (LookupError, ValueError):
        return None
    plain = {"utf-8-sig": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le", "ascii": "utf-8"}
    return plain.get(info.name, info.name)


def without_mark(text: str) -> str:
    return text.removeprefix("\ufeff")


def _wide(sample: bytes) -> str | None:
    """UTF-16 without its mark: line ends and separators have their zero bytes all on one side."""
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    least = max(2, len(sample) // 100)
    for mine, other, name in ((odd, even, "utf-16-le"), (even, odd, "utf-16-be")):
        if mine >= least and other * 20 <= mine:
            whole = sample[: len(sample) // 2 * 2]
            text = whole.decode(name, "replace")
            if text.count("�") * 20 <= len(text):
                return name
    return None


def _is_utf8(sample: bytes) -> bool:
    """Halves of surrogate pairs, and damage here and there, are no reason to read all of it as something else."""
    text = codecs.getincrementaldecoder("utf-8")(LOST).decode(_HALF_IN_UTF8.sub(b"?", sample))
    lost = text.count("\udcff")
    return lost == 0 or lost * 20 <= sum(character > "\x7f" for character in text) - lost
