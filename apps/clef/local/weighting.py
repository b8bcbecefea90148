"""From readings of texts to rows a linear model can learn from: tf-idf, and the embedding beside it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from .features import BEYOND, WORDS
from .reading import Reading

Vector = NDArray[np.float64]

WORD_WEIGHT = 0.7


class Weighting:
    """Columns are the features seen in training, then the embedding's numbers where readings have one.

    Character and word features have length 1 each, the embedding has length `vector_weight`. `centred`
    takes the mean of the training texts off it first: e5's vectors all point much the same way.
    """

    def __init__(
        self, documents: Sequence[Reading], *, vector_weight: float = 1.0, centred: bool = True
    ) -> None:
        # The number beyond all features ends the columns, so that a look-up never falls off them.
        seen = np.concatenate([*(np.unique(document.features) for document in documents), np.array([BEYOND])])
        self.columns, counts = np.unique(seen, return_counts=True)
        self._idf = np.log((1 + len(documents)) / (1 + counts)) + 1
        self._first_word = int(np.searchsorted(self.columns, WORDS))
        vectors = [document.vector for document in documents if document.vector is not None]
        self._vector_weight = vector_weight
        self._size = len(vectors[0]) if vectors else 0
        self._centre = np.mean(vectors, axis=0) if vectors and centred else np.zeros(self._size)
        self.width = len(self.columns) + self._size

    def vector(self, reading: Reading) -> tuple[NDArray[np.intp], Vector]:
        """Places among the columns and the weights there; unknown features are left out."""
        found, counts = np.unique(reading.features, return_counts=True)
        places = np.searchsorted(self.columns, found)
        known = self.columns[places] == found
        places, counts = places[known], counts[known]
        weights = (1 + np.log(counts)) * self._idf[places]
        words = places >= self._first_word
        for part, scale in ((~words, 1.0), (words, WORD_WEIGHT)):
            weights[part] = _of_length(weights[part], scale)
        if reading.vector is None or not self._size:
            return places, weights
        dense = _of_length(reading.vector - self._centre, self._vector_weight)
        return np.append(places, np.arange(len(self.columns), self.width)), np.append(weights, dense)

    def matrix(self, documents: Sequence[Reading]) -> csr_matrix:
        vectors = [self.vector(document) for document in documents]
        ends = np.cumsum([0] + [len(places) for places, _ in vectors])
        places = np.concatenate([places for places, _ in vectors])
        weights = np.concatenate([weights for _, weights in vectors])
        return csr_matrix((weights, places, ends), shape=(len(vectors), self.width))

    def products(self, rows: csr_matrix) -> Vector:
        """Every row times every row; the embedding apart, because it is no sparse thing."""
        sparse, dense = rows[:, : len(self.columns)], rows[:, len(self.columns) :].toarray()
        return np.asarray((sparse @ sparse.T).toarray() + dense @ dense.T, dtype=np.float64)


def _of_length(weights: Vector, length: float) -> Vector:
    norm = np.linalg.norm(weights)
    return weights * (length / norm) if norm > 0 else weights
