"""Reads of items, and rows turned into the pure types of routing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apps.items.models import Decision, Item, ItemContent
from apps.routing.types import DecisionView, ItemFacts, QuestionAnswer
from apps.workflows.models import QuestionSet


def to_decision_view(answers: Mapping[str, Any], routing_question: str) -> DecisionView:
    """Stored answers (`Decision.answers`) as routing reads them."""
    return DecisionView(
        routing_question=routing_question,
        answers={
            key: QuestionAnswer(answer["kind"], tuple((option, p) for option, p in answer["probabilities"]))
            for key, answer in answers.items()
        },
    )


def to_item_facts(item: Item, content: ItemContent) -> ItemFacts:
    return ItemFacts(text=content.text, metadata=item.metadata)


def routing_key_of(question_set: QuestionSet) -> str:
    """The key of the question whose answer picks the action."""
    return next(question.key for question in question_set.questions.all() if question.is_routing)


def model_values(decision: Decision | None) -> dict[str, str]:
    """The model's most probable answer to each question; of equals the first declared. Empty without a decision."""
    if decision is None:
        return {}
    return {
        key: max(answer["probabilities"], key=lambda pair: pair[1])[0]
        for key, answer in decision.answers.items()
    }
