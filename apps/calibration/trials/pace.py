"""How fast answers came here and what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from apps.calibration.models import TrialAnswer


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds of the calls alone; USD. None is unknown: given answers have no latency, some servers count no tokens.

    `timed`, `counted` and `priced` are how many answers each figure rests on.
    """

    timed: int
    p50_s: float | None
    p95_s: float | None
    counted: int
    tokens: int
    priced: int
    cost_per_thousand: float | None

    @property
    def tokens_each(self) -> float | None:
        return self.tokens / self.counted if self.counted else None


def pace_of(answers: Sequence[TrialAnswer]) -> Pace:
    """Percentiles by linear interpolation between the calls, as everywhere in the product."""
    seconds = [each.latency_s for each in answers if each.latency_s is not None]
    tokens = [each.input_tokens for each in answers if each.input_tokens is not None]
    costs = [each.cost for each in answers if each.cost is not None]
    p50, p95 = np.percentile(seconds, [50, 95]) if seconds else (None, None)
    return Pace(
        timed=len(seconds),
        p50_s=None if p50 is None else float(p50),
        p95_s=None if p95 is None else float(p95),
        counted=len(tokens),
        tokens=sum(tokens),
        priced=len(costs),
        cost_per_thousand=float(sum(costs)) / len(costs) * 1000 if costs else None,
    )
