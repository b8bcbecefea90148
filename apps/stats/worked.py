"""Recompute a worked example and say where it differs: the formulas' own proof, and anybody's check of them.

The number in an example's id says which computation it is: S17 and X17 are the same kind.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apps.stats.worked_decisions import DECISIONS
from apps.stats.worked_measures import MEASURES

TOLERANCE = 1e-6

COMPUTATIONS = {**MEASURES, **DECISIONS}


@dataclass(frozen=True, slots=True)
class Difference:
    """Where an example and the computation part: `path` leads into the expected value, "" is all of it."""

    example: str
    path: str
    expected: object
    computed: object


def check(example: Mapping[str, Any]) -> Difference | None:
    """The first difference beyond `tol` (1e-6 unless given), or None.

    Keys: id, inputs, expected, and tol if wanted. ValueError where the id or the inputs do not do.
    """
    name = str(example["id"])
    found = _difference(example["expected"], compute(name, example["inputs"]), _tolerance(example), "")
    return Difference(name, *found) if found else None


def compute(name: str, inputs: Mapping[str, Any]) -> object:
    """The value of the computation that the number in `name` stands for."""
    number = re.fullmatch(r"\D*0*(\d+)", name)
    if number is None or int(number[1]) not in COMPUTATIONS:
        raise ValueError(f"no computation has the number of {name!r}")
    try:
        return COMPUTATIONS[int(number[1])](inputs)
    except KeyError as missing:
        raise ValueError(f"{name}: the inputs lack {missing}") from missing


def _tolerance(example: Mapping[str, Any]) -> float:
    return float(example.get("tol", TOLERANCE))


def _difference(
    expected: object, computed: object, tolerance: float, path: str
) -> tuple[str, object, object] | None:
    here = (path, expected, computed)
    if isinstance(expected, Mapping):
        if not isinstance(computed, Mapping) or not expected.keys() <= computed.keys():
            return here
        inner = [(f"{path}.{key}".lstrip("."), expected[key], computed[key]) for key in expected]
    elif isinstance(expected, list):
        if not isinstance(computed, list) or len(expected) != len(computed):
            return here
        pairs = zip(expected, computed, strict=True)
        inner = [(f"{path}[{place}]", left, right) for place, (left, right) in enumerate(pairs)]
    else:
        return None if _is_same(expected, computed, tolerance) else here
    found = (_difference(left, right, tolerance, where) for where, left, right in inner)
    return next((difference for difference in found if difference), None)


def _is_same(expected: object, computed: object, tolerance: float) -> bool:
    if isinstance(expected, bool) or isinstance(computed, bool):
        return expected is computed
    if isinstance(expected, int | float) and isinstance(computed, int | float):
        # Rounding an expected value to its last digit must not decide: hence the sliver beside the tolerance.
        return math.isclose(expected, computed, rel_tol=0.0, abs_tol=tolerance * (1 + 1e-6))
    return expected == computed
