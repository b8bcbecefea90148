"""Whether certified thresholds keep their promise on real models' answers, beside a naive method on the same ones.

The naive one counts what nobody checked as right, adds reviews and checks up without weights, and takes the lowest
threshold whose error then meets the target: what a spreadsheet of corrections invites to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from django.db import transaction

from apps.accounts.models import User
from apps.calibration.counting.counts import WINDOW_WEEKS
from apps.calibration.models import CalibrationRun, Certificate, Incident
from apps.demo.measuring import timed
from apps.demo.recorded import Example, Recording, recordings
from apps.demo.simulated_weeks import (
    AUDIT_RATE,
    TARGET,
    Oracle,
    Simulation,
    answer_in_bulk,
    begin,
)
from apps.items.models import Route
from apps.policies.selectors import active_policy
from apps.stats.rates import Rate, RateJson, exact_share
from apps.stats.thresholds import GRID, grid_bin
from apps.workflows.models import Endpoint, Workflow

WEEKS = 12
ITEMS_A_WEEK = 400
LOOKS_EVERY = 4
SEED = 1
BINS = len(GRID) + 1
METHODS = {"certified": "calibration", "naive": "naive", "possible": "possible"}
"""What an `Outcome` calls them, and how the figures' names begin."""


@dataclass(frozen=True, slots=True)
class Held:
    """Thresholds over every example of a recording, from which items are drawn: so this is the truth.

    `error`: of what they accept, how much is wrong; `automation`: of everything, how much they accept.
    `over` are the labels whose own error is over the target.
    """

    thresholds: Mapping[str, float]
    error: Rate
    automation: Rate
    over: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """A recording after its weeks. `possible` are the lowest thresholds that truth allows, which nobody can know.

    `accepted`: of all items accepted by themselves on the way, how many were wrong.
    """

    recording: Recording
    weeks: int
    items: int
    certified: Held
    naive: Held
    possible: Held
    accepted: Rate
    runs: int
    attempts: int
    alarms: int
    seen: int


def simulate(
    recording: Recording,
    *,
    endpoint: Endpoint,
    manager: User,
    reviewer: User,
    answer: Oracle = answer_in_bulk,
    weeks: int = WEEKS,
    items_a_week: int = ITEMS_A_WEEK,
    seed: int = SEED,
) -> Outcome:
    """Leaves the workflow with all its rows behind."""
    simulation = begin(recording, endpoint=endpoint, manager=manager, reviewer=reviewer, seed=seed)
    simulation.live(weeks=weeks, items_a_week=items_a_week, answer=answer)
    workflow = simulation.workflow
    routes = Route.objects.filter(workflow=workflow, superseded_at=None)
    return Outcome(
        recording=recording,
        weeks=weeks,
        items=routes.count(),
        certified=hold(recording, thresholds_in_force(workflow)),
        naive=hold(
            recording,
            naive_thresholds(recording, list(simulation.came.values()), weeks=weeks, seed=seed),
        ),
        possible=hold(recording, possible_thresholds(recording)),
        accepted=_accepted(simulation),
        runs=CalibrationRun.objects.filter(workflow=workflow).count(),
        attempts=Certificate.objects.filter(workflow=workflow).count(),
        alarms=Incident.objects.filter(workflow=workflow, level=Incident.Level.ALARM).count(),
        seen=routes.filter(item__tasks__status="done").count(),
    )


def thresholds_in_force(workflow: Workflow) -> dict[str, float]:
    """Of the labels that act by themselves."""
    policy = active_policy(workflow)
    labels = {} if policy is None else policy.rules["labels"]
    return {
        label: rule["threshold"]
        for label, rule in labels.items()
        if rule["autonomy"] in ("audited", "automatic")
    }


def naive_thresholds(
    recording: Recording, came: Sequence[Example], *, weeks: int, seed: int
) -> dict[str, float]:
    """Where the naive method ends when the same items come: everything to people first, then by its own thresholds.

    It looks as often and as far back as calibration does, and has as many checks.
    """
    chance = Random(seed)  # noqa: S311 - no secret
    thresholds: dict[str, float] = {}
    past: list[tuple[str, int, int, int]] = []
    for week in range(weeks):
        first, after = len(came) * week // weeks, len(came) * (week + 1) // weeks
        for each in came[first:after]:
            label, p = recording.top(each)
            is_seen = p < thresholds.get(label, 2.0) or chance.random() < AUDIT_RATE
            past.append((label, int(grid_bin(p)), 1, int(is_seen and label != each.truth)))
        if (week + 1) % LOOKS_EVERY == 0:
            recent = past[len(came) * max(0, week + 1 - WINDOW_WEEKS) // weeks :]
            thresholds = _lowest(row for row in recent if row[0] != recording.none_of_these)
    return thresholds


def possible_thresholds(recording: Recording) -> dict[str, float]:
    """What nobody can know: the lowest thresholds whose true error meets the target."""
    tops = ((*recording.top(each), each.truth) for each in recording.examples)
    return _lowest(
        (label, int(grid_bin(p)), 1, int(label != truth))
        for label, p, truth in tops
        if label != recording.none_of_these
    )


def _lowest(rows: Iterable[tuple[str, int, int, int]]) -> dict[str, float]:
    """By label the lowest grid value from which on at most `TARGET` is wrong. Rows are label, bin, items, wrong."""
    counts: dict[str, tuple[list[int], list[int]]] = {}
    for label, bin, *more in rows:
        for column, value in zip(counts.setdefault(label, ([0] * BINS, [0] * BINS)), more, strict=True):
            column[bin] += value
    found = {}
    for label, (items, wrong) in counts.items():
        for bin in range(1, BINS):
            accepted = sum(items[bin:])
            if accepted and sum(wrong[bin:]) <= TARGET * accepted:
                found[label] = GRID[bin - 1]
                break
    return found


def hold(recording: Recording, thresholds: Mapping[str, float]) -> Held:
    accepted: dict[str, list[bool]] = {label: [] for label in thresholds}
    for each in recording.examples:
        label, p = recording.top(each)
        if label in thresholds and p >= thresholds[label]:
            accepted[label].append(label != each.truth)
    return Held(
        thresholds=thresholds,
        error=exact_share(sum(map(sum, accepted.values())), sum(map(len, accepted.values()))),
        automation=exact_share(sum(map(len, accepted.values())), len(recording.examples)),
        over=tuple(label for label, wrong in accepted.items() if sum(wrong) > TARGET * len(wrong)),
    )


def _accepted(simulation: Simulation) -> Rate:
    automatic = Route.objects.filter(
        workflow=simulation.workflow, superseded_at=None, outcome=Route.Outcome.AUTOMATIC
    ).values_list("item__external_id", "label")
    wrong = [simulation.came[external_id].truth != label for external_id, label in automatic]
    return exact_share(sum(wrong), len(wrong))


def measure_calibration(
    folder: Path, *, endpoint: Endpoint, people: Mapping[str, User], items_a_week: int
) -> dict[str, Any]:
    """Every recording of both data sets in `folder`. Nothing of it stays in the database."""
    if not folder.is_dir():
        return {"measured": f"nothing, as there are no recorded answers in {folder}"}
    with timed() as took:
        outcomes = [_simulated(each, endpoint, people, items_a_week) for each in recordings(folder)]
    figures = summary(outcomes)
    return figures | {
        "streams": [_figures(each) for each in outcomes],
        "target": TARGET,
        "seconds": round(took(), 1),
        "measured": (
            f"{len(outcomes)} recorded models, {WEEKS} weeks of {items_a_week} items each, drawn from its answers with "
            f"replacement; {AUDIT_RATE:.0%} of what is automatic is checked, people answer right. Errors are of all "
            f"recorded answers from the thresholds up. All together: {_said(figures)}"
        ),
    }


def _simulated(
    recording: Recording, endpoint: Endpoint, people: Mapping[str, User], items_a_week: int
) -> Outcome:
    with transaction.atomic():
        outcome = simulate(
            recording,
            endpoint=endpoint,
            manager=people["mara"],
            reviewer=people["rosa"],
            items_a_week=items_a_week,
        )
        # Its tables are to be as empty for the next one, and no worker is to be woken.
        transaction.set_rollback(True)
    return outcome


def summary(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """By labels as well as by items: the promise is a label's."""
    figures: dict[str, Any] = {}
    for name, method in METHODS.items():
        held = [getattr(each, name) for each in outcomes]
        figures[f"{method}_true_error"] = _together([each.error for each in held])
        figures[f"{method}_automation"] = _together([each.automation for each in held])
        over = exact_share(sum(len(each.over) for each in held), sum(len(each.thresholds) for each in held))
        figures[f"{method}_labels_over_target"] = over.to_json()
    return figures | {"accepted_in_these_weeks": _together([each.accepted for each in outcomes])}


def _together(shares: Sequence[Rate]) -> RateJson:
    return exact_share(
        sum(each.numerator for each in shares), sum(each.denominator for each in shares)
    ).to_json()


def _figures(outcome: Outcome) -> dict[str, Any]:
    figures = summary([outcome])
    return figures | {
        "data": outcome.recording.data,
        "model": outcome.recording.model,
        "recorded_answers": len(outcome.recording.examples),
        "items": outcome.items,
        "items_people_saw": outcome.seen,
        "runs": outcome.runs,
        "attempts": outcome.attempts,
        "alarms": outcome.alarms,
        "thresholds": {method: dict(getattr(outcome, name).thresholds) for name, method in METHODS.items()},
        "labels_over_target": {method: list(getattr(outcome, name).over) for name, method in METHODS.items()},
        "measured": f"{outcome.recording.data}, {outcome.recording.model}: {_said(figures)}",
    }


def _said(figures: Mapping[str, Any]) -> str:
    methods = (
        f"{method} {_percent(figures[f'{method}_true_error'])} wrong, "
        f"{_percent(figures[f'{method}_automation'])} automatic, "
        f"{figures[f'{method}_labels_over_target']['numerator']} of "
        f"{figures[f'{method}_labels_over_target']['denominator']} labels over the target"
        for method in METHODS.values()
    )
    accepted = f"of what was accepted in these weeks {_percent(figures['accepted_in_these_weeks'])} wrong"
    return "; ".join((*methods, accepted))


def _percent(share: RateJson) -> str:
    if share["value"] is None:
        return "no data"
    return f"{share['value']:.1%} ({share['numerator']:,} of {share['denominator']:,})"
