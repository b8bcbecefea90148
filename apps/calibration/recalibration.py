"""What the checks of the last weeks allow each label to do by itself, computed afresh from what is stored.

Nothing is kept or changed here. Each computation spends the whole of `DELTA`, as a first attempt does: reading
it as often as one likes is harmless, deciding by the best of many readings is not (recalibration.md section 2.6).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from apps.calibration.counts import WINDOW_WEEKS, LabelCounts, count_labels
from apps.calibration.evidence import window_days
from apps.policies.rules import to_rules
from apps.policies.selectors import active_policy
from apps.routing.types import LabelRule
from apps.stats.certificates import LabelCertificate, certificate_sentence, certify
from apps.workflows.models import Workflow
from apps.workflows.selectors import current_question_set

CONFIDENCE = 0.95
DELTA = 0.05


@dataclass(frozen=True, slots=True)
class LabelFinding:
    """One label of the policy in force. `certificate` is None where there is nothing to certify; `sentence` says why.

    `is_certified`: the threshold in force is itself one of the certified ones; one that lies between two of
    them, or above them all, is not, as errors need not fall where probabilities rise.
    """

    label: str
    name: str
    rule: LabelRule
    evidence: LabelCounts
    certificate: LabelCertificate | None
    sentence: str

    @property
    def is_certified(self) -> bool:
        return self.certificate is not None and self.rule.threshold in self.certificate.certified


def certificates(*, workflow: Workflow, now: datetime, weeks: int = WINDOW_WEEKS) -> tuple[LabelFinding, ...]:
    """One finding a label the policy names, in the order of the question's options; () without a policy."""
    policy = active_policy(workflow)
    if policy is None:
        return ()
    questions = current_question_set(workflow)
    names = next(question.option_names for question in questions.questions.all() if question.is_routing)
    rules = to_rules(policy.rules, questions)
    counted = count_labels(workflow=workflow, now=now, weeks=weeks)
    nothing = LabelCounts((), window_days(workflow, now, weeks)[0], None)
    return tuple(
        _finding(label, name, rules.labels[label], counted.get(label, nothing), rules.none_of_these)
        for label, name in names.items()
        if label in rules.labels
    )


def _finding(
    label: str, name: str, rule: LabelRule, evidence: LabelCounts, none_of_these: str | None
) -> LabelFinding:
    refused = refusal(label, rule, none_of_these)
    if refused:
        return LabelFinding(label, name, rule, evidence, None, refused)
    certificate = certify(
        evidence.counts,
        alpha=rule.target_error,
        delta=DELTA,
        drawn=evidence.drawn,
        unanswered=evidence.unanswered,
    )
    sentence = certificate_sentence(
        certificate,
        start_on=evidence.start_on,
        end_on=evidence.end_on or evidence.start_on,
        checks_per_week=certificate.labelled / evidence.weeks if evidence.weeks else None,
    )
    if evidence.end_on is None and evidence.pending:
        sentence += f" {evidence.pending:,} reviews and checks wait for an answer."
    return LabelFinding(label, name, rule, evidence, certificate, sentence)


def refusal(label: str, rule: LabelRule, none_of_these: str | None) -> str:
    """Why there is nothing to certify, whatever the answers are; "" where there is."""
    if label == none_of_these:
        return "Never acts by itself: it means that no label fits."
    if rule.target_error <= 0:
        return "No number of checks can show that people would never have decided otherwise: a target of 0%."
    if rule.target_error >= 1:
        return "A target of 100% promises nothing, so there is nothing to certify."
    return ""
