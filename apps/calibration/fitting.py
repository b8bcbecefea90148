"""Temperatures fitted to what people answered, kept only where they help on newer answers (recalibration.md section 4).

Fitted on the older 60 % of the answers, tried on the newer 40 %. Nothing takes effect by itself: a map comes as a
proposal of the policy. That of the routing question changes what its costs are expected from, so other items pass the
cost gate and what certificates rest on starts over; that of another question is for readers alone.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final

from django.db import transaction

from apps.accounts.models import User
from apps.calibration.asked_about import spoken_of
from apps.calibration.counting.judged import Judged
from apps.core.errors import Conflict
from apps.policies.models import Policy
from apps.policies.readable import amount, isolated
from apps.policies.selectors import active_policy
from apps.policies.services import create_draft, propose
from apps.stats.maps import MIN_TEMPERATURE_LABELS, Temperature, fit_temperature, is_improvement
from apps.stats.probability import log_loss
from apps.stats.sampling import kish_n_eff
from apps.workflows.models import Question, Workflow
from apps.workflows.selectors import current_question_set

OLDER: Final = 0.6


@dataclass(frozen=True, slots=True)
class MapReading:
    """`t` is None where there are too few answers to fit one. Losses are of the `newer` answers, without and with it.

    `n_eff` is the effective number of the `older` ones it was fitted on. `left_out`: people said what is no option,
    which no map can mend. `is_blind_only`: visible reviews are left out, as certificates leave them out. `in_force` is
    the temperature of the policy in force, None without a map.
    """

    question: Question
    model: str
    older: int
    newer: int
    left_out: int
    n_eff: float
    t: float | None
    before: float | None
    after: float | None
    helps: bool
    until: date | None
    is_blind_only: bool
    in_force: float | None

    @property
    def sentence(self) -> str:
        if self.t is None:
            return (
                f"Not enough answers for a map: {self.n_eff:.0f} effective ones in the older part, "
                f"{MIN_TEMPERATURE_LABELS} are needed."
            )
        losses = f"{self.after:.4f} with it and {self.before:.4f} without"
        tried = f"on {self.newer:,} newer answers the log loss is {losses}"
        if self.helps:
            return f"Temperature {self.t:.3g} helps: {tried}, more than one standard error lower."
        return f"A temperature of {self.t:.3g} does not help: {tried}."


def read_maps(*, workflow: Workflow, now: datetime) -> list[MapReading]:
    """Of every question asked now."""
    policy = active_policy(workflow)
    in_force = policy.rules.get("maps", {}) if policy else {}
    return [
        _read(workflow, question, in_force.get(question.key), now)
        for question in current_question_set(workflow).questions.all()
    ]


def _read(workflow: Workflow, question: Question, by: dict[str, Any] | None, now: datetime) -> MapReading:
    spoken = spoken_of(workflow=workflow, question=question, now=now, leaves_out_seen=True)
    found = fit(spoken.found, len(question.option_ids))
    return MapReading(
        question=question,
        model=spoken.model,
        older=found.older,
        newer=found.newer,
        left_out=found.left_out,
        n_eff=found.n_eff,
        t=found.t,
        before=found.before,
        after=found.after,
        helps=found.helps,
        until=max(spoken.found.days, default=None),
        is_blind_only=spoken.is_blind_only,
        in_force=None if by is None else by["t"],
    )


@dataclass(frozen=True, slots=True)
class Fitted:
    """See `MapReading`."""

    older: int
    newer: int
    left_out: int
    n_eff: float
    t: float | None = None
    before: float | None = None
    after: float | None = None
    helps: bool = False


def fit(found: Judged, options: int) -> Fitted:
    """`found` is newest first, as `judged` gives it; its first `options` columns are what the model may say."""
    is_option = found.truth < options
    p, truth, weights = (each[is_option][::-1] for each in (found.p[:, :options], found.truth, found.weights))
    older = int(OLDER * len(truth))
    n_eff = kish_n_eff(weights[:older])
    counts = Fitted(older, len(truth) - older, int((~is_option).sum()), n_eff)
    if n_eff < MIN_TEMPERATURE_LABELS:
        return counts
    temperature = fit_temperature(p[:older], truth[:older], weights[:older])
    # Clipped alike, or the map would be credited with what clipping does to a probability of 0.
    newer, mapped = Temperature(1.0).apply(p[older:]), temperature.apply(p[older:])
    return Fitted(
        older=counts.older,
        newer=counts.newer,
        left_out=counts.left_out,
        n_eff=n_eff,
        t=temperature.t,
        before=log_loss(newer, truth[older:], weights[older:]).value,
        after=log_loss(mapped, truth[older:], weights[older:]).value,
        helps=is_improvement(newer, mapped, truth[older:], weights[older:]),
    )


@transaction.atomic
def propose_map(*, workflow: Workflow, question: str, user: User, now: datetime) -> Policy:
    """A proposal of the policy in force with the map that helps now for this question, or without the one it has
    where none does. Raises Conflict where there is nothing to propose."""
    active = active_policy(workflow)
    found = next(
        (each for each in read_maps(workflow=workflow, now=now) if each.question.key == question), None
    )
    if active is None or found is None:
        raise Conflict("No policy is in force, or the question is not asked now.")
    t = round(found.t, 3) if found.helps and found.t is not None else None
    if t == found.in_force:
        raise Conflict("The policy in force has that map already." if t is not None else found.sentence)
    draft = create_draft(
        workflow=workflow,
        rules=_with_map(active.rules, question, t),
        based_on=active,
        user=user,
        note=_note(question, t),
    )
    return propose(policy=draft)


def _with_map(rules: dict[str, Any], question: str, t: float | None) -> dict[str, Any]:
    changed = deepcopy(rules)
    maps = {key: by for key, by in changed.get("maps", {}).items() if key != question}
    if t is not None:
        maps[question] = {"kind": "temperature", "t": t}
    return changed | {"maps": maps}


def _note(question: str, t: float | None) -> str:
    if t is None:
        return f"{isolated(question)}: no map, as it no longer helps on newer answers."
    return f"{isolated(question)}: probabilities mapped at temperature {amount(t)}, which helps on newer answers."
