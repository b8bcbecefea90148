"""Trials: labelled examples put together, labelled blind where nobody has, and sent on to be run; or adopted as labels.

A file is taken whole or not at all. Examples drawn from items are drawn by a keyed hash, so the same seed over the
same items draws the same ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from apps.accounts.models import User
from apps.calibration.models import Trial, TrialAnswer, TrialExample, TrialModel
from apps.calibration.trials.files import Example
from apps.calibration.trials.values import belongs_nowhere, routing_of, to_option
from apps.core.errors import Conflict, FieldProblem, InvalidInput
from apps.core.text import repaired
from apps.core.wake import wake
from apps.pipeline.endpoints import CLOUDFLARE_PRICES
from apps.policies.selectors import active_policy
from apps.workflows.models import Endpoint, Question, Workflow
from apps.workflows.selectors import current_question_set

ASKED_FOR = 50
"""Examples a trial should have; fewer are taken, and the page says what they cannot show."""
NOWHERE_ASKED_FOR = 10
MOST_MODELS = 6
MOST_OPEN = 50
"""Trials of a workflow that are not done: each may hold thousands of texts."""
TASK = "apps.calibration.tasks.run_trials"
PREFIX = "@cf/cloudflare/"


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """An endpoint to ask; `model` "" asks the endpoint's own."""

    name: str
    endpoint: Endpoint
    model: str = ""


@transaction.atomic
def create_trial(
    *, workflow: Workflow, name: str, examples: Sequence[Example], user: User | None, now: datetime
) -> Trial:
    """A draft, with a column for everybody whose answers came along. Raises InvalidInput, Conflict."""
    if not examples:
        raise InvalidInput(FieldProblem("file", "holds no examples"))
    if Trial.objects.filter(workflow=workflow).exclude(status=Trial.Status.DONE).count() >= MOST_OPEN:
        raise Conflict(f"{MOST_OPEN} trials of this workflow are not done yet. Delete some of them first.")
    policy = active_policy(workflow)
    costs = {name: policy.rules.get(name) for name in ("costs", "review_cost")} if policy else {}
    trial = Trial.objects.create(
        workflow=workflow,
        question_set=current_question_set(workflow),
        name=repaired(name)[0].strip()[:120] or f"Trial of {now:%Y-%m-%d}",
        created_by=user,
        costs=costs,
        created_at=now,
    )
    rows = TrialExample.objects.bulk_create(
        TrialExample(
            trial=trial,
            position=position,
            external_id=each.external_id,
            state=each.state,
            truth=each.truth,
            is_out_of_scope=each.is_out_of_scope,
            item_id=each.item_id,
        )
        for position, each in enumerate(examples)
    )
    _add_given(trial, list(zip(rows, examples, strict=True)))
    return trial


def _add_given(trial: Trial, pairs: Sequence[tuple[TrialExample, Example]]) -> None:
    kinds = {each.key: each.kind for each in trial.question_set.questions.all()}
    names = dict.fromkeys(name for _, example in pairs for name in example.given)
    for position, name in enumerate(names):
        model = TrialModel.objects.create(trial=trial, position=position, name=name)
        TrialAnswer.objects.bulk_create(
            TrialAnswer(
                trial_model=model,
                example=row,
                values=example.given[name].values,
                answers=_as_decision(example.given[name].probabilities, kinds),
            )
            for row, example in pairs
            if name in example.given
        )


def _as_decision(
    probabilities: Mapping[str, list[list[Any]]], kinds: Mapping[str, str]
) -> dict[str, Any] | None:
    if not probabilities:
        return None
    return {
        key: {"kind": kinds[key], "probabilities": pairs, "raw_confidence": None}
        for key, pairs in probabilities.items()
    }


def unlabelled(trial: Trial) -> QuerySet[TrialExample]:
    """Those that nobody has labelled, in the order they are shown."""
    return trial.examples.filter(truth__isnull=True).order_by("position")


def choices_for(workflow: Workflow, names: Iterable[str]) -> list[ModelChoice]:
    """An endpoint by its name, else a model of the workflow's endpoint. Raises InvalidInput for too many or twins."""
    wanted = [name.strip() for name in names if name.strip()]
    by_name = {each.name: each for each in Endpoint.objects.filter(name__in=wanted)}
    chosen = []
    for name in wanted:
        endpoint = by_name.get(name)
        if endpoint is not None:
            chosen.append(ModelChoice(name, endpoint))
        elif not name.isprintable() or len(name) > 120:
            raise InvalidInput(FieldProblem("models", "must be names of up to 120 printable characters"))
        else:
            own = workflow.endpoint
            chosen.append(ModelChoice(name, own, "" if name == own.model else name))
    if len({each.name for each in chosen}) < len(chosen):
        raise InvalidInput(FieldProblem("models", "names one of them twice"))
    if len(chosen) > MOST_MODELS:
        raise InvalidInput(FieldProblem("models", f"at most {MOST_MODELS} can be asked in one trial"))
    return chosen


@transaction.atomic
def start_trial(*, trial: Trial, models: Sequence[ModelChoice]) -> Trial:
    """Hands a draft to the workers. Raises Conflict when it was started already, or examples wait for a label."""
    trial = _locked(trial)
    if trial.status != Trial.Status.DRAFT:
        raise Conflict("This trial was started already.")
    left = unlabelled(trial).count()
    if left:
        raise Conflict(f"{left} of its examples have no label yet. Label them first.")
    given = list(trial.models.values_list("name", flat=True))
    if not models and not given:
        raise Conflict("Choose at least one model to ask.")
    if twin := next((each.name for each in models if each.name in given), ""):
        raise Conflict(f"{twin} stands in the file already, as a column of answers.")
    TrialModel.objects.bulk_create(
        TrialModel(trial=trial, position=position, name=each.name, endpoint=each.endpoint, model=each.model)
        for position, each in enumerate(models, start=len(given))
    )
    _send(trial)
    return trial


@transaction.atomic
def ask_again(*, trial: Trial) -> Trial:
    """What came to nothing is asked once more. Raises Conflict while it runs, or when nothing failed."""
    trial = _locked(trial)
    if trial.status not in (Trial.Status.DONE, Trial.Status.FAILED):
        raise Conflict("This trial is still at work.")
    failed = TrialAnswer.objects.filter(trial_model__trial=trial, trial_model__endpoint__isnull=False)
    deleted, _ = failed.exclude(error="").delete()
    if not deleted and trial.status == Trial.Status.DONE:
        raise Conflict("Every model answered every example: there is nothing to ask again.")
    _send(trial)
    return trial


@transaction.atomic
def label_example(
    *, trial: Trial, example_id: int, values: Mapping[str, str | None], user: User
) -> TrialExample:
    """The truth as a person sees it; a question left out stays unknown. Raises Conflict, InvalidInput.

    None as the value of a choice: none of its options fits.
    """
    trial = _locked(trial)
    example = trial.examples.select_for_update().filter(pk=example_id).first()
    if trial.status != Trial.Status.DRAFT or example is None or example.truth is not None:
        raise Conflict("This example has its label already.")
    questions = {each.key: each for each in trial.question_set.questions.all()}
    for key, value in values.items():
        _check_value(questions, key, value)
    truth = {key: value or questions[key].none_of_these or None for key, value in values.items()}
    routing = routing_of(questions.values())
    example.is_out_of_scope = bool(
        routing and routing.key in truth and belongs_nowhere(routing, truth[routing.key])
    )
    example.truth, example.labelled_by = truth, user
    example.save(update_fields=["truth", "is_out_of_scope", "labelled_by"])
    return example


@transaction.atomic
def take_label_back(*, trial: Trial, user: User) -> TrialExample:
    """This person's last label here; Conflict when there is none, or the trial has begun."""
    trial = _locked(trial)
    last = trial.examples.filter(labelled_by=user).order_by("-position").first()
    if trial.status != Trial.Status.DRAFT or last is None:
        raise Conflict("There is no label of yours here to take back.")
    last.truth, last.is_out_of_scope, last.labelled_by = None, False, None
    last.save(update_fields=["truth", "is_out_of_scope", "labelled_by"])
    return last


@transaction.atomic
def delete_trial(*, trial: Trial) -> None:
    """Its examples and answers go with it; labels that were adopted stay. Raises Conflict while it runs."""
    trial = _locked(trial)
    if trial.status == Trial.Status.RUNNING:
        raise Conflict("A worker is at it: wait until it has ended.")
    trial.delete()


def price_of(model: TrialModel) -> Decimal | None:
    """USD per million input tokens: the endpoint's, or of another model of it the catalogue's; None when unknown."""
    if model.endpoint is None:
        return None
    if not model.model or model.model == model.endpoint.model:
        return model.endpoint.price_per_million
    return CLOUDFLARE_PRICES.get(model.model.removeprefix(PREFIX))


def _check_value(questions: Mapping[str, Question], key: str, value: str | None) -> None:
    question = questions.get(key)
    if question is None:
        raise InvalidInput(FieldProblem(f"answers.{key[:60]}", "is not asked here"))
    if value is None and question.kind == Question.Kind.CHOICE:
        return
    if value is None or to_option(question, value) != value:
        raise InvalidInput(FieldProblem(f"answers.{key}", "is not one of the options"))


def _send(trial: Trial) -> None:
    trial.status, trial.error, trial.attempts, trial.finished_at = Trial.Status.WAITING, "", 0, None
    trial.claim_token = trial.claimed_until = None
    trial.save()
    transaction.on_commit(lambda: wake(TASK))


def _locked(trial: Trial) -> Trial:
    found = Trial.objects.select_for_update().filter(pk=trial.pk).first()
    if found is None:
        raise Conflict("This trial was deleted meanwhile.")
    return found
