"""From certificates to the policy: what takes effect by itself, and what a manager is asked to activate.

A label whose certificate starts above its threshold is tightened at once. Whatever lets more through is a
proposal, however sure it looks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from apps.calibration.models import Certificate, Incident
from apps.calibration.watching.incidents import Finding, open_incident
from apps.policies.models import Policy
from apps.policies.readable import isolated, share
from apps.policies.selectors import open_drafts
from apps.policies.services import activate, create_draft, discard_draft, propose
from apps.routing.types import Autonomy, LabelRule
from apps.stats.costs import cheapest_certified
from apps.workflows.models import Workflow

MOST_NOTE = 300
_WORDS = {
    Autonomy.AUDITED: "acts by itself from {}, a share is checked",
    Autonomy.AUTOMATIC: "acts by itself from {}, the least share is checked",
}


@dataclass(frozen=True, slots=True)
class Change:
    label: str
    name: str
    old: LabelRule
    new: LabelRule

    @property
    def sentence(self) -> str:
        name = isolated(self.name)
        if self.old.autonomy is self.new.autonomy:
            return f"{name}: from {share(self.old.threshold)} to {share(self.new.threshold)}"
        return f"{name} {_WORDS[self.new.autonomy].format(share(self.new.threshold))}"


def tightened(name: str, rule: LabelRule, certificate: Certificate, cost_threshold: float) -> Change | None:
    """What must happen at once: a label that acts below everything its new certificate allows."""
    if not rule.autonomy.may_act or rule.threshold >= min(certificate.certified):
        return None
    allowed = cheapest_certified(certificate.certified, cost_threshold)
    # Where acting pays above them all only, the costs hold every item anyway.
    threshold = max(certificate.certified) if allowed is None else allowed
    return Change(certificate.label, name, rule, replace(rule, threshold=threshold))


def loosened(name: str, rule: LabelRule, certificate: Certificate, cost_threshold: float) -> Change | None:
    """What a manager may be asked: the threshold the certificate allows, and the next step of autonomy.

    A certified label may act while a share is checked; to have only the least share checked it must have been
    certified again while it acted.
    """
    threshold = cheapest_certified(certificate.certified, cost_threshold)
    if threshold is None:
        return None
    autonomy = rule.autonomy
    if not autonomy.may_act:
        autonomy = Autonomy.AUDITED
    elif autonomy is Autonomy.AUDITED and _is_renewed(certificate):
        autonomy = Autonomy.AUTOMATIC
    new = replace(rule, threshold=threshold, autonomy=autonomy)
    return None if new == rule else Change(certificate.label, name, rule, new)


def _is_renewed(certificate: Certificate) -> bool:
    """Whether it took another one's place, and the label acted already when it was issued."""
    rule = certificate.run.policy.rules["labels"].get(certificate.label, {})
    acted = "autonomy" in rule and Autonomy(rule["autonomy"]).may_act
    renewed = Certificate.objects.filter(
        workflow=certificate.workflow_id,
        question=certificate.question_id,
        label=certificate.label,
        ended_because=Certificate.Ended.RENEWED,
    ).exclude(run=certificate.run_id)
    return acted and renewed.exists()


def rules_with(rules: Mapping[str, Any], changes: Iterable[Change]) -> dict[str, Any]:
    changed = deepcopy(dict(rules))
    for change in changes:
        entry = changed["labels"][change.label]
        entry["threshold"], entry["autonomy"] = change.new.threshold, change.new.autonomy.value
    return changed


def note_of(changes: Sequence[Change], day: str) -> str:
    """In plain words, at most as long as a note may be."""
    said = f"Calibration of {day}."
    for place, change in enumerate(changes):
        left = len(changes) - place - 1
        more = f" {left} more." if left else ""
        longer = f"{said} {change.sentence}."
        if len(longer) + len(more) > MOST_NOTE:
            return f"{said} {left + 1} more."
        said = longer
    return said


def propose_changes(
    *, workflow: Workflow, active: Policy, changes: Sequence[Change], day: str
) -> Policy | None:
    """The proposal of `changes`; an earlier run's that nobody touched is kept when it says the same, else it goes."""
    rules = rules_with(active.rules, changes)
    earlier = open_drafts(workflow).filter(status=Policy.Status.PROPOSED, created_by=None)
    kept = None
    for draft in earlier.filter(proposed_by_runs__isnull=False).distinct():
        if changes and kept is None and draft.rules == rules and draft.based_on_id == active.pk:
            kept = draft
        else:
            discard_draft(policy=draft)
    if kept is not None or not changes:
        return kept
    draft = create_draft(
        workflow=workflow, rules=rules, based_on=active, user=None, note=note_of(changes, day)
    )
    return propose(policy=draft)


def tighten(
    *, workflow: Workflow, active: Policy, changes: Sequence[Change], day: str, now: datetime
) -> Policy:
    """The policy in force with stricter thresholds, activated by nobody; an incident for each label says so.

    The active version itself without changes.
    """
    if not changes:
        return active
    draft = create_draft(
        workflow=workflow,
        rules=rules_with(active.rules, changes),
        based_on=active,
        user=None,
        note=note_of(changes, day),
    )
    policy = activate(policy=draft, user=None, now=now)
    for change in changes:
        open_incident(
            workflow=workflow,
            found=_raised(change),
            now=now,
            policy_before=active,
            policy_after=policy,
        )
    return policy


def _raised(change: Change) -> Finding:
    return Finding(
        kind=Incident.Kind.TIGHTENED,
        level=Incident.Level.ALARM,
        label=change.label,
        name=change.name,
        numbers={"threshold": change.old.threshold, "raised_to": change.new.threshold},
        sentence=(
            f"{isolated(change.name)} acts by itself from {share(change.new.threshold)} on, no longer from "
            f"{share(change.old.threshold)}: the checks certify nothing lower."
        ),
    )
