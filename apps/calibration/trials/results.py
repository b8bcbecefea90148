"""What a trial shows: who was wrong about what and what that costs, model by model and side by side.

Examples that belong nowhere are counted apart, and unanswered ones are no answers: neither right nor wrong. Nothing
here enters a certificate: fifty chosen examples are no random draw of what comes in.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from apps.accounts.models import User
from apps.calibration.models import Trial, TrialAnswer, TrialExample, TrialModel
from apps.calibration.trials.confidence import definition_of
from apps.calibration.trials.pace import Pace, pace_of
from apps.calibration.trials.values import belongs_nowhere, routing_of
from apps.calibration.trials.words import pair_sentence, what_it_cannot_show, wrong_sentence
from apps.reviews.selectors import hidden_items
from apps.stats.agreement import Kappa, answer_table, kappa
from apps.stats.intervals import Gap
from apps.stats.paired import Pairs, mcnemar_p, paired_gap
from apps.stats.rates import Rate, rate, unknown
from apps.workflows.models import Question

NONE = "None of these"
MOST_NAMED = 5
LOOKED_AT = 100
"""Replies from which a server's definition of confidence is told."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One kind of mistake. `cost` None: the policy prices no such mistake. `examples` are a few external ids."""

    predicted: str
    true: str
    count: int
    cost: float | None
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ModelOnQuestion:
    """`right` is of the examples that belong somewhere and were answered, `nowhere` of those that belong nowhere.

    `cost_per_item` is of all that were answered, None where nothing is priced. `within_one` is of a score: at most
    one level off. `agreement` holds kappa, quadratic for a score.
    """

    model: TrialModel
    right: Rate
    nowhere: Rate
    unanswered: int
    disagreements: tuple[Disagreement, ...]
    cost_per_item: float | None
    within_one: Rate | None
    agreement: Kappa
    sentence: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two models over what both answered. `gap` None: there is nothing that both answered."""

    first: str
    second: str
    pairs: Pairs
    p: float
    gap: Gap | None
    sentence: str


@dataclass(frozen=True, slots=True)
class QuestionResult:
    question: Question
    labelled: int
    models: tuple[ModelOnQuestion, ...]
    comparisons: tuple[Comparison, ...]


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What is true of a model whatever the question. `confidence` names the server's definition, "" if it gave none."""

    model: TrialModel
    pace: Pace
    confidence: str
    answered_as: tuple[str, ...]
    errors: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class TrialResult:
    """`caveats` are sentences on what so few examples cannot show."""

    trial: Trial
    examples: int
    nowhere: int
    questions: tuple[QuestionResult, ...]
    facts: tuple[ModelFacts, ...]
    caveats: tuple[str, ...]

    @property
    def is_priced(self) -> bool:
        return bool(self.trial.costs.get("costs"))


def leave_unnamed(examples: Sequence[TrialExample], reader: User | None) -> None:
    """Takes the id from those that `reader` may still be asked blind about; nobody reading names all."""
    items = [example.item_id for example in examples if example.item_id is not None]
    hidden = hidden_items(reader, items) if reader is not None and items else set()
    for example in examples:
        if example.item_id in hidden:
            example.external_id = ""


def result_of(trial: Trial, reader: User | None = None) -> TrialResult:
    """A query for each model and five more, whatever the number of examples.

    Items that `reader` may still be asked blind about count, but are not named beside what a model said of them.
    """
    questions = list(trial.question_set.questions.all())
    examples = list(trial.examples.defer("state").exclude(truth__isnull=True).order_by("position"))
    leave_unnamed(examples, reader)
    models = list(trial.models.select_related("endpoint").order_by("position"))
    answers: dict[int, dict[int, TrialAnswer]] = defaultdict(dict)
    for each in TrialAnswer.objects.filter(trial_model__in=models).defer("answers"):
        answers[each.trial_model_id][each.example_id] = each
    routing = routing_of(questions)
    nowhere = sum(each.is_out_of_scope for each in examples)
    has_option = bool(routing and routing.none_of_these)
    return TrialResult(
        trial=trial,
        examples=len(examples),
        nowhere=nowhere,
        questions=tuple(_on_question(trial, each, examples, models, answers) for each in questions),
        facts=tuple(_facts(model, list(answers[model.pk].values())) for model in models),
        caveats=what_it_cannot_show(len(examples) - nowhere, nowhere, has_option=has_option),
    )


def _on_question(
    trial: Trial,
    question: Question,
    examples: Sequence[TrialExample],
    models: Sequence[TrialModel],
    answers: Mapping[int, Mapping[int, TrialAnswer]],
) -> QuestionResult:
    labelled = [each for each in examples if each.truth is not None and question.key in each.truth]
    said = {model.pk: _said(answers[model.pk], question) for model in models}
    # A model that is given answers to other questions only says nothing here.
    speaking = [model for model in models if model.endpoint_id is not None or said[model.pk]]
    return QuestionResult(
        question=question,
        labelled=len(labelled),
        models=tuple(_on_model(trial, question, labelled, model, said[model.pk]) for model in speaking),
        comparisons=tuple(
            _compare(question, labelled, first, second, said[first.pk], said[second.pk])
            for first, second in combinations(speaking, 2)
        ),
    )


def _said(answers: Mapping[int, TrialAnswer], question: Question) -> dict[int, str]:
    """What was answered to the question, by example."""
    return {
        example: answer.values[question.key]
        for example, answer in answers.items()
        if not answer.error and question.key in answer.values
    }


def _truth(question: Question, example: TrialExample) -> str | None:
    value: str | None = (example.truth or {})[question.key]
    return value


def _is_right(question: Question, true: str | None, value: str) -> bool:
    """What belongs nowhere is answered right by the option that says so, where there is one."""
    return value == (true or question.none_of_these)


def _on_model(
    trial: Trial,
    question: Question,
    labelled: Sequence[TrialExample],
    model: TrialModel,
    said: Mapping[int, str],
) -> ModelOnQuestion:
    heard = [(each, said[each.pk]) for each in labelled if each.pk in said]
    inside = [(each, value) for each, value in heard if not _is_nowhere(question, each)]
    outside = [(each, value) for each, value in heard if _is_nowhere(question, each)]
    right = sum(_is_right(question, _truth(question, each), value) for each, value in inside)
    kinds = _disagreements(trial, question, heard)
    return ModelOnQuestion(
        model=model,
        right=rate(right, len(inside)),
        nowhere=_right_nowhere(question, outside),
        unanswered=len(labelled) - len(heard),
        disagreements=kinds,
        cost_per_item=_mean_cost(kinds, len(heard))
        if question.is_routing and trial.costs.get("costs")
        else None,
        within_one=_within_one(question, inside),
        agreement=_agreement(question, inside),
        sentence=wrong_sentence(len(inside) - right, len(inside)),
    )


def _is_nowhere(question: Question, example: TrialExample) -> bool:
    return question.is_routing and belongs_nowhere(question, _truth(question, example))


def _right_nowhere(question: Question, outside: Sequence[tuple[TrialExample, str]]) -> Rate:
    if question.is_routing and not question.none_of_these:
        return unknown("the question has no option for it")
    return rate(sum(value == question.none_of_these for _, value in outside), len(outside))


def _disagreements(
    trial: Trial, question: Question, heard: Sequence[tuple[TrialExample, str]]
) -> tuple[Disagreement, ...]:
    """The dearest first, then the most frequent."""
    wrong: dict[tuple[str, str | None], list[str]] = defaultdict(list)
    for example, value in heard:
        true = _truth(question, example)
        if not _is_right(question, true, value):
            wrong[value, true].append(example.external_id)
    names = question.option_names
    kinds = [
        Disagreement(
            predicted=names.get(value, value),
            true=names.get(true, true) if true else NONE,
            count=len(ids),
            cost=_cost(trial, question, value, true, len(ids)),
            examples=tuple(filter(None, ids))[:MOST_NAMED],
        )
        for (value, true), ids in wrong.items()
    ]
    return tuple(sorted(kinds, key=lambda each: (-(each.cost or 0), -each.count, each.predicted, each.true)))


def _cost(trial: Trial, question: Question, value: str, true: str | None, count: int) -> float | None:
    """None where nothing is priced. "None of these" acts on nothing: it costs the look of a person."""
    table: dict[str, Any] = trial.costs.get("costs") or {}
    if not question.is_routing or not table or value not in question.option_ids:
        return None
    if question.none_of_these and value == question.none_of_these:
        return count * float(trial.costs.get("review_cost") or 0)
    return count * float((table.get(value) or {}).get(true or question.none_of_these, 0))


def _mean_cost(kinds: Sequence[Disagreement], n: int) -> float | None:
    if not n or any(each.cost is None for each in kinds):
        return None
    return sum(each.cost or 0 for each in kinds) / n


def _within_one(question: Question, heard: Sequence[tuple[TrialExample, str]]) -> Rate | None:
    if question.kind != Question.Kind.SCORE:
        return None
    places = {option: place for place, option in enumerate(question.option_ids)}
    near = [
        value in places and abs(places[value] - places[str(_truth(question, each))]) <= 1
        for each, value in heard
    ]
    return rate(sum(near), len(near))


def _agreement(question: Question, heard: Sequence[tuple[TrialExample, str]]) -> Kappa:
    """A given answer that is none of the options is another label of its own; of a score it cannot be placed."""
    labels: list[str] = list(question.option_ids)
    is_score = question.kind == Question.Kind.SCORE
    if not is_score:
        labels += [*sorted({value for _, value in heard} - set(labels)), ""]
    pairs = [(value, _truth(question, each) or "") for each, value in heard if value in labels]
    table = answer_table([one for one, _ in pairs], [other for _, other in pairs], labels)
    return kappa(table, quadratic=is_score)


def _compare(
    question: Question,
    labelled: Sequence[TrialExample],
    first: TrialModel,
    second: TrialModel,
    said_first: Mapping[int, str],
    said_second: Mapping[int, str],
) -> Comparison:
    cells = {(True, True): 0, (True, False): 0, (False, True): 0, (False, False): 0}
    for each in labelled:
        if each.pk in said_first and each.pk in said_second:
            true = _truth(question, each)
            one = _is_right(question, true, said_first[each.pk])
            cells[one, _is_right(question, true, said_second[each.pk])] += 1
    pairs = Pairs(cells[True, True], cells[True, False], cells[False, True], cells[False, False])
    p, gap = mcnemar_p(pairs), paired_gap(pairs) if pairs.n else None
    return Comparison(
        first.name, second.name, pairs, p, gap, pair_sentence(first.name, second.name, pairs, p)
    )


def _facts(model: TrialModel, answers: Sequence[TrialAnswer]) -> ModelFacts:
    errors: dict[str, int] = defaultdict(int)
    for each in answers:
        if each.error:
            errors[each.error] += 1
    good = [each for each in answers if not each.error]
    replies = [
        each.answers for each in model.answers.exclude(answers__isnull=True)[:LOOKED_AT] if each.answers
    ]
    return ModelFacts(
        model=model,
        pace=pace_of(good),
        confidence=definition_of(replies),
        answered_as=tuple(sorted({each.model for each in good} - {""})),
        errors=tuple(sorted(errors.items(), key=lambda pair: -pair[1])),
    )
