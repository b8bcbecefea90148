"""From any state to counted features: characters and words, Arabic spelling variants made equal."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

# A hosted model cuts what does not fit its window; this one reads that many characters, head first.
MAX_CHARACTERS = 20_000
LONGEST_WORD = 40
LONGEST_NGRAM = 5
# Hashed feature numbers: n-grams of characters below WORDS, words and pairs of words from there on.
WORDS = 1 << 20
BEYOND = WORDS * 2

# Letters that Arabic writers use for each other, and marks that many leave out.
_ARABIC = str.maketrans(
    {"أ": "ا", "إ": "ا", "آ": "ا", "ٱ": "ا", "ى": "ي", "ة": "ه", "ؤ": "و", "ئ": "ي", "ـ": None}
)
_TOKEN = re.compile(r"\d+|[^\W\d_]+|[^\w\s]+", re.UNICODE)

Features = NDArray[np.int64]


def text_of(state: object) -> str:
    """The state if it is text, else every string and number value in it, objects in key order."""
    return "\n".join(_values(state))[:MAX_CHARACTERS]


def _values(state: object) -> Iterator[str]:
    # A stack and not a recursion: how deep a state is nested is up to whoever sent it.
    waiting = [state]
    while waiting:
        match waiting.pop():
            case str(text):
                yield text
            case dict(fields):
                waiting.extend(fields[key] for key in sorted(fields, reverse=True))
            case list(parts):
                waiting.extend(reversed(parts))
            case bool() | None:
                continue
            case number:
                yield str(number)


def normalise(text: str) -> str:
    """Lower case, without accents, Arabic short vowels, tatweel and invisible characters."""
    decomposed = unicodedata.normalize("NFKD", text.translate(_ARABIC).casefold())
    return "".join(char for char in decomposed if unicodedata.category(char) not in ("Mn", "Cf"))


def features_of(text: str) -> Features:
    """The number of every feature in the text, repeated as often as it occurs."""
    words = [word[:LONGEST_WORD] for word in _TOKEN.findall(normalise(text))]
    pairs = np.fromiter(
        (WORDS + _hash(f"{one} {two}") for one, two in pairwise(words)),
        dtype=np.int64,
    )
    return np.concatenate([*map(_features_of_word, words), pairs])


# Words repeat, so most of a text is looked up and not hashed: a mail takes well under a millisecond.
@lru_cache(maxsize=50_000)
def _features_of_word(word: str) -> Features:
    bounded = f" {word} "
    ngrams = [
        _hash(bounded[start : start + size])
        for size in range(1, LONGEST_NGRAM + 1)
        for start in range(len(bounded) - size + 1)
    ]
    return np.array([*ngrams, WORDS + _hash(word)], dtype=np.int64)


def _hash(text: str) -> int:
    # JSON can carry half a surrogate pair, which has no UTF-8 of its own.
    return crc32(text.encode(errors="surrogatepass")) % WORDS
