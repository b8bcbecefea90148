"""Worked examples about what was measured: intervals, agreement, probability quality, weighted error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from apps.stats.agreement import (
    Level,
    answer_table,
    equal_pair_share,
    human_agreement,
    kappa,
    krippendorff_alpha,
)
from apps.stats.anchoring import anchoring
from apps.stats.confusion import confusion
from apps.stats.intervals import (
    Floats,
    audits_needed,
    clopper_pearson,
    exact_p,
    plan_audits,
    upper_bound,
    wilson,
)
from apps.stats.probability import brier, log_loss, reliability, risk_coverage
from apps.stats.sampling import hajek, keep_chances, kish_n_eff, linearised_se, weighted_rate

Inputs = Mapping[str, Any]


def stratum_sample(inputs: Inputs) -> tuple[Floats, Floats]:
    """Weights and errors, item by item, of a fully reviewed stratum and one audited with equal chances."""
    review, audit = inputs["strata"]["review"], inputs["strata"]["audit"]
    n_r, n_a = int(review["n"]), int(audit["n"])
    weights = np.concatenate([np.ones(n_r), np.full(n_a, 1 / inputs["pi_audit"])])
    errors = np.zeros(n_r + n_a)
    errors[: int(review["err"])] = 1
    errors[n_r : n_r + int(audit["err"])] = 1
    return weights, errors


def _clopper_pearson(i: Inputs) -> object:
    return list(clopper_pearson(i["k"], i["n"], i.get("conf", 0.95)))


def _wilson(i: Inputs) -> object:
    return list(wilson(i["k"], i["n"], i.get("conf", 0.95)))


def _upper(i: Inputs) -> object:
    return upper_bound(i["k"], i["n"], i["delta"])


def _exact_test(i: Inputs) -> object:
    return {"p": exact_p(i["k"], i["n"], i["alpha"]), "upper": upper_bound(i["k"], i["n"], i["delta"])}


def _audits_needed(i: Inputs) -> object:
    return audits_needed(i["x"], i["delta"], i.get("k", 0))


def _kappa(i: Inputs) -> object:
    found = kappa(i["table"])
    return {
        "agreement": found.agreement.value,
        "kappa": found.value,
        "kappa_low95": found.low,
        "kappa_upp95": found.high,
    }


def _quadratic_kappa(i: Inputs) -> object:
    return kappa(i["table"], quadratic=True).value


def _answers_kappa(i: Inputs) -> object:
    labels = list(dict.fromkeys([*i["a"], *i["b"]]))
    return kappa(answer_table(i["a"], i["b"], labels)).value


def _alpha_levels(i: Inputs) -> object:
    levels: tuple[Level, ...] = ("nominal", "ordinal", "interval")
    return {level: krippendorff_alpha(i["ratings"], level, draws=0).value for level in levels}


def _alpha(i: Inputs) -> object:
    return krippendorff_alpha(i["ratings"], "nominal", draws=0).value


def _losses(i: Inputs) -> object:
    weights = i.get("w")
    return {"log_loss": log_loss(i["p"], i["y"], weights).value, "brier": brier(i["p"], i["y"], weights)}


def _ece(i: Inputs) -> object:
    found = reliability(i["conf"], i["correct"], i.get("w"), bins=i.get("bins"))
    return {
        "ece": found.ece,
        "sizes": [b.items for b in found.bins],
        "bin_conf": [b.confidence for b in found.bins],
        "bin_acc": [b.accuracy.value for b in found.bins],
    }


def _risk_coverage(i: Inputs) -> object:
    errors = i["err"] if "err" in i else [1 - hit for hit in i["correct"]]
    found = risk_coverage(i["conf"], errors, i.get("w"))
    risk = found.risk.tolist()
    return {"coverage": found.coverage.tolist(), "risk": risk, "risks": risk, "aurc": found.aurc}


def _weighted_error(i: Inputs) -> object:
    weights, errors = stratum_sample(i)
    items = sum(stratum["N"] for stratum in i["strata"].values())
    return {
        "naive_pooled": float(errors.mean()) if errors.size else None,
        "hajek": hajek(weights, errors),
        "kish_neff": kish_n_eff(weights),
        "se": linearised_se(weights, errors),
        "unreviewed_ok": float(errors.sum()) / items if items else None,
    }


def _weighted_interval(i: Inputs) -> object:
    weights, errors = stratum_sample(i)
    n_eff, error = kish_n_eff(weights), weighted_rate(weights, errors)
    if error.value is None:
        return {"n_eff": n_eff, "low": None, "high": None}
    low, high = wilson(error.value * n_eff, n_eff, i.get("conf", 0.95))
    return {"n_eff": n_eff, "low": low, "high": high}


def _anchoring(i: Inputs) -> object:
    found = anchoring(*i["visible"], *i["blind"])
    gap = found.gap
    return {
        "gap": gap and gap.value,
        "low": gap and gap.low,
        "high": gap and gap.high,
        "p": found.p,
    }


def _planner(i: Inputs) -> object:
    plan = plan_audits(i["x"], i["e"], i["delta"], i.get("power", 0.80))
    return plan and {"n": plan.n, "max_errors": plan.max_errors, "power": plan.power}


def _confusion(i: Inputs) -> object:
    found = confusion(i["pred"], i["true"], i["labels"], i.get("w"))
    return {
        "matrix": found.weighted.tolist(),
        "total_cost": found.total_cost(i["cost"]),
        "mean_cost": found.mean_cost(i["cost"]),
        "override_rate": found.overrides.value,
    }


def _human_agreement(i: Inputs) -> object:
    found = human_agreement(i["items"])
    shares = [equal_pair_share(answers) for answers in i["items"]]
    return {
        "per_item": [share for share in shares if share is not None],
        "agreement": found.value,
        "items_used": found.denominator,
    }


def _thinning(i: Inputs) -> object:
    keep = keep_chances([stratum["pi"] for stratum in i["strata"]])
    kept = sum(chance * stratum["n"] for chance, stratum in zip(keep, i["strata"], strict=True))
    return {"keep": keep.tolist(), "expected_kept": float(kept)}


MEASURES: dict[int, Callable[[Inputs], object]] = {
    1: _clopper_pearson,
    2: _wilson,
    3: _clopper_pearson,
    4: _upper,
    5: _exact_test,
    6: _audits_needed,
    7: _audits_needed,
    8: _kappa,
    9: _quadratic_kappa,
    10: _answers_kappa,
    11: _alpha_levels,
    12: _alpha,
    13: _losses,
    14: _losses,
    15: _ece,
    16: _risk_coverage,
    17: _weighted_error,
    18: _weighted_interval,
    27: _anchoring,
    31: _planner,
    32: _confusion,
    36: _risk_coverage,
    37: _ece,
    38: _human_agreement,
    40: _thinning,
}
