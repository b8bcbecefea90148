"""Weeks of a workflow in seconds: recorded decisions come in, an oracle answers, calibration and alarms do their work.

Everything goes through the product's own functions, with a `now` that the simulation sets; only the model is a
recording, and people are an oracle that answers every open task on its day from the truth.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from django.db import connection

from apps.accounts.models import User
from apps.calibration.expiring import expire
from apps.calibration.looking import look
from apps.calibration.models import CalibrationRun
from apps.calibration.models_counts import Counted, DayCount
from apps.calibration.running import run_calibration
from apps.calibration.watching.watching import watch
from apps.clef.types import Answer as ModelAnswer
from apps.clef.types import ModelReply
from apps.demo.recorded import Example, Recording
from apps.items.models import Decision, Item, ItemContent, Route
from apps.pipeline.claims import claim_items
from apps.pipeline.incoming import Incoming
from apps.pipeline.intake import add_items
from apps.pipeline.rulebook import rulebook_for
from apps.pipeline.setup import check_workflow_file, install_workflow
from apps.pipeline.writing import write_answers
from apps.policies.services import activate
from apps.reviews.models import Answer, Label, Review, ReviewTask
from apps.workflows.models import Endpoint, Membership, Question, Role, Workflow

START = datetime(2026, 1, 5, tzinfo=UTC)
"""A Monday."""
QUESTION = "for"
TARGET = 0.05
AUDIT_RATE = 0.25
"""High, because the stream is small: a label needs 20 checks in four weeks to keep its certificate."""
BATCH = 500
_GROWING = tuple(
    model._meta.db_table
    for model in (Item, ItemContent, Decision, Route, ReviewTask, Review, Answer, Label, DayCount, Counted)
)
_COMES, _IS_ANSWERED, _IS_LOOKED_AT = timedelta(hours=8), timedelta(hours=15), timedelta(hours=26, minutes=30)


@dataclass
class Simulation:
    """One recording's workflow. Items are drawn from the recording with replacement, by a generator of this `seed`.

    `came` is what did so far, in order, by external id.
    """

    recording: Recording
    workflow: Workflow
    manager: User
    reviewer: User
    seed: int
    came: dict[str, Example] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._chance = Random(f"{self.recording.data}/{self.recording.model}/{self.seed}")  # noqa: S311 - no secret

    def live(self, *, weeks: int, items_a_week: int, answer: Oracle) -> None:
        for day in range(7 * weeks):
            share = items_a_week * (day % 7 + 1) // 7 - items_a_week * (day % 7) // 7
            today = START + timedelta(days=day)
            self._receive(share, today + _COMES)
            answer(self, today + _IS_ANSWERED)
            if day % 7 == 6:
                self._pass_night(today + _IS_LOOKED_AT)

    def _receive(self, count: int, now: datetime) -> None:
        examples = self._chance.choices(self.recording.examples, k=count)
        first = len(self.came)
        came = {f"{first + place:06}": each for place, each in enumerate(examples)}
        self.came |= came
        incoming = [Incoming(external_id, {"message": each.text}) for external_id, each in came.items()]
        added = add_items(workflow=self.workflow, incoming=incoming, source="recorded", now=now).added
        by_item = {each.item_id: examples[each.index] for each in added}
        book = rulebook_for(self.workflow)
        while (claim := claim_items(workflow=self.workflow, limit=BATCH)).item_ids:
            outcomes = {pk: self._reply(by_item[pk]) for pk in claim.item_ids}
            write_answers(book=book, claim=claim, outcomes=outcomes, now=now)

    def _reply(self, example: Example) -> ModelReply:
        shares = tuple(zip(self.recording.labels, example.shares, strict=True))
        return ModelReply(
            model=self.recording.model,
            answers={QUESTION: ModelAnswer(QUESTION, "choice", shares)},
            request_id=None,
            http_status=200,
            latency_s=0.0,
            input_tokens=None,
            output_tokens=None,
            body=json.dumps(dict(shares)),
        )

    def _pass_night(self, now: datetime) -> None:
        """The alarms, which are asked every few minutes in life, and a night of `calibration.night` for this workflow;
        a manager activates what is proposed."""
        with connection.cursor() as cursor:
            # As autovacuum does. Never all tables: catalogs that all databases share would stay locked till the end.
            cursor.execute(f"ANALYZE {', '.join(_GROWING)}")
        watch(workflow=self.workflow, now=now)
        run = None
        if look(workflow=self.workflow, now=now).attempts:
            run = run_calibration(
                workflow=self.workflow, trigger=CalibrationRun.Trigger.SCHEDULED, user=None, now=now
            )
        expire(workflow=self.workflow, now=now)
        if run is not None and run.proposal is not None:
            activate(policy=run.proposal, user=self.manager, now=now)


Oracle = Callable[[Simulation, datetime], None]


def answer_in_bulk(simulation: Simulation, now: datetime) -> None:
    """The rows that answers at the desk leave, without their leases, where ten thousands would take minutes."""
    tasks = list(
        ReviewTask.objects.filter(workflow=simulation.workflow, status=ReviewTask.Status.OPEN).select_related(
            "item", "route"
        )
    )
    if not tasks:
        return
    question = Question.objects.get(question_set=tasks[0].question_set_id, key=QUESTION)
    reviews = Review.objects.bulk_create(
        Review(
            task=task,
            user=simulation.reviewer,
            revision=1,
            blind=task.blind,
            lease_token=uuid.uuid4(),
            created_at=now,
        )
        for task in tasks
    )
    pairs = [(review, simulation.came[review.task.item.external_id].truth) for review in reviews]
    Answer.objects.bulk_create(_to_answer(simulation, review, question, truth) for review, truth in pairs)
    Label.objects.bulk_create(
        Label(
            workflow=simulation.workflow,
            item=review.task.item,
            question=question,
            question_set_id=question.question_set_id,
            value=truth,
            source=Label.Source.REVIEW,
            review=review,
            blind=review.blind,
            pi=review.task.route.pi,
            created_at=now,
        )
        for review, truth in pairs
    )
    _close(tasks, now)


def _to_answer(simulation: Simulation, review: Review, question: Question, truth: str) -> Answer:
    predicted = review.task.route.label
    kind = Answer.Kind.ACCEPT if truth == predicted else Answer.Kind.CORRECT
    if truth == simulation.recording.none_of_these:
        kind = Answer.Kind.NONE_OF_THESE
    return Answer(review=review, question=question, kind=kind, value=truth, model_value=predicted)


def _close(tasks: Sequence[ReviewTask], now: datetime) -> None:
    ReviewTask.objects.filter(pk__in=[task.pk for task in tasks]).update(
        status=ReviewTask.Status.DONE, closed_at=now, reviews_done=1
    )
    checks = [task.item_id for task in tasks if task.kind == ReviewTask.Kind.AUDIT]
    Item.objects.filter(pk__in=checks).update(audit_open=False)
    Item.objects.filter(pk__in=[task.item_id for task in tasks]).exclude(pk__in=checks).update(
        status=Item.Status.SETTLED, settled_by=Item.SettledBy.PEOPLE, settled_at=now
    )


def begin(
    recording: Recording, *, endpoint: Endpoint, manager: User, reviewer: User, seed: int
) -> Simulation:
    """A workflow where everything comes to people, as long as nothing is certified."""
    file = check_workflow_file(_workflow_file(recording))
    installed = install_workflow(file=file, endpoint=endpoint, owner=manager, now=START)
    # The desk gives nothing to who is no member.
    Membership.objects.create(user=reviewer, workflow=installed.workflow, role=Role.REVIEWER)
    return Simulation(recording, installed.workflow, manager, reviewer, seed)


def _workflow_file(recording: Recording) -> dict[str, Any]:
    options = [
        {"id": label, "name": label.replace("_", " ").capitalize(), "description": label}
        for label in recording.labels
    ]
    question: dict[str, Any] = {
        "id": QUESTION,
        "kind": "choice",
        "routing": True,
        "instructions": "Who should get this message?",
        "options": options,
    }
    if recording.none_of_these is not None:
        question["none_of_these"] = recording.none_of_these
    return {
        "workflow": {
            "slug": f"{recording.data}-{recording.model}".replace("_", "-"),
            "name": f"{recording.data} {recording.model}",
            "time_zone": "UTC",
        },
        "questions": [question],
        "policy": {
            "margin": 0.0,
            "review_cost": 1.0,
            "audit_rate": AUDIT_RATE,
            "automatic_audit_rate": AUDIT_RATE,
            "blind_share": 0.1,
            "labels": {
                label: {"threshold": 0.99, "autonomy": "suggest", "target_error": TARGET}
                for label in recording.labels
                if label != recording.none_of_these
            },
        },
    }
