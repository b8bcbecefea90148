"""What happens by itself when quality is in doubt: labels go back to people, more items are checked.

Never more than that: each is a new version of the policy in force that lets less through, or checks more of it.
A manager's draft that was begun meanwhile is then based on another version, and its activation says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from datetime import datetime
from typing import Any

from django.db import transaction

from apps.policies.models import Policy
from apps.policies.selectors import active_policy
from apps.policies.services import activate, create_draft
from apps.routing.types import Autonomy
from apps.workflows.locking import lock_workflow
from apps.workflows.models import Workflow

RATES = ("audit_rate", "automatic_audit_rate")
DOUBLED = 2.0
"""Under three, so that no window mixes rates too far apart to be thinned to the smaller one."""
_STEPS = list(Autonomy)
_MOST_NOTE = 300


def demote(
    *,
    workflow: Workflow,
    labels: Iterable[str],
    because: str,
    now: datetime,
    to: Autonomy = Autonomy.SUGGEST,
    rates: Mapping[str, float] | None = None,
) -> Policy:
    """The policy in force with `labels` at `to`, activated by nobody; what has less autonomy already keeps it.

    `rates` are other audit rates (`RATES`). The active version itself when nothing changes. Automatic runs
    that wait are held when they start.
    Raises Policy.DoesNotExist without a policy in force, InvalidInput when it no longer fits the questions.
    """
    chosen = set(labels)

    def change(rules: dict[str, Any]) -> None:
        for label in chosen & rules["labels"].keys():
            rule = rules["labels"][label]
            if _STEPS.index(Autonomy(rule["autonomy"])) > _STEPS.index(to):
                rule["autonomy"] = to.value
        rules.update(rates or {})

    return _replace(workflow, change, because, now)


def change_audit_rates(
    *, workflow: Workflow, rates: Mapping[str, float], because: str, now: datetime
) -> Policy:
    """As `demote`, of no label."""
    return demote(workflow=workflow, labels=(), because=because, now=now, rates=rates)


def audit_rates(policy: Policy) -> dict[str, float]:
    return {name: float(policy.rules[name]) for name in RATES}


def doubled(rates: dict[str, float]) -> dict[str, float]:
    return {name: min(1.0, DOUBLED * value) for name, value in rates.items()}


@transaction.atomic
def _replace(
    workflow: Workflow, change: Callable[[dict[str, Any]], None], because: str, now: datetime
) -> Policy:
    # Before the active version is read: a manager who activates another one waits, or was first.
    lock_workflow(workflow)
    active = active_policy(workflow)
    if active is None:
        raise Policy.DoesNotExist(f"{workflow.slug} has no policy in force")
    rules = deepcopy(active.rules)
    change(rules)
    if rules == active.rules:
        return active
    note = because if len(because) <= _MOST_NOTE else f"{because[: _MOST_NOTE - 1]}…"
    draft = create_draft(workflow=workflow, rules=rules, based_on=active, user=None, note=note)
    return activate(policy=draft, user=None, now=now)
