"""Probabilities as a policy's map mends them: softmax(ln p / t) over the whole answer (recalibration.md section 4).

For what acting is expected to cost, and for what people read. Thresholds, margins, holds and critical floors stay on
what the model gave. A temperature keeps the order of the options, so it never changes which is on top.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from apps.routing.types import QuestionAnswer, TemperatureMap

CLIP = 1e-12
"""The least probability a logarithm is taken of, as where maps are fitted."""


def map_answer(answer: QuestionAnswer, by: TemperatureMap | None) -> QuestionAnswer:
    """The answer itself without a map."""
    if by is None:
        return answer
    names, given = zip(*answer.probabilities, strict=True)
    return QuestionAnswer(answer.kind, tuple(zip(names, map_probabilities(given, by.t), strict=True)))


def map_probabilities(given: Sequence[float], t: float) -> list[float]:
    logs = [math.log(max(p, CLIP)) / t for p in given]
    highest = max(logs)
    parts = [math.exp(each - highest) for each in logs]
    whole = math.fsum(parts)
    return [part / whole for part in parts]
