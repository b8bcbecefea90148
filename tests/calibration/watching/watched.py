"""Checks of automatic items in an order that is known, and the policy after them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from apps.calibration.watching.audit_stream import read_stream
from apps.calibration.watching.watching import Standing, follow
from apps.policies.models import Policy
from apps.workflows.models import Workflow
from tests.calibration.streams import AUDITED, EARLIER, Past
from tests.factories import NOW, make_policy


def mixed(
    right: int, wrong: int, *, label: str = "spam", pi: float = 0.1, at: datetime = EARLIER
) -> list[Past]:
    """One a second from `at` on: the wrong ones evenly among the right ones, each after its share of right ones."""
    every = right // wrong
    checked = replace(AUDITED, label=label, answer=label, pi=pi, at=at)
    other = replace(checked, answer="lead" if label != "lead" else "customer")
    block = [*[checked] * every, other]
    return in_order([*block * wrong, *[checked] * (right - every * wrong)], at)


def standings(workflow: Workflow) -> dict[str, Standing]:
    """Of every label that acts by itself."""
    stream = read_stream(workflow=workflow, now=NOW)
    assert stream is not None
    return {
        each.label: follow(stream.of(each.label), each.rule.target_error, each.audit_rate)
        for each in stream.acting
    }


def in_order(past: list[Past], at: datetime = EARLIER) -> list[Past]:
    return [replace(each, at=at + timedelta(seconds=second)) for second, each in enumerate(past)]


def change_rules(workflow: Workflow, rules: Mapping[str, Any]) -> Policy:
    """As a manager would, with the same gates."""
    version = workflow.policies.count() + 1
    workflow.policies.filter(status="active").update(status="retired")
    return make_policy(workflow, dict(rules), version=version)


def autonomy(workflow: Workflow) -> dict[str, str]:
    rules = workflow.policies.get(status="active").rules
    return {label: rule["autonomy"] for label, rule in rules["labels"].items()}
