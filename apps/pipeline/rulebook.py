"""What routing an item needs of its workflow, loaded once a batch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from django.conf import settings
from django.db.models import prefetch_related_objects

from apps.actions.models import Action
from apps.items.models import Item
from apps.items.selectors import routing_key_of
from apps.policies.models import Policy
from apps.policies.rules import to_rules
from apps.routing.draw import draws_for
from apps.routing.types import Draw, Rules
from apps.workflows.models import QuestionSet, Workflow


@dataclass(frozen=True)
class Rulebook:
    workflow: Workflow
    question_set: QuestionSet
    policy: Policy
    actions: dict[str, Action]

    @cached_property
    def rules(self) -> Rules:
        """Read when they are needed: giving an item to people needs none. ValueError when they cannot be read."""
        return to_rules(self.policy.rules, self.question_set)

    @cached_property
    def routing_key(self) -> str:
        return routing_key_of(self.question_set)

    def draw_for(self, item: Item) -> Draw:
        """A keyed hash: a resend or a second worker cannot roll the dice again."""
        return draws_for(settings.SECRET_KEY.encode(), self.workflow.slug, item.external_id)


def rulebook_for(workflow: Workflow, question_set: QuestionSet | None = None) -> Rulebook:
    """The policy in force, over the current questions or those an earlier decision was made with."""
    questions = question_set or QuestionSet.objects.get(workflow=workflow, is_current=True)
    # Read for every item of a batch: without this, a query each.
    prefetch_related_objects([questions], "questions")
    policy = Policy.objects.get(workflow=workflow, status=Policy.Status.ACTIVE)
    actions = {action.label: action for action in Action.objects.filter(workflow=workflow)}
    return Rulebook(workflow, questions, policy, actions)
