"""Finding words in a text whose writer may have tried to hide them.

Words only, no regular expressions from the policy: one bad pattern can hold a worker for minutes, and nobody
who wants to catch "refund" needs one. Everything here is linear in the text.

Folding goes character by character and never normalises the whole text: Python sorts a run of combining marks
in quadratic time, so a megabyte of accents would hold a worker just as long.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

MAX_PHRASES = 200
MAX_PHRASE_CHARACTERS = 100

# Letters that Unicode does not take apart although a reader sees the plain one.
_PLAIN = {
    **dict(zip("øłđħıŧð", "oldhitd", strict=True)),
    "æ": "ae",
    "œ": "oe",
    "þ": "th",
    # Arabic: alef wasla, teh marbuta, dotless yeh; the Persian yeh and kaf.
    **dict(zip("ٱةىیک", "اهييك", strict=True)),
    # Cyrillic and Greek twins of Latin letters, used to slip past a filter. Rule and text are folded alike,
    # so words that are Cyrillic or Greek in earnest still meet themselves.
    **dict(zip("авеіјкмнорсѕтухһԁԛԝӏ", "abeijkmhopcstyxhdqwl", strict=True)),
    **dict(zip("αβεζικορτχ", "abezikoptx", strict=True)),
}
_INVISIBLE_LETTERS = frozenset("\u0640\u115f\u1160\u3164\uffa0")  # tatweel; the Hangul fillers
# Scripts written without spaces: each character is a token, so a word is found inside a run of others.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
# Longer decompositions are whole sentences in one sign (U+FDFA: 18 letters), good only for growing a text.
_LONGEST_DECOMPOSITION = 4
_TOKEN = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
# The Arabic article with what may stand before it: العقد, والعقد, بالعقد and للعقد are all the word عقد.
_ARTICLE = re.compile(r"(?<= )[وف]?(?:[بك]?ال|لل)(?=\w\w)")


@lru_cache(maxsize=8_192)
def _fold_character(character: str) -> str:
    if character.isspace():
        return " "
    if unicodedata.category(character) in ("Mn", "Me", "Cf", "Cc"):
        return ""
    digit = unicodedata.decimal(character, None)
    if digit is not None:
        return str(digit)
    parts = unicodedata.normalize("NFKD", character).casefold()
    if len(parts) > _LONGEST_DECOMPOSITION:
        return character
    return "".join(
        _PLAIN.get(part, part)
        for part in parts
        if part not in _INVISIBLE_LETTERS and unicodedata.category(part) != "Mn"
    )


def fold(text: str) -> str:
    """Drop case, accents, spelling variants of Arabic, look-alikes, and characters nobody sees."""
    if text.isascii() and text.isprintable():
        return text.lower()
    return text.translate({ord(character): _fold_character(character) for character in set(text)})


@dataclass(frozen=True, slots=True)
class ScannedText:
    """A text as its folded words, one space around each; `bare` is the same without Arabic articles."""

    words: str
    bare: str

    @classmethod
    def of(cls, text: str) -> ScannedText:
        words = f" {' '.join(_TOKEN.findall(fold(text)))} "
        return cls(words, _ARTICLE.sub("", words) if _ARTICLE.search(words) else words)


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words in a row, each whole; a `*` at the very end lets the last one go on."""

    written: str
    needle: str
    bare_needle: str

    @classmethod
    def of(cls, written: str) -> Phrase:
        """Raises ValueError when it is too long, holds no word, or has a `*` anywhere but at the end."""
        if len(written) > MAX_PHRASE_CHARACTERS:
            raise ValueError(f"words: at most {MAX_PHRASE_CHARACTERS} characters each")
        stem = written.strip().removesuffix("*")
        text = ScannedText.of(stem)
        if "*" in stem or not text.words.strip():
            raise ValueError(f"words: {written!r} needs a word, and a * only at its end")
        if stem == written.strip():
            return cls(written, text.words, text.bare)
        return cls(written, text.words[:-1], text.bare[:-1])

    def occurs_in(self, text: ScannedText) -> bool:
        if self.needle in text.words:
            return True
        has_articles = self.needle != self.bare_needle or text.words is not text.bare
        return has_articles and self.bare_needle in text.bare


def find_spans(text: str, phrases: Sequence[Phrase]) -> list[tuple[int, int]]:
    """Where in `text` any of the phrases stands: whole words, in order, as (start, end) that do not overlap.

    A phrase is found here where `occurs_in` finds it, so what a person sees marked is what a rule went by.
    """
    scanned = ScannedText.of(text)
    wanted = [phrase for phrase in phrases if phrase.occurs_in(scanned)]
    if not wanted:
        return []
    words = _words_of(text)
    plain = _Run([word for word, _, _ in words])
    bare = _Run([_ARTICLE.sub("", f" {word}")[1:] for word, _, _ in words])
    places = {
        place
        for phrase in wanted
        for run, needle in ((plain, phrase.needle), (bare, phrase.bare_needle))
        for place in run.places_of(needle)
    }
    spans: list[tuple[int, int]] = []
    for first, last in sorted(places):
        start, end = words[first][1], words[last][2]
        if spans and start < spans[-1][1]:
            start, end = spans[-1][0], max(spans.pop()[1], end)
        spans.append((start, end))
    return spans


def _words_of(text: str) -> list[tuple[str, int, int]]:
    """The folded words with where each begins and ends in the text, marks on its last letter included."""
    table = {character: _fold_character(character) for character in set(text)}
    origins = [at for at, character in enumerate(text) for _ in table[character]]
    folded = "".join(table[character] for character in text)
    words = []
    for found in _TOKEN.finditer(folded):
        end = origins[found.end() - 1] + 1
        while end < len(text) and unicodedata.category(text[end]) in ("Mn", "Me"):
            end += 1
        words.append((found[0], origins[found.start()], end))
    return words


class _Run:
    """Words in a row, one space around each, as `ScannedText` has them, and which word a place belongs to."""

    def __init__(self, words: Sequence[str]) -> None:
        self._text = f" {' '.join(words)} "
        self._starts, at = [], 1
        for word in words:
            self._starts.append(at)
            at += len(word) + 1

    def places_of(self, needle: str) -> Iterator[tuple[int, int]]:
        """(first word, last word) of each place; the needle begins with a space."""
        at = self._text.find(needle)
        while at >= 0:
            last = at + len(needle) - (2 if needle.endswith(" ") else 1)
            yield self._word_at(at + 1), self._word_at(last)
            at = self._text.find(needle, at + 1)

    def _word_at(self, place: int) -> int:
        return bisect_right(self._starts, place) - 1
