"""What a trial found, example by example, as a table for a spreadsheet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from apps.accounts.models import User
from apps.calibration.models import Trial, TrialAnswer, TrialExample
from apps.calibration.trials.results import leave_unnamed
from apps.calibration.trials.values import LONGEST_VALUE
from apps.reviews.exports_formats import BOM, to_csv_row
from apps.workflows.models import Question

_COLUMNS = (
    "external_id",
    "question",
    "truth",
    "belongs_nowhere",
    "model",
    "answer",
    "probability",
    "seconds",
    "error",
)


def csv_of(trial: Trial, reader: User) -> Iterator[bytes]:
    """A row for each example, question and model. Items that `reader` may still be asked blind about have no name."""
    examples = {each.pk: each for each in trial.examples.defer("state").order_by("position")}
    leave_unnamed(list(examples.values()), reader)
    answers = TrialAnswer.objects.filter(trial_model__trial=trial).select_related("trial_model")
    questions = list(trial.question_set.questions.all())
    yield BOM + to_csv_row(_COLUMNS)
    for answer in answers.order_by("example__position", "trial_model__position").iterator():
        for question in questions:
            yield to_csv_row(_row(examples[answer.example_id], question, answer))


def _row(example: TrialExample, question: Question, answer: TrialAnswer) -> tuple[Any, ...]:
    value = answer.values.get(question.key)
    return (
        example.external_id,
        question.key,
        (example.truth or {}).get(question.key),
        example.is_out_of_scope,
        answer.trial_model.name,
        value,
        _probability(answer.answers or {}, question.key, value),
        answer.latency_s,
        answer.error[:LONGEST_VALUE],
    )


def _probability(answers: Mapping[str, Any], key: str, value: str | None) -> float | None:
    """Of the answer; None where only values were given."""
    pairs = answers.get(key, {}).get("probabilities", [])
    return next((p for option, p in pairs if option == value), None)
