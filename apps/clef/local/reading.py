"""What the stand-in's models see of a text: counted features, and an embedding where there is a model for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .embeddings import Embedder
from .features import Features, features_of

NGRAM_MODEL = "standin-ngram-1"
E5_MODEL = "standin-e5-1"


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """`vector` has length 1; None where there is no embedder or no text."""

    features: Features
    vector: NDArray[np.float64] | None = None


class Reader:
    """Reads texts; `model` is the name under which what it reads is answered."""

    def __init__(self, embedder: Embedder | None = None) -> None:
        self._embedder = embedder
        self.model = NGRAM_MODEL if embedder is None else E5_MODEL
        self.embeds = embedder is not None

    def read(self, text: str) -> Reading:
        return self.read_all([text])[0]

    def read_all(self, texts: Sequence[str]) -> list[Reading]:
        features = [features_of(text) for text in texts]
        if self._embedder is None:
            return [Reading(counted) for counted in features]
        said = [place for place, counted in enumerate(features) if len(counted)]
        vectors = dict(zip(said, self._embedder.embed([texts[place] for place in said]), strict=True))
        return [Reading(counted, vectors.get(place)) for place, counted in enumerate(features)]
