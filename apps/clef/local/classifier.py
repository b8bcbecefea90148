"""The small real classifier behind the stand-in: it learns from what a question carries on the wire.

Where every option brings examples: tf-idf of character and word features, an embedding beside them where
there is one, multinomial logistic regression, and a temperature fitted on examples held out, so that 0.9
means about nine in ten. Where examples are missing: likeness to the name and description, softly.
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
from scipy.special import log_softmax, softmax
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # it publishes no types

from .reading import Reader, Reading
from .weighting import Vector, Weighting

MIN_EXAMPLES = 2
MAX_EXAMPLES = 1600  # of all options together
FOLDS = 10
# More directions than this add little and make 150 options with ten examples each slow to learn.
MAX_RANK = 256
STRENGTH = 10.0
TEMPERATURES = (0.2, 5.0)
# How long the embedding is beside features of length 1: the best of 0 to 3, and better than it alone.
VECTOR_WEIGHT = 1.5


@dataclass(frozen=True, slots=True)
class OptionTexts:
    """What is known about one option: its name and description, and example texts."""

    description: str
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LikenessScale:
    """Cosines to log-odds where nothing can be fitted: likeness is `features` times the cosine of features
    plus `vector` times that of embeddings; `neutral` is the likeness of an option that says nothing."""

    features: float
    vector: float
    neutral: float


# A sixth more likeness is e times the odds.
FEATURES_ALONE = LikenessScale(features=6.0, vector=0.0, neutral=6.0 * 0.25)
# Measured with nothing but names of options, 2 to 150 of them, in English and Arabic: ECE 0.01 to 0.06.
# e5 puts a text at 0.88 from its own name and at 0.81 from another's; in the middle it says nothing.
WITH_EMBEDDINGS = LikenessScale(features=2.0, vector=70.0, neutral=70.0 * 0.845)


class Model(Protocol):
    def predict(self, reading: Reading) -> Vector:
        """Probabilities of the options, in their order."""


class LinearModel:
    def __init__(self, weighting: Weighting, weights: Vector, bias: Vector) -> None:
        self._weighting, self._weights, self._bias = weighting, weights, bias

    def predict(self, reading: Reading) -> Vector:
        places, values = self._weighting.vector(reading)
        return np.asarray(softmax(values @ self._weights[places] + self._bias), dtype=np.float64)


class LikenessModel:
    """Each option is as likely as its most similar text is similar; `groups` is the option of each row."""

    def __init__(
        self, documents: Sequence[Reading], groups: NDArray[np.intp], options: int, scale: LikenessScale
    ) -> None:
        length = float(np.sqrt(scale.vector / scale.features))
        self._weighting = Weighting(documents, vector_weight=length, centred=False)
        self._rows, self._groups, self._scale = self._weighting.matrix(documents), groups, scale
        rows = self._rows
        # An option without a text, such as the no of a yes/no question, cannot be like anything.
        self._start = np.full(options, scale.neutral / scale.features)
        self._start[np.unique(groups[np.diff(rows.indptr) > 0])] = 0.0

    def predict(self, reading: Reading) -> Vector:
        places, values = self._weighting.vector(reading)
        text = np.zeros(self._rows.shape[1])
        text[places] = values
        likeness = self._start.copy()
        np.maximum.at(likeness, self._groups, self._rows @ text)
        return np.asarray(softmax(self._scale.features * likeness), dtype=np.float64)


def train(options: Sequence[OptionTexts], reader: Reader) -> Model:
    """A model of these options. Deterministic; takes milliseconds for ten options, seconds for 150, and
    where texts are embedded some hundredths of a second for each that is new."""
    with threadpool_limits(limits=1):
        most = most_examples(len(options))
        texts = [(option.description, *option.examples[:most]) for option in options]
        documents = reader.read_all([text for group in texts for text in group])
        groups = np.repeat(np.arange(len(options)), [len(group) for group in texts])
        is_empty = all(len(document.features) == 0 for document in documents)
        if min(len(group) for group in texts) <= MIN_EXAMPLES or is_empty:
            scale = WITH_EMBEDDINGS if reader.embeds else FEATURES_ALONE
            return LikenessModel(documents, groups, len(options), scale)
        folds = np.concatenate([_folds(len(group)) for group in texts])
        return _train_linear(documents, groups, folds)


def most_examples(options: int) -> int:
    """How many examples of each option are learnt from; those beyond are left out."""
    return max(MIN_EXAMPLES, MAX_EXAMPLES // options)


def _folds(texts: int) -> NDArray[np.intp]:
    """The fold in which each text of an option is held out; -1 for the description, which always teaches."""
    return np.array([-1, *(number % FOLDS for number in range(texts - 1))], dtype=np.intp)


def _train_linear(
    documents: Sequence[Reading], groups: NDArray[np.intp], folds: NDArray[np.intp]
) -> LinearModel:
    weighting = Weighting(documents, vector_weight=VECTOR_WEIGHT)
    rows = weighting.matrix(documents)
    # Weights of a ridge-like penalty lie in the span of the rows, so learning in the rows' own few
    # directions gives the same model as learning in tens of thousands of columns.
    values, vectors = np.linalg.eigh(weighting.products(rows))
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

    def __init__(self, reader: Reader, size: int = 64) -> None:
        self._reader, self._size = reader, size
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
                entry.model = train(options, self._reader)
                with self._lock:
                    self.trainings += 1
            return entry.model
