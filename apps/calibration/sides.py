"""Yes-no questions that can hold an item: from which P(yes) on a yes stands by itself, and from which P(no) on a no.

A hold lets an item pass outside of low..high, so it has two sides with a threshold each, certified as a label's is:
A(t) of the side "true" are items with P(yes) >= t, of the side "false" those with P(no) >= t, wrong where people
answered otherwise. Counted are routes with every other gate open, as they were routed: what the hold kept back was
asked for certain, what it let through was asked when it was drawn for a check. An item that another gate kept back
is not one the hold decides about, and was not asked the question unless in doubt.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import partial
from itertools import starmap
from typing import Any, Final

from django.conf import settings as django_settings
from django.db import connection

from apps.calibration.certs import promises_enough, settings_of
from apps.calibration.computing import Json, compute
from apps.calibration.counting.counts import WINDOW_WEEKS, LabelCounts, count_cells
from apps.calibration.counting.days import BLIND_CHANCE
from apps.calibration.counting.evidence import (
    AUDIT_DEADLINE,
    Cell,
    model_in_use,
    same_gates_but_one_hold,
    window_days,
)
from apps.calibration.counting.judged import Stretch
from apps.calibration.counting.people_agree import following
from apps.calibration.counting.thinning import Kept, Single, Wanted, kept_singly
from apps.calibration.looking import (
    attempt_entry,
    counts_entry,
    following_entry,
    risk_of_a_label,
    settings_entry,
)
from apps.calibration.models import Certificate
from apps.calibration.side_attempts import attempts_by_side, sides_in_force
from apps.policies.models import Policy
from apps.policies.selectors import active_policy
from apps.routing.draw import group_hash_pads
from apps.stats.thresholds import GRID
from apps.workflows.models import Question, Workflow
from apps.workflows.selectors import current_question_set

TARGET: Final = 0.05
"""The error allowed on each side: a hold has no target of its own."""
SIDES: Final = ("true", "false")
_NAMES = {"true": "yes", "false": "no"}


@dataclass(frozen=True, slots=True)
class SideBasis:
    """Which routes speak of one question's hold: the same questions, model and other gates, from `start_on` on; and
    whether of reviews only blind ones do, as reviewers may be following the model."""

    workflow: Workflow
    question: Question
    model: str
    policies: tuple[int, ...]
    start_on: date
    now: datetime
    is_blind_only: bool


@dataclass(frozen=True, slots=True)
class HoldInForce:
    """One hold on a yes-no question. `asked` are entries of both sides, "true" and "false", as `computing` has them,
    with nothing counted yet."""

    policy: Policy
    question: Question
    model: str
    low: float
    high: float
    asked: tuple[Json, Json]
    settings: Json


@dataclass(frozen=True, slots=True)
class HoldLook:
    """`following` as `looking.following_entry` has it, of answers to this question. `entries` and
    `results` are of the sides "true" and "false", in the form of `computing`."""

    hold: HoldInForce
    following: Json
    entries: tuple[Json, Json]
    results: tuple[Json, Json]


def holds_in_force(*, workflow: Workflow, now: datetime) -> list[HoldInForce]:
    """Every hold of the policy in force on a yes-no question, in their order; counts nothing."""
    policy, model = active_policy(workflow), model_in_use(workflow)
    if policy is None or model is None:
        return []
    questions = {each.key: each for each in current_question_set(workflow).questions.all()}
    return [
        _in_force(workflow, policy, model, questions[hold["question"]], hold, now)
        for hold in policy.rules["holds"]
        if hold["question"] in questions and questions[hold["question"]].kind == Question.Kind.NOUL
    ]


def look_at_holds(*, workflow: Workflow, now: datetime) -> list[HoldLook]:
    """What a run at `now` would find. Reads every route of the window."""
    return [look_at_hold(hold, now) for hold in holds_in_force(workflow=workflow, now=now)]


def sides_relied_on(hold: HoldInForce) -> dict[str, Certificate]:
    """By side: certificates in force that promise what is asked now."""
    asked = {entry["label"]: entry for entry in hold.asked}
    return {
        side: certificate
        for side, certificate in sides_in_force(hold.question, hold.model, hold.policy).items()
        if promises_enough(certificate, asked[side])
    }


def limits_from(hold: HoldInForce) -> tuple[float, float]:
    """`low` and `high` as certificates allow them; a side that can rely on none keeps the limit it has.

    Where both sides would pass the same P(yes), the yes side's limit is above the no side's: `high` is at least `low`.
    """
    held = sides_relied_on(hold)
    high = min(held["true"].certified) if "true" in held else hold.high
    low = low_for(min(held["false"].certified)) if "false" in held else hold.low
    return low, max(low, high)


def low_for(threshold: float) -> float:
    """The `low` of a hold that lets P(no) >= threshold pass."""
    return round(1 - threshold, 12)


def _in_force(
    workflow: Workflow, policy: Policy, model: str, question: Question, hold: Mapping[str, Any], now: datetime
) -> HoldInForce:
    chosen = settings_of(workflow)
    risk = risk_of_a_label(chosen, len(SIDES))
    attempts = attempts_by_side(question, model, same_gates_but_one_hold(policy, question.key))
    held = sides_in_force(question, model, policy)
    limits = {"true": hold["high"], "false": low_for(hold["low"])}
    asked = [
        {
            "label": side,
            "name": _NAMES[side],
            "question": question.key,
            "refusal": "",
            "threshold": limits[side],
            "autonomy": "",
            "target_error": TARGET,
            # No side costs more than another: the lowest certified value is the one to take.
            "cost_threshold": GRID[0],
            **attempt_entry(attempts[side], held.get(side), risk, workflow, now, is_forced=False),
        }
        for side in SIDES
    ]
    return HoldInForce(
        policy=policy,
        question=question,
        model=model,
        low=hold["low"],
        high=hold["high"],
        asked=(asked[0], asked[1]),
        settings=settings_entry(chosen, len(SIDES)),
    )


def look_at_hold(hold: HoldInForce, now: datetime) -> HoldLook:
    start_on, today = window_days(hold.policy.workflow, now, WINDOW_WEEKS)
    anchoring = following(Stretch(hold.policy.workflow, hold.question, hold.model, start_on, today)).anchoring
    basis = SideBasis(
        workflow=hold.policy.workflow,
        question=hold.question,
        model=hold.model,
        policies=same_gates_but_one_hold(hold.policy, hold.question.key),
        start_on=start_on,
        now=now,
        is_blind_only=anchoring.flagged,
    )
    counted = count_sides(basis)
    entries = [entry | counts_entry(counted[entry["label"]], today) for entry in hold.asked]
    results = compute({"labels": entries, "settings": hold.settings})
    return HoldLook(hold, following_entry(anchoring), (entries[0], entries[1]), (results[0], results[1]))


# Of a hold's question: the bins of both sides. What `low` lets pass is P(yes) <= low, compared as routing does it.
_ROUTES = f"""
WITH routed AS MATERIALIZED (
    SELECT route.item_id, item.external_id, route.created_at, route.outcome, route.drawn,
           CASE WHEN route.outcome = 'review' AND %(is_blind_only)s THEN {BLIND_CHANCE} ELSE route.pi END AS pi,
           route.outcome = 'review' AND (task.blind OR NOT %(is_blind_only)s) AS is_asked,
           (route.created_at AT TIME ZONE %(zone)s)::date AS day,
           (CASE WHEN answer.pairs->0->>0 = 'true' THEN answer.pairs->0->>1 ELSE answer.pairs->1->>1 END)::float8 AS p,
           item.group_key <> '' AND row_number() OVER (
               PARTITION BY item.group_key ORDER BY CASE WHEN item.group_key <> '' THEN sha256(%(outer)s || sha256(
                   %(inner)s || int4send(octet_length(item.external_id)) || convert_to(item.external_id, 'UTF8')))
               END, item.id) > 1 AS beside
    FROM items_route route
    JOIN items_decision decision ON decision.id = route.decision_id AND decision.model = %(model)s
    CROSS JOIN LATERAL (SELECT decision.answers->%(key)s->'probabilities' AS pairs) answer
    JOIN items_item item ON item.id = route.item_id
    LEFT JOIN reviews_reviewtask task ON %(is_blind_only)s AND task.route_id = route.id AND task.status <> 'cancelled'
    WHERE route.workflow_id = %(workflow)s AND route.superseded_at IS NULL
        AND route.question_set_id = %(question_set)s AND route.policy_id = ANY (%(policies)s)
        AND route.created_at >= (%(start_on)s::date::timestamp AT TIME ZONE %(zone)s)
        AND route.created_at <= %(now)s AND answer.pairs IS NOT NULL
        AND (route.outcome = 'automatic' OR (jsonb_array_length(route.reasons) = 1
             AND route.reasons->0->>'code' = 'question_held:' || %(key)s))
), seen AS (
    SELECT routed.*, CASE WHEN outcome = 'review' THEN 'reviewed' WHEN routed.pi > 0 THEN 'audited' ELSE 'uncovered'
           END AS stratum, coalesce(routed.is_asked, false) OR drawn AS is_due, label.id IS NOT NULL AS is_answered,
           label.value IS DISTINCT FROM each.side AS differs,
           routed.drawn AND label.id IS NULL AND routed.created_at < %(deadline)s AS is_late, each.side,
           CASE WHEN each.side = 'true' THEN width_bucket(p, %(grid)s::float8[])
                ELSE width_bucket(-p, %(lows)s::float8[]) END AS bin
    FROM routed CROSS JOIN (VALUES ('true'), ('false')) AS each (side)
    LEFT JOIN reviews_label label ON label.item_id = routed.item_id AND label.question_id = %(question)s
        AND label.taken_back_at IS NULL AND label.source <> 'import' AND label.is_asked
)
"""  # noqa: S608 - put together from constants; what comes from outside are parameters
_FIRST_DAY = """
SELECT max((route.created_at AT TIME ZONE %(zone)s)::date)
FROM items_route route JOIN reviews_reviewtask task ON task.route_id = route.id AND task.status <> 'cancelled'
WHERE route.workflow_id = %(workflow)s AND route.superseded_at IS NULL AND route.drawn
    AND route.question_set_id = %(question_set)s AND route.policy_id = ANY (%(policies)s)
    AND route.created_at >= (%(start_on)s::date::timestamp AT TIME ZONE %(zone)s)
    AND route.created_at <= %(now)s AND NOT %(key)s = ANY (task.asked)
"""
_CELLS = f"""{_ROUTES}
SELECT side, day, bin, stratum, pi, count(*) FILTER (WHERE NOT beside),
       count(*) FILTER (WHERE is_due AND NOT beside), count(*) FILTER (WHERE is_due AND is_answered AND NOT beside),
       count(*) FILTER (WHERE is_due AND is_answered AND NOT beside AND differs),
       count(*) FILTER (WHERE is_late AND NOT beside), count(*) FILTER (WHERE beside)
FROM seen GROUP BY side, day, bin, stratum, pi
"""  # noqa: S608 - put together from constants; what comes from outside are parameters
_ANSWERS = f"""{_ROUTES}
SELECT day, bin, pi, NOT is_answered OR differs, external_id
FROM seen WHERE side = %(side)s AND is_due AND stratum = %(stratum)s AND NOT beside AND (is_answered OR is_late)
"""  # noqa: S608 - as above


def count_sides(basis: SideBasis) -> dict[str, LabelCounts]:
    """Of days on which every check asked the question: before the hold was there, or checks asked what
    could have held, they did not."""
    last_unasked: date | None = _fetch(_FIRST_DAY, basis)[0][0]
    start_on = basis.start_on if last_unasked is None else last_unasked + timedelta(days=1)
    cells = [Cell(*row) for row in _fetch(_CELLS, basis)]
    return {
        side: count_cells(
            [cell for cell in cells if cell.label == side],
            start_on=start_on,
            thin=partial(_kept, basis, side),
            is_blind_only=basis.is_blind_only,
        )
        for side in SIDES
    }


def _kept(basis: SideBasis, side: str, wanted: Wanted) -> Iterator[Kept]:
    rows = _fetch(_ANSWERS, basis, side=side, stratum=wanted.stratum)
    return kept_singly(basis.workflow, starmap(Single, rows), wanted)


def _fetch(sql: str, basis: SideBasis, **more: str) -> list[tuple[Any, ...]]:
    inner, outer = group_hash_pads(django_settings.SECRET_KEY.encode(), basis.workflow.slug)
    values: dict[str, Any] = {
        "workflow": basis.workflow.pk,
        "zone": basis.workflow.time_zone,
        "key": basis.question.key,
        "question": basis.question.pk,
        "question_set": basis.question.question_set_id,
        "model": basis.model,
        "policies": list(basis.policies),
        "start_on": basis.start_on,
        "now": basis.now,
        "is_blind_only": basis.is_blind_only,
        "deadline": basis.now - AUDIT_DEADLINE,
        "grid": list(GRID),
        "lows": [-low_for(value) for value in GRID],
        "inner": inner,
        "outer": outer,
    }
    with connection.cursor() as cursor:
        cursor.execute(sql, values | more)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows
