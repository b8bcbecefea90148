"""The small real classifier behind the stand-in: it learns from what a question carries on the wire.

Where every option brings examples: tf-idf of character and word features, multinomial logistic
regression, and a temperature fitted on examples held out, so that 0.9 means about nine in ten.
Where examples are missing: likeness to the description, softly.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_matrix
from scipy.special import log_softmax, softmax
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # it publishes no types

from .features import BEYOND, WORDS, Features, features_of

Vector = NDArray[np.float64]

MIN_EXAMPLES = 2
MAX_EXAMPLES = 1500  # of all options together
FOLDS = 10
# More directions than this add little and make 150 options with ten examples each slow to learn.
MAX_RANK = 256
STRENGTH = 10.0
TEMPERATURES = (0.2, 5.0)
# Cosine to probability where nothing can be fitted: a sixth more likeness is e times the odds.
LIKENESS_SCALE = 6.0
NEUTRAL_LIKENESS = 0.25
WORD_WEIGHT = 0.7


@dataclass(frozen=True, slots=True)
class OptionTexts:
    """What is known about one option: its name and description, and example texts."""

    description: str
    examples: tuple[str, ...] = ()


class Model(Protocol):
    def predict(self, features: Features) -> Vector:
        """Probabilities of the options, in their order."""


class Weighting:
    """Tf-idf over the features seen in training; character and word features have length 1 each."""

    def __init__(self, documents: Sequence[Features]) -> None:
        # The number beyond all features ends the columns, so that a look-up never falls off them.
        seen = np.concatenate([*map(np.unique, documents), np.array([BEYOND])])
        self.columns, counts = np.unique(seen, return_counts=True)
        self._idf = np.log((1 + len(documents)) / (1 + counts)) + 1
        self._first_word = int(np.searchsorted(self.columns, WORDS))

    def vector(self, features: Features) -> tuple[NDArray[np.intp], Vector]:
        """Places among `columns` and the weights there; unknown features are left out."""
        found, counts = np.unique(features, return_counts=True)
        places = np.searchsorted(self.columns, found)
        known = self.columns[places] == found
        places, counts = places[known], counts[known]
        weights = (1 + np.log(counts)) * self._idf[places]
        words = places >= self._first_word
        for part, scale in ((~words, 1.0), (words, WORD_WEIGHT)):
            length = np.linalg.norm(weights[part])
            if length > 0:
                weights[part] *= scale / length
        return places, weights

    def matrix(self, documents: Sequence[Features]) -> csr_matrix:
        vectors = [self.vector(document) for document in documents]
        ends = np.cumsum([0] + [len(places) for places, _ in vectors])
        places = np.concatenate([places for places, _ in vectors])
        weights = np.concatenate([weights for _, weights in vectors])
        return csr_matrix((weights, places, ends), shape=(len(vectors), len(self.columns)))


class LinearModel:
    def __init__(self, weighting: Weighting, weights: Vector, bias: Vector) -> None:
        self._weighting, self._weights, self._bias = weighting, weights, bias

    def predict(self, features: Features) -> Vector:
        places, values = self._weighting.vector(features)
        return np.asarray(softmax(values @ self._weights[places] + self._bias), dtype=np.float64)


class LikenessModel:
    """Each option is as likely as its most similar text is similar; `groups` is the option of each row."""

    def __init__(
        self, weighting: Weighting, rows: csr_matrix, groups: NDArray[np.intp], options: int
    ) -> None:
        self._weighting, self._rows, self._groups = weighting, rows, groups
        # An option without a text, such as the no of a yes/no question, cannot be like anything.
        self._start = np.full(options, NEUTRAL_LIKENESS)
        self._start[np.unique(groups[np.diff(rows.indptr) > 0])] = 0.0

    def predict(self, features: Features) -> Vector:
        places, values = self._weighting.vector(features)
        text = np.zeros(self._rows.shape[1])
        text[places] = values
        likeness = self._start.copy()
        np.maximum.at(likeness, self._groups, self._rows @ text)
        return np.asarray(softmax(LIKENESS_SCALE * likeness), dtype=np.float64)


def train(options: Sequence[OptionTexts]) -> Model:
    """A model of these options. Deterministic; takes milliseconds for ten options, seconds for 150."""
    with threadpool_limits(limits=1):
        most = max(MIN_EXAMPLES, MAX_EXAMPLES // len(options))
        texts = [(option.description, *option.examples[:most]) for option in options]
        documents = [features_of(text) for group in texts for text in group]
        groups = np.repeat(np.arange(len(options)), [len(group) for group in texts])
        weighting = Weighting(documents)
        rows = weighting.matrix(documents)
        if min(len(group) for group in texts) <= MIN_EXAMPLES or rows.nnz == 0:
            return LikenessModel(weighting, rows, groups, len(options))
        folds = np.concatenate([_folds(len(group)) for group in texts])
        return _train_linear(weighting, rows, groups, folds)


def _folds(texts: int) -> NDArray[np.intp]:
    """The fold in which each text of an option is held out; -1 for the description, which always teaches."""
    return np.array([-1, *(number % FOLDS for number in range(texts - 1))], dtype=np.intp)


def _train_linear(
    weighting: Weighting, rows: csr_matrix, groups: NDArray[np.intp], folds: NDArray[np.intp]
) -> LinearModel:
    # Weights of a ridge-like penalty lie in the span of the rows, so learning in the rows' own few
    # directions gives the same model as learning in tens of thousands of columns.
    values, vectors = np.linalg.eigh((rows @ rows.T).toarray())
    keep = np.argsort(values)[::-1][:MAX_RANK]
    keep = keep[values[keep] > 1e-9]
    scale = np.sqrt(values[keep])
    points = vectors[:, keep] * scale
    temperature = _temperature(points, groups, folds)
    weights, bias = _fit(points, groups)
    to_columns = rows.T @ (vectors[:, keep] / scale)
    return LinearModel(weighting, to_columns @ weights / temperature, bias / temperature)


def _fit(points: Vector, groups: NDArray[np.intp]) -> tuple[Vector, Vector]:
    regression = LogisticRegression(C=STRENGTH, class_weight="balanced", max_iter=1000)
    regression.fit(points, groups)
    weights, bias = regression.coef_.T, regression.intercept_
    if weights.shape[1] == 1:  # two options come back as one column, the log-odds of the second
        return np.hstack([-weights / 2, weights / 2]), np.array([-bias[0] / 2, bias[0] / 2])
    return weights, bias


def _temperature(points: Vector, groups: NDArray[np.intp], folds: NDArray[np.intp]) -> float:
    """What held-out scores are divided by to be most likely; above 1 where the model is too sure."""
    scores, truths = [], []
    for fold in range(int(folds.max()) + 1):
        held_out = folds == fold
        weights, bias = _fit(points[~held_out], groups[~held_out])
        scores.append(points[held_out] @ weights + bias)
        truths.append(groups[held_out])
    score, truth = np.vstack(scores), np.concatenate(truths)

    def loss(log_temperature: float) -> float:
        likelihoods = log_softmax(score / np.exp(log_temperature), axis=1)
        return -float(likelihoods[np.arange(len(truth)), truth].mean())

    low, high = np.log(TEMPERATURES)
    return float(np.exp(minimize_scalar(loss, bounds=(low, high), method="bounded").x))


@dataclass(slots=True)
class _Entry:
    model: Model | None = None
    training: threading.Lock = field(default_factory=threading.Lock)


class ModelCache:
    """Trained models by what they were trained on; the oldest unused one goes when there are `size`.

    Threads that ask for the same new question wait for one training. `trainings` counts them.
    """

    def __init__(self, size: int = 64) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self.trainings = 0

    def get(self, options: Sequence[OptionTexts]) -> Model:
        content = json.dumps([[option.description, *option.examples] for option in options])
        key = hashlib.sha256(content.encode()).hexdigest()
        with self._lock:
            entry = self._entries.setdefault(key, _Entry())
            self._entries.move_to_end(key)
            if len(self._entries) > self._size:
                self._entries.popitem(last=False)
        with entry.training:
            if entry.model is None:
                entry.model = train(options)
                with self._lock:
                    self.trainings += 1
            return entry.model
