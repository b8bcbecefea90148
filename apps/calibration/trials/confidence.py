"""Whose definition of "confidence" a server follows: told by comparing, for people who know another server's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from apps.clef import confidence

NEAR = 0.02
"""Servers round probabilities to two to four places; the wrong definition misses by five times as much."""
_DEFINITIONS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "S2": confidence.squares,
    "max": confidence.largest,
    "peak": confidence.peak,
    "spread": confidence.spread,
    "entropy": confidence.entropy,
}


def definition_of(answers: Sequence[Mapping[str, Any]]) -> str:
    """ "choice S2, score S2", several where the answers do not tell them apart; "" when no confidence was given.

    `answers` as in `items.Decision`. Yes/no questions have none.
    """
    found = []
    for kind in ("choice", "score"):
        given = [
            ([float(p) for _, p in each["probabilities"]], float(each["raw_confidence"]))
            for answer in answers
            for each in answer.values()
            if each["kind"] == kind and each.get("raw_confidence") is not None
        ]
        if given:
            found.append(f"{kind} {_fitting(given, kind)}")
    return ", ".join(found)


def _fitting(given: Sequence[tuple[list[float], float]], kind: str) -> str:
    misses = {
        name: max(abs(formula(p) - reported) for p, reported in given)
        for name, formula in _DEFINITIONS.items()
        if name != "spread" or kind == "score"  # only levels have distances
    }
    near = [name for name, miss in misses.items() if miss <= NEAR]
    return " or ".join(near) if near else "of a definition of its own"
