"""Do reviewers follow the model when they can see its answer?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from apps.stats.intervals import Gap, newcombe
from apps.stats.rates import Rate, rate

# Fewer answers on either side raise no flag, nor does a gap people could not feel.
MIN_ANSWERS = 50
MIN_GAP = 0.03


@dataclass(frozen=True, slots=True)
class Anchoring:
    """Agreement with the model where its answer was visible and where it was hidden, never pooled.

    `waved_through` estimates the share of the model's mistakes that visible reviews let pass.
    """

    visible: Rate
    blind: Rate
    gap: Gap | None
    p: float | None
    flagged: bool
    waved_through: float | None


def anchoring(agreed_visible: int, visible: int, agreed_blind: int, blind: int) -> Anchoring:
    """Newcombe 95% interval of the gap and Fisher's exact two-sided p; no gap while a side is empty."""
    seen, hidden = rate(agreed_visible, visible), rate(agreed_blind, blind)
    if seen.value is None or hidden.value is None:
        return Anchoring(seen, hidden, None, None, flagged=False, waved_through=None)
    gap = newcombe(agreed_visible, visible, agreed_blind, blind)
    table = [[agreed_visible, visible - agreed_visible], [agreed_blind, blind - agreed_blind]]
    flagged = gap.low > 0 and gap.value >= MIN_GAP and min(visible, blind) >= MIN_ANSWERS
    share = 1 - (1 - seen.value) / (1 - hidden.value) if hidden.value < 1 else 0.0
    p = float(scipy.stats.fisher_exact(table).pvalue)
    return Anchoring(seen, hidden, gap, p, flagged, share if share > 0 else None)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm-adjusted p-values in the order given, for looking at many reviewers at once."""
    p = np.asarray(p_values, np.float64)
    order = np.argsort(p, kind="stable")
    stepped = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    adjusted = np.empty_like(p)
    adjusted[order] = stepped
    return [float(value) for value in adjusted]
