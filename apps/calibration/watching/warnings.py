"""Signs that something shifted (recalibration.md section 5.3). They tell, and never decide; a strong one has more
items checked for 14 days.

The last 14 days are compared with the 8 weeks before them, or with what there is since the model or the questions
changed. Each side needs 200; below that there is no warning, and no all-clear either.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from django.db import connection, transaction

from apps.calibration.models import Incident
from apps.calibration.watching.audit_stream import Check, last_reset, read_stream
from apps.calibration.watching.demotion import change_audit_rates
from apps.calibration.watching.doubling import doubling_for
from apps.calibration.watching.incidents import Finding, open_incident
from apps.core.errors import InvalidInput
from apps.policies.readable import isolated, share
from apps.policies.selectors import active_policy
from apps.stats.alarms import (
    MIN_DRIFT_ITEMS,
    OVERRIDE_WARNING_AT,
    Drift,
    bin_counts,
    equal_mass_edges,
    ks,
    override_cusum,
    override_rates,
    psi,
)
from apps.stats.intervals import Floats
from apps.stats.rates import rate
from apps.stats.sampling import weighted_rate
from apps.workflows.models import Question, Workflow

RECENT = timedelta(days=14)
BASELINE = timedelta(weeks=8)
MIN_EFFECTIVE_CHECKS = 50
MOST_ITEMS = 100_000
"""Of each side, the newest: enough that a distance worth a warning cannot hide, and soon read."""


@dataclass(frozen=True, slots=True)
class _Windows:
    workflow: Workflow
    question: Question
    begin: datetime
    cut: datetime
    now: datetime


def watch_warnings(*, workflow: Workflow, now: datetime) -> list[Incident]:
    """The warnings opened now; those that are open stay as they are."""
    opened = []
    for found in [*_recent_errors(workflow, now), *_shifts(workflow, now)]:
        incident = warn(workflow, found, now)
        if incident is not None:
            opened.append(incident)
    return opened


@transaction.atomic
def warn(workflow: Workflow, found: Finding, now: datetime) -> Incident | None:
    """The incident; None where the same one is open, or was closed lately."""
    incident = open_incident(workflow=workflow, found=found, now=now, policy_before=active_policy(workflow))
    policy = active_policy(workflow)
    doubling = doubling_for(policy, now) if incident and found.is_strong and policy else None
    if incident is None or doubling is None:
        return incident
    because = f"Twice the checks for 14 days: {incident.get_kind_display()}."
    try:
        incident.policy_after = change_audit_rates(
            workflow=workflow, rates=doubling["after"], because=because, now=now
        )
    except InvalidInput as error:
        incident.sentence += f" The audit rate could not be doubled: {error}."
    else:
        incident.sentence += " Automatic items are checked twice as often for 14 days."
        incident.numbers["doubled"] = doubling
    incident.save(update_fields=["policy_after", "sentence", "numbers"])
    return incident


def _recent_errors(workflow: Workflow, now: datetime) -> Iterator[Finding]:
    stream = read_stream(workflow=workflow, now=now)
    if stream is None:
        return
    for acting in stream.acting:
        recent = [check for check in stream.of(acting.label) if check.answered_at > now - RECENT]
        found = recent_error(
            Incident.Kind.RECENT_ERROR, acting.label, acting.name, acting.rule.target_error, recent
        )
        if found is not None:
            yield found


def recent_error(
    kind: Incident.Kind, label: str, name: str, target: float, checks: Sequence[Check]
) -> Finding | None:
    error = weighted_rate([1 / check.pi for check in checks], [check.wrong for check in checks])
    if error.value is None or error.denominator < MIN_EFFECTIVE_CHECKS or error.value <= target:
        return None
    wrong = sum(check.wrong for check in checks)
    return Finding(
        kind=kind,
        level=Incident.Level.WARNING,
        label=label,
        name=name,
        numbers={"target": target, "checks": len(checks), "wrong": wrong, "error": error.to_json()},
        sentence=f"“{isolated(name)}”: {wrong:,} of {len(checks):,} checks answered in the last 14 days were decided "
        f"otherwise, {error.value * 100:.1f} % (95% interval {(error.low or 0) * 100:.1f} % to "
        f"{(error.high or 0) * 100:.1f} %), where the target is {share(target)}.",
    )


def _shifts(workflow: Workflow, now: datetime) -> Iterator[Finding]:
    """Of the whole workflow."""
    question = Question.objects.filter(
        question_set__workflow=workflow, question_set__is_current=True, is_routing=True
    ).first()
    if question is None:
        return
    cut = now - RECENT
    changed_at = last_reset(workflow, Incident.Kind.CHANGED)
    begin = max(cut - BASELINE, changed_at)
    if begin >= cut:
        return
    windows = _Windows(workflow, question, begin, cut, now)
    for found in (_overrides(windows), _confidences(windows), _labels(windows)):
        if found is not None:
            yield found


_OVERRIDES = """
SELECT label.created_at > %(cut)s, label.value IS DISTINCT FROM route.label
FROM reviews_label label
JOIN items_route route ON route.item_id = label.item_id AND route.superseded_at IS NULL
    AND route.outcome = 'review' AND route.label IS NOT NULL AND route.question_set_id = %(question_set)s
WHERE label.workflow_id = %(workflow)s AND label.question_id = %(question)s AND label.taken_back_at IS NULL
    AND label.source <> 'import' AND label.is_asked AND label.created_at > %(begin)s AND label.created_at <= %(now)s
ORDER BY label.created_at DESC, label.id DESC LIMIT %(most)s
"""


def _overrides(windows: _Windows) -> Finding | None:
    found = override_shift(_fetch(_OVERRIDES, windows)[::-1])
    if found is None:
        return None
    numbers, said = found
    sentence = f"People change more of what the model says: {said} It says nothing of automatic items."
    return _of_workflow(Incident.Kind.OVERRIDE_RATE, numbers, sentence)


def override_shift(rows: Sequence[tuple[bool, bool]]) -> tuple[dict[str, Any], str] | None:
    """Of (whether lately, whether changed), oldest first: what to warn of, in numbers and in words."""
    before = [changed for is_recent, changed in rows if not is_recent]
    recent = [changed for is_recent, changed in rows if is_recent]
    expected = override_rates(sum(before), len(before))
    if expected is None or not recent:
        return None
    highest = max(override_cusum(recent, *expected))
    if highest < OVERRIDE_WARNING_AT:
        return None
    old, new = rate(sum(before), len(before)), rate(sum(recent), len(recent))
    numbers = {
        "before": old.to_json(),
        "recent": new.to_json(),
        "cusum": highest,
        "raised_from": OVERRIDE_WARNING_AT,
    }
    return numbers, (
        f"{sum(recent):,} of {len(recent):,} reviews in the last 14 days, {sum(before):,} of {len(before):,} before."
    )


_CONFIDENCES = """
SELECT route.p FROM items_route route
WHERE route.workflow_id = %(workflow)s AND route.superseded_at IS NULL AND route.p IS NOT NULL
    AND route.question_set_id = %(question_set)s
    AND route.created_at > %(since)s AND route.created_at <= %(until)s
ORDER BY route.created_at DESC LIMIT %(most)s
"""


def _confidences(windows: _Windows) -> Finding | None:
    old = _probabilities(windows, windows.begin, windows.cut)
    new = _probabilities(windows, windows.cut, windows.now)
    found = spread_shift(old, new)
    if found is None:
        return None
    numbers, said, is_strong = found
    sentence = f"The model’s probabilities are spread otherwise than before: {said}"
    return _of_workflow(Incident.Kind.CONFIDENCE_MIX, numbers, sentence, is_strong=is_strong)


def spread_shift(old: Floats, new: Floats) -> tuple[dict[str, Any], str, bool] | None:
    """What to warn of, in numbers and in words, and whether it is a strong one."""
    if min(len(old), len(new)) < MIN_DRIFT_ITEMS:
        return None
    # Probabilities that are often the same make edges that are.
    edges = np.unique(equal_mass_edges(old))
    by_bins, whole = psi(bin_counts(old, edges), bin_counts(new, edges)), ks(old, new)
    if by_bins.warning == "none" and whole.warning == "none":
        return None
    numbers = _drift(by_bins, len(old), len(new)) | {"ks": whole.distance, "ks_p": whole.p}
    said = (
        f"PSI {by_bins.distance:.2f} (warned from 0.10, "
        f"strong from 0.25), largest distance {whole.distance:.2f}, {len(new):,} items of the last 14 days against "
        f"{len(old):,}."
    )
    return numbers, said, by_bins.warning == "strong"


_LABELS = """
SELECT route.label,
       count(*) FILTER (WHERE route.created_at <= %(cut)s),
       count(*) FILTER (WHERE route.created_at > %(cut)s)
FROM items_route route
WHERE route.workflow_id = %(workflow)s AND route.superseded_at IS NULL AND route.label IS NOT NULL
    AND route.question_set_id = %(question_set)s
    AND route.created_at > %(begin)s AND route.created_at <= %(now)s
GROUP BY route.label ORDER BY route.label
"""


def _labels(windows: _Windows) -> Finding | None:
    rows = _fetch(_LABELS, windows)
    old, new = [row[1] for row in rows], [row[2] for row in rows]
    if len(rows) < 2 or min(sum(old), sum(new)) < MIN_DRIFT_ITEMS:
        return None
    mix = psi(old, new)
    if mix.warning == "none":
        return None
    numbers = _drift(mix, sum(old), sum(new)) | {"labels": {label: [was, now] for label, was, now in rows}}
    said = (
        f"Labels come in another mix than before: PSI {mix.distance:.2f} (warned from 0.10, strong from 0.25), "
        f"{sum(new):,} items of the last 14 days against {sum(old):,}."
    )
    return _of_workflow(Incident.Kind.LABEL_MIX, numbers, said, is_strong=mix.warning == "strong")


def _of_workflow(
    kind: Incident.Kind, numbers: dict[str, Any], sentence: str, *, is_strong: bool = False
) -> Finding:
    return Finding(kind, Incident.Level.WARNING, "", "", numbers, sentence, is_strong)


def _drift(found: Drift, before: int, recent: int) -> dict[str, Any]:
    return {"psi": found.distance, "p": found.p, "items_before": before, "items_recent": recent}


def _probabilities(windows: _Windows, since: datetime, until: datetime) -> Floats:
    rows = _fetch(_CONFIDENCES, windows, since=since, until=until)
    return np.fromiter((row[0] for row in rows), np.float64, len(rows))


def _fetch(sql: str, windows: _Windows, **more: datetime) -> list[tuple[Any, ...]]:
    values: dict[str, Any] = {
        "workflow": windows.workflow.pk,
        "question": windows.question.pk,
        "question_set": windows.question.question_set_id,
        "begin": windows.begin,
        "cut": windows.cut,
        "now": windows.now,
        "most": MOST_ITEMS,
    }
    with connection.cursor() as cursor:
        cursor.execute(sql, values | more)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows
