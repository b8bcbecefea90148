"""From a run's inputs to its results: pure, so that anybody can do it again and get the same.

Inputs and results are JSON as `CalibrationRun` stores them. An entry of `inputs["labels"]`:

    label, name, refusal        `refusal` is why there is nothing to certify, "" where there is
    target_error, threshold, autonomy       of the policy in force
    attempt, delta              the number the attempt has, and what it may spend
    next_delta                  what the attempt after it may spend: a cost threshold is tested on its own
    is_due, due_on              whether this run may try; else the day from which the schedule does, as text
    cost_threshold              the probability below which acting costs more than a review
    start_on, end_on, weeks     days counted; `end_on` null: none yet
    is_forced                   to be tried however few its answers are
    is_full                     whether waiting adds hardly any answers (see `fair_chance`)
    drawn, unanswered, pending  audits; reviews and audits that wait
    blind_share                 where only blind reviews count, as reviewers may be following the model: the chance
                                all were thinned to, 0 if none could be blind; null where all reviews count
    rows                        [bin, stratum, items, labelled, wrong, pi_sum], one a bin and stratum
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import date
from typing import Any

import numpy as np

from apps.calibration.fair_chance import FULL_WEEKS, certifying_chance
from apps.core.errors import Conflict
from apps.stats.certificates import (
    FORMULA_VERSION,
    MAX_UNANSWERED_SHARE,
    LabelCertificate,
    certificate_sentence,
    certify,
)
from apps.stats.costs import cheapest_certified
from apps.stats.intervals import MAX_AUDITS, plan_audits
from apps.stats.thresholds import (
    GRID,
    BinCount,
    Counts,
    Stratum,
    counts_by_label,
    empty_counts,
    grid_value_at_least,
    start_index,
    two_stratum_bounds,
)

Json = dict[str, Any]


def compute(inputs: Mapping[str, Any], formula: str = FORMULA_VERSION) -> list[Json]:
    """One result a label, in the order of the inputs; `settings` says what is promised, and since first attempts wait
    for a fair chance also with what `power`, at which `assumed` share of the target.

    Raises Conflict for a formula this version does not have.
    """
    if formula != FORMULA_VERSION:
        raise Conflict(f"It was computed by the formula {formula}; this version has {FORMULA_VERSION}.")
    return [_result(entry, inputs["settings"]) for entry in inputs["labels"]]


def _result(entry: Mapping[str, Any], settings: Mapping[str, Any]) -> Json:
    if entry["refusal"]:
        return _nothing(entry)
    counts = _counts(entry)
    found = certify(
        counts,
        alpha=entry["target_error"],
        delta=entry["delta"],
        drawn=entry["drawn"],
        unanswered=entry["unanswered"],
    )
    could = _could_pass(counts, entry)
    waits_for = _waits_for(counts, entry, settings) if could else None
    is_attempt = could and entry["is_due"] and waits_for is None
    cost = _cost_test(counts, entry, found) if is_attempt else None
    chosen = cheapest_certified(found.certified, entry["cost_threshold"])
    return {
        "label": entry["label"],
        "outcome": _outcome(found),
        "is_attempt": is_attempt,
        "could_pass": could,
        "waits_for": waits_for,
        "start": found.start,
        "last": found.last,
        "certified": list(found.certified),
        "chosen": cost["threshold"] if cost and cost["passes"] else chosen,
        "reason": found.reason,
        "labelled": found.labelled,
        "wrong": found.wrong,
        "needed": found.needed,
        "more": found.more,
        "weeks_more": _weeks_more(entry, found),
        "target_at_start": found.target_at_start,
        "steps": [asdict(step) for step in found.walked],
        "cost_test": cost,
        "sentence": _sentence(
            entry, settings, found, _why_reading(entry, counts, waits_for) if could else ""
        ),
    }


def _nothing(entry: Mapping[str, Any]) -> Json:
    return {
        "label": entry["label"],
        "outcome": None,
        "is_attempt": False,
        "could_pass": False,
        "waits_for": None,
        "certified": [],
        "chosen": None,
        "steps": [],
        "cost_test": None,
        "sentence": entry["refusal"],
    }


def _counts(entry: Mapping[str, Any]) -> Counts:
    rows = [BinCount(entry["label"], *row) for row in entry["rows"]]
    return counts_by_label(rows).get(entry["label"]) or empty_counts()


def _could_pass(counts: Counts, entry: Mapping[str, Any]) -> bool:
    """Whether there are answers enough to certify something, if every one of them agreed.

    Never looks at what people answered; so a look at counts that could not pass is no attempt.
    """
    alpha, delta = entry["target_error"], entry["delta"]
    start = start_index(counts.pi_sum, alpha, delta)
    if start is None or entry["unanswered"] > MAX_UNANSWERED_SHARE * entry["drawn"]:
        return False
    agreed = replace(counts, reviewed=_agreed(counts.reviewed), audited=_agreed(counts.audited))
    return bool(two_stratum_bounds(agreed, delta)[start] <= alpha)


def _waits_for(counts: Counts, entry: Mapping[str, Any], settings: Mapping[str, Any]) -> int | None:
    """About how many answers give a fair chance, where that is worth waiting for; None where an attempt is.

    Only the first waits: it may spend three fifths of everything, and later ones have a schedule.
    """
    # Runs from before attempts waited do not say by what.
    if "power" not in settings or entry["attempt"] > 1 or entry["is_forced"] or entry["is_full"]:
        return None
    alpha, delta, error = entry["target_error"], entry["delta"], settings["assumed"] * entry["target_error"]
    if certifying_chance(counts, alpha=alpha, delta=delta, error=error) >= settings["power"]:
        return None
    plan = plan_audits(alpha, error, delta, settings["power"])
    return plan.n if plan else MAX_AUDITS


def _why_reading(entry: Mapping[str, Any], counts: Counts, waits_for: int | None) -> str:
    """Why nothing is tried though it could pass; "" where it is."""
    if not entry["is_due"]:
        return f"attempt {entry['attempt']} is due on {entry['due_on']}."
    if waits_for is None:
        return ""
    return (
        f"attempt {entry['attempt']} waits for a fair chance, with {waits_for:,} answers or so (there are "
        f"{int(counts.labelled[0]):,}) or those of {FULL_WEEKS} weeks."
    )


def _agreed(stratum: Stratum) -> Stratum:
    return replace(stratum, wrong=np.zeros_like(stratum.wrong))


def _cost_test(counts: Counts, entry: Mapping[str, Any], found: LabelCertificate) -> Json | None:
    """Where acting pays only above every certified value: that value, tested as the next attempt.

    None where a certified value does, or nothing is certified, or acting pays nowhere on the grid.
    """
    if not found.certified or cheapest_certified(found.certified, entry["cost_threshold"]) is not None:
        return None
    threshold = grid_value_at_least(entry["cost_threshold"])
    if threshold is None:
        return None
    index = GRID.index(threshold)
    bound = float(two_stratum_bounds(counts, entry["next_delta"])[index])
    return {
        "attempt": entry["attempt"] + 1,
        "delta": entry["next_delta"],
        "threshold": threshold,
        "passes": bound <= entry["target_error"],
        "sentence": _cost_sentence(threshold, bound, entry["target_error"]),
        "step": _counted(counts, index) | {"bound": bound},
    }


def _cost_sentence(threshold: float, bound: float, target: float) -> str:
    supports = "supports" if bound <= target else "does not support"
    return (
        f"Acting costs less than a review from {threshold:g} only. The error there is at most {bound:.4f}, "
        f"which {supports} the target of {target:g}."
    )


def _counted(counts: Counts, index: int) -> Json:
    """The counts of one grid value, named as those of a step."""
    return {
        f"{name}_{what}": int(getattr(stratum, what)[index])
        for name, stratum in (("reviewed", counts.reviewed), ("audited", counts.audited))
        for what in ("items", "labelled", "wrong")
    } | {"threshold": GRID[index], "uncovered_items": int(counts.uncovered[index])}


def _outcome(found: LabelCertificate) -> str:
    if found.certified:
        return "certified"
    return "not_supported" if found.reason == "target_not_supported" else "not_enough"


def _checks_per_week(entry: Mapping[str, Any], found: LabelCertificate) -> float | None:
    return found.labelled / entry["weeks"] if entry["weeks"] else None


def _weeks_more(entry: Mapping[str, Any], found: LabelCertificate) -> float | None:
    """Weeks until there are answers enough at the rate of the window; None where nobody can say."""
    per_week = _checks_per_week(entry, found)
    return found.more / per_week if found.more is not None and per_week else None


def _blind_only(share: float | None) -> str:
    if share is None:
        return ""
    because = " Reviewers may be following the model’s answer where they see it, so only blind reviews count"
    if share:
        return f"{because}."
    return f"{because}, and there are none: the policy sets the share of them."


def _sentence(
    entry: Mapping[str, Any], settings: Mapping[str, Any], found: LabelCertificate, why_reading: str
) -> str:
    start_on = date.fromisoformat(entry["start_on"])
    # What is promised holds over all attempts together; this one spends a part of it.
    promised = replace(found, delta=1 - settings["confidence"])
    sentence = certificate_sentence(
        promised,
        start_on=start_on,
        end_on=date.fromisoformat(entry["end_on"]) if entry["end_on"] else start_on,
        checks_per_week=_checks_per_week(entry, found),
    )
    if found.certified and settings["scope"] == "all_labels":
        sentence += f" The confidence is for all {settings['labels']} labels at once."
    if entry["end_on"] is None and entry["pending"]:
        sentence += f" {entry['pending']:,} reviews and checks wait for an answer."
    sentence += _blind_only(entry.get("blind_share"))
    return f"A reading, which certifies nothing: {why_reading} {sentence}" if why_reading else sentence
