"""Worked examples about what is decided: bounds, thresholds, costs, maps, alarms, replay."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from apps.stats.alarms import ALARM_AT, alarm_path, ks, override_cusum, psi
from apps.stats.betting import Bets
from apps.stats.costs import chow_threshold, cost_decision
from apps.stats.intervals import Floats, exact_p, upper_bounds
from apps.stats.maps import fit_isotonic, fit_temperature
from apps.stats.probability import log_loss
from apps.stats.replay import ReplayLoad, replay_cost
from apps.stats.spending import attempt_delta
from apps.stats.thresholds import Stratum, fixed_sequence, split_delta, stratified_bounds
from apps.stats.worked_measures import Inputs, stratum_sample


def _stratum(counts: Mapping[str, float]) -> Stratum:
    def one(name: str) -> Floats:
        return np.array([counts[name]], np.float64)

    return Stratum(one("N"), one("n"), one("err"))


def _two_strata(i: Inputs) -> object:
    review, audit = _stratum(i["strata"]["review"]), _stratum(i["strata"]["audit"])
    delta_r, delta_a = split_delta(review.items, audit.items, i["delta"])
    return {
        "upper_review": float(upper_bounds(review.wrong, review.labelled, delta_r)[0]),
        "upper_audit": float(upper_bounds(audit.wrong, audit.labelled, delta_a)[0]),
        "upper": float(stratified_bounds(review, audit, i["delta"])[0]),
    }


def _bets(i: Inputs) -> Bets:
    weights, errors = stratum_sample(i)
    return Bets(weights, errors, 1 / i["pi_audit"])


def _betting_test(i: Inputs) -> object:
    bets = _bets(i)
    return {"wealth": float(np.exp(bets.log_wealth(i["alpha"]))), "p": bets.p_value(i["alpha"])}


def _betting_bound(i: Inputs) -> object:
    return _bets(i).upper_bound(i["delta"])


def _cost_decision(i: Inputs) -> object:
    found = cost_decision(i["cost"], i["p"], i["r"], i.get("rho", 0.0))
    return {
        "expected": list(found.expected),
        "best": found.best,
        "decision": "auto" if found.automatic else "review",
        "saving": found.saving,
    }


def _chow(i: Inputs) -> object:
    return chow_threshold(i["error_cost"], i["review_cost"], i.get("labels"))


def _psi(i: Inputs) -> object:
    found = psi(i["baseline"], i["recent"])
    return {"psi": found.distance, "chi2": found.chi2, "p": found.p}


def _ks(i: Inputs) -> object:
    found = ks(i["a"], i["b"])
    return {"D": found.distance, "p": found.p}


def _cusum(i: Inputs) -> object:
    return override_cusum(i["seq"], i["p0"], i["p1"])


def _temperature(i: Inputs) -> object:
    weights = i.get("w", np.ones(len(i["y"])))
    found = fit_temperature(i["p"], i["y"], weights)
    mapped = found.apply(i["p"])
    return {
        "T": found.t,
        "nll_before": log_loss(i["p"], i["y"], weights).value,
        "nll_after": log_loss(mapped, i["y"], weights).value,
        "first_row": mapped[0].tolist(),
    }


def _isotonic(i: Inputs) -> object:
    found = fit_isotonic(i["x"], i["y"], i.get("w", np.ones(len(i["x"]))))
    return {"fitted": found.curve(i["x"]).tolist(), "at_query": float(found.curve(i["query"]))}


def _fixed_sequence(i: Inputs) -> object:
    p = [exact_p(row["k"], row["n"], i["alpha"]) for row in i["rows"]]
    last = fixed_sequence([value <= i["delta"] for value in p])
    return {"p": p, "threshold": None if last is None else i["rows"][last]["t"]}


def _alarm(i: Inputs) -> object:
    path = alarm_path(i["seq"], i["alpha"], i.get("r"))
    return {"stat": path, "alarm_at_1000": any(value >= ALARM_AT for value in path)}


def _alarm_path(i: Inputs) -> object:
    return alarm_path(i["seq"], i["alpha"], i.get("r"))


def _spending(i: Inputs) -> object:
    parts = [attempt_delta(i["delta"], attempt) for attempt in range(1, i.get("attempts", 6) + 1)]
    return {"delta_j": parts, "sum": sum(parts)}


def _replay(i: Inputs) -> object:
    load = ReplayLoad(i["days"], i["auto"], i["reviews"], i["audits"], i["r"])
    costs = np.zeros(i["audits"])
    dear = [cost for count, cost in i["audit_costs"] for _ in range(count)]
    costs[: len(dear)] = dear
    # A plain random audit: every weight is the same, so its size does not matter.
    found = replay_cost(load, costs, np.ones(len(costs)), c_max=max(dear, default=0.0), w_max=1.0)
    return {
        "error_cost_per_day": found.error_cost_per_day,
        "cost_per_day": found.cost_per_day,
        "automation": load.automation.value,
    }


DECISIONS: dict[int, Callable[[Inputs], object]] = {
    19: _two_strata,
    20: _betting_test,
    21: _betting_bound,
    22: _cost_decision,
    23: _chow,
    24: _psi,
    25: _ks,
    26: _cusum,
    28: _temperature,
    29: _isotonic,
    30: _fixed_sequence,
    33: _alarm,
    34: _alarm_path,
    35: _spending,
    39: _replay,
}
