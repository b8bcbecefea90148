"""Five different numbers that servers report as "confidence", to tell whose definition a server follows.

They measure how concentrated a distribution is, not how often it is right: shown, never decided on.
Probabilities sum to 1 and there are two or more. Formulas: the comparison of eleven recorded answers in
the System One notes; Workers AI reports `squares`, Jev `peak` for a choice and `spread` for a score.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def squares(probabilities: Sequence[float]) -> float:
    """(Σp² − 1/n) / (1 − 1/n)."""
    n = len(probabilities)
    return (math.fsum(p * p for p in probabilities) - 1 / n) / (1 - 1 / n)


def largest(probabilities: Sequence[float]) -> float:
    return max(probabilities)


def peak(probabilities: Sequence[float]) -> float:
    """(m − 1/n) / (1 − 1/n) for the largest probability m."""
    n = len(probabilities)
    return (max(probabilities) - 1 / n) / (1 - 1 / n)


def spread(probabilities: Sequence[float]) -> float:
    """max(0, 1 − Σ pᵢ·|i − k| / D) : k the likeliest level, D the mean distance from the middle."""
    n = len(probabilities)
    k = probabilities.index(max(probabilities))
    mean_distance = math.fsum(abs(i - (n - 1) / 2) for i in range(n)) / n
    return max(0.0, 1 - math.fsum(p * abs(i - k) for i, p in enumerate(probabilities)) / mean_distance)


def entropy(probabilities: Sequence[float]) -> float:
    """1 − H(p) / ln n."""
    return 1 + math.fsum(p * math.log(p) for p in probabilities if p > 0) / math.log(len(probabilities))
