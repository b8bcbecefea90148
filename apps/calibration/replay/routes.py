"""Where every replayed item would go, under the policy in force and under a candidate, and how it really went."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from apps.calibration.replay.held import Held
from apps.calibration.replay.rows import NOBODY, Batch, Source
from apps.routing.bulk import Bools, Floats, Indexes, expected_costs, route_all
from apps.routing.cost import cost_of
from apps.routing.types import Rules


@dataclass(frozen=True, slots=True)
class Routed:
    """One entry an item; `label` and `answer` are places among the routing question's options (see `Batch`).

    `current` and `candidate`: whether it would go on by itself; the rates are chances of a check, 0 where people
    see it anyway. `expected` is what the probabilities say acting on it costs, at the candidate's prices.
    """

    item_id: NDArray[np.int64]
    day: NDArray[np.int64]
    at: NDArray[np.int64]
    was_automatic: Bools
    drawn: Bools
    asked: Bools
    pi: Floats
    answer: Indexes
    label: Indexes
    p: Floats
    current: Bools
    candidate: Bools
    current_rate: Floats
    candidate_rate: Floats
    is_open: Bools
    expected: Floats

    def __len__(self) -> int:
        return len(self.item_id)

    @property
    def answered(self) -> Bools:
        """Answered by people who saw it as a matter of course, or because it was drawn: with a known chance."""
        return np.asarray(self.asked & (self.answer != NOBODY) & (self.pi > 0), np.bool_)

    @property
    def wrong(self) -> Bools:
        """Where somebody answered: otherwise than the model."""
        return np.asarray(self.answer != self.label, np.bool_)


def routes_of(batch: Batch, source: Source, held: Held, current: Rules, candidate: Rules) -> Routed:
    routing = source.routing.key
    before = route_all(routing, batch.answers, held.columns(batch, current), current)
    after = route_all(routing, batch.answers, held.columns(batch, candidate), candidate)
    return Routed(
        item_id=batch.item_id,
        day=batch.day,
        at=batch.at,
        was_automatic=batch.was_automatic,
        drawn=batch.drawn,
        asked=~batch.was_automatic | batch.drawn,
        pi=batch.pi,
        answer=batch.answer,
        label=after.label,
        p=after.p,
        current=before.automatic,
        candidate=after.automatic,
        current_rate=before.rate,
        candidate_rate=after.rate,
        is_open=after.open_but_threshold,
        expected=expected_costs(candidate, batch.answers[routing], candidate.maps.get(routing)),
    )


def joined(parts: Sequence[Routed]) -> Routed:
    """At least one part."""
    columns = {
        each.name: np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(Routed)
    }
    return Routed(**columns)


def prices(rules: Rules, options: Sequence[str]) -> Floats:
    """Costs by the label acted on and people's answer; the last column, also reached by OTHER, is no option."""
    table = [[cost_of(rules, predicted=label, true=true) for true in (*options, "")] for label in options]
    return np.array(table, np.float64)
