from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError
from django.utils import timezone

from apps.calibration.looking import look
from apps.calibration.models import CalibrationRun
from apps.policies.models import Policy
from apps.stats.certificates import certify
from apps.stats.spending import attempt_delta
from apps.workflows.models import Workflow
from tests.calibration.commands import run
from tests.calibration.streams import AUDITED, REVIEWED, UNCHECKED, Past, insert_past
from tests.factories import NOW, RULES, make_policy
from tests.stats.counting import counts_from_items

pytestmark = pytest.mark.django_db

_COPIED = (
    "workflow",
    "question_set",
    "policy",
    "model",
    "trigger",
    "formula",
    "inputs",
    "seconds",
    "created_at",
)


def reading(workflow: Workflow, label: str = "spam") -> dict[str, Any]:
    results = look(workflow=workflow, now=NOW).results
    return next(each for each in results if each["label"] == label)


def recently(past: Sequence[Past]) -> list[Past]:
    """Seen by a command, whose now is the clock's."""
    return [replace(each, at=timezone.now() - timedelta(days=3)) for each in past]


def change_rules(workflow: Workflow, **changed: object) -> None:
    Policy.objects.filter(workflow=workflow).update(status="retired")
    make_policy(workflow, RULES | changed, version=2)


def test_it_works(workflow: Workflow) -> None:
    insert_past(workflow, [replace(REVIEWED, p=0.8)] * 600)
    found = reading(workflow)
    assert (found["start"], found["last"], found["is_attempt"]) == (0.8, 0.5, True)
    assert found["sentence"] == (
        "With 95% confidence at most 5% of the items accepted by itself under this rule are ones your reviewers "
        "would have decided otherwise. Based on 0 blind checks and 600 reviews from 2026-11-10 to 2026-11-10."
    )


def test_every_label_of_the_policy_is_there_without_data(workflow: Workflow) -> None:
    found = look(workflow=workflow, now=NOW).results
    assert [each["label"] for each in found] == ["lead", "customer", "spam"]
    assert {each["sentence"] for each in found} == {"Not enough checks yet: 0 of about 140."}


def test_too_few_checks_say_how_many_more_and_how_long(workflow: Workflow) -> None:
    insert_past(workflow, [REVIEWED] * 30 + [replace(REVIEWED, at=NOW - timedelta(days=7))] * 30)
    assert reading(workflow)["sentence"] == (
        "Not enough checks yet: 60 of about 140. At the present rate: 3 weeks."
    )


def test_a_backlog_is_told(workflow: Workflow) -> None:
    insert_past(workflow, [replace(REVIEWED, answer="")] * 7)
    assert reading(workflow)["sentence"].endswith(" 7 reviews and checks wait for an answer.")


def test_wrong_answers_speak_against_the_target(workflow: Workflow) -> None:
    insert_past(workflow, [REVIEWED] * 530 + [replace(REVIEWED, answer="lead")] * 70)
    assert reading(workflow)["sentence"] == "The checks do not support this target: 70 wrong of 600."


def test_unanswered_checks_refuse_the_certificate(workflow: Workflow) -> None:
    sure = replace(AUDITED, pi=1.0)
    insert_past(workflow, [sure] * 180 + [replace(sure, answer="")] * 20)
    assert reading(workflow)["sentence"].startswith("Too many checks were left unanswered: 20 of 200.")


def test_unchecked_items_alone_certify_nothing(workflow: Workflow) -> None:
    insert_past(workflow, [UNCHECKED] * 5_000)
    found = reading(workflow)
    assert (found["certified"], found["steps"][0]["bound"]) == ([], 1.0)


@pytest.mark.parametrize(("target", "says"), [(0.0, "No number of checks"), (1.0, "promises nothing")])
def test_a_target_that_cannot_be_certified_is_said(workflow: Workflow, target: float, says: str) -> None:
    rule = {"threshold": 0.9, "autonomy": "suggest", "target_error": target}
    change_rules(workflow, labels={"spam": rule, "other": rule})
    assert says in reading(workflow)["sentence"]
    assert reading(workflow, "other")["sentence"] == "Never acts by itself: it means that no label fits."


def test_a_threshold_between_certified_ones_is_not_certified(workflow: Workflow) -> None:
    change_rules(workflow, labels={"spam": {"threshold": 0.655, "autonomy": "audited", "target_error": 0.05}})
    insert_past(workflow, [replace(REVIEWED, p=0.8)] * 600)
    assert 0.655 not in reading(workflow)["certified"]
    assert {0.65, 0.66} <= set(reading(workflow)["certified"])


@pytest.mark.slow
def test_20_000_items_certify_what_stats_certifies(workflow: Workflow) -> None:
    past = _stream(20_000)
    insert_past(workflow, past)
    conf, wrong = [each.p for each in past], [each.answer != "spam" for each in past]
    automatic = np.array([each.outcome == "automatic" for each in past])
    drawn = np.array([each.drawn for each in past])
    expected = certify(
        counts_from_items(conf, wrong, automatic, drawn, 0.1),
        alpha=0.05,
        delta=attempt_delta(0.05, 1),
        drawn=int(drawn.sum()),
    )
    found = reading(workflow)
    assert found["certified"] == list(expected.certified)
    assert found["labelled"] == expected.labelled
    assert 0.6 < found["certified"][-1] < 0.9


def _stream(size: int) -> list[Past]:
    """Wrong with half the chance that is left: 5 % wrong of what is at 0.8 or above; audited from 0.9."""
    chance = Random(7)
    past = []
    for _ in range(size):
        p = chance.uniform(0.5, 1.0)
        automatic = p >= 0.9
        drawn = automatic and chance.random() < 0.1
        answer = "lead" if chance.random() < (1 - p) / 2 else "spam"
        past.append(
            Past(
                p=p,
                outcome="automatic" if automatic else "review",
                pi=0.1 if automatic else 1.0,
                drawn=drawn,
                answer=answer if drawn or not automatic else "",
                at=NOW - timedelta(days=chance.uniform(0, 50)),
            )
        )
    return past


def test_the_command_prints_what_is_certified(workflow: Workflow) -> None:
    insert_past(workflow, recently([replace(REVIEWED, p=0.8)] * 150))
    said = run("recalibrate", "--workflow", "leads", "--dry-run")
    assert "spam: audited, threshold 0.8, target 0.05" in said
    assert "150 of 150 reviews answered, 0 otherwise" in said
    assert "certified from 0.8 down to 0.5" in said
    assert "lead: suggest, threshold 0.9, target 0.05\n  not certified: Not enough checks yet" in said
    assert "0 of about 140. About 140 labels more.\n" in said


def test_a_dry_run_keeps_nothing(workflow: Workflow) -> None:
    insert_past(workflow, recently([replace(REVIEWED, p=0.8)] * 600))
    said = run("recalibrate", "--workflow", "leads", "--dry-run")
    assert "The proposal would be: Calibration of " in said
    assert (CalibrationRun.objects.count(), Policy.objects.count()) == (0, 1)


def test_a_run_is_kept_and_computed_again(workflow: Workflow) -> None:
    insert_past(workflow, recently([replace(REVIEWED, p=0.8)] * 600))
    said = run("recalibrate", "--workflow", "leads")
    kept = CalibrationRun.objects.get()
    assert "  attempt 1, which spends 0.0304 of the risk\n" in said
    assert f"Kept as run {kept.pk}" in said
    assert "The proposal is version 2: Calibration of " in said
    assert run("recalibrate", "--check", str(kept.pk)).endswith(
        "3 labels computed again, all as they were kept.\n"
    )


def test_a_run_that_differs_is_told(workflow: Workflow) -> None:
    run("recalibrate", "--workflow", "leads")
    kept = CalibrationRun.objects.get()
    other = CalibrationRun(**{name: getattr(kept, name) for name in _COPIED})
    other.results = [kept.results[0] | {"labelled": 7}, *kept.results[1:]]
    other.save()
    with pytest.raises(CommandError, match="differs when computed again: lead") as refusal:
        run("recalibrate", "--check", str(other.pk))
    assert refusal.value.returncode == 1


def test_only_labels_of_the_policy_can_be_forced(workflow: Workflow) -> None:
    with pytest.raises(CommandError, match="laed: is no label of the policy in force"):
        run("recalibrate", "--workflow", "leads", "--force", "laed")


def test_the_command_names_the_workflows_there_are(workflow: Workflow) -> None:
    with pytest.raises(CommandError, match=r"no workflow 'leds'. There are: leads\."):
        run("recalibrate", "--workflow", "leds", "--dry-run")
