"""The questions as a workflow file has them, with tags and guidelines: to keep, to compare, to take elsewhere."""

from __future__ import annotations

from typing import Any

from apps.actions.models import Action
from apps.policies.files import tables_to_toml
from apps.reviews.guidance import newest_guidelines
from apps.workflows.models import Question, QuestionSet


def questions_file(question_set: QuestionSet) -> str:
    """`[[questions]]` in TOML. Read again they are the same questions, so no new version is made of them."""
    questions = list(question_set.questions.all())
    newest = newest_guidelines(questions)
    actions = Action.objects.filter(workflow=question_set.workflow_id, kind=Action.Kind.TAG)
    tags = {action.label: action.settings["tag"] for action in actions}
    parts = []
    for question in questions:
        told = {option: each.text for (asked, option), each in newest.items() if asked == question.pk}
        parts.append(_to_part(question, told, tags if question.is_routing else {}))
    return tables_to_toml("questions", parts)


def _to_part(question: Question, told: dict[str, str], tags: dict[str, str]) -> dict[str, Any]:
    part: dict[str, Any] = {
        "id": question.key,
        "kind": question.kind,
        "instructions": question.instructions,
    }
    if told.get(""):
        part["guideline"] = told[""]
    match question.kind:
        case Question.Kind.CHOICE:
            part |= {"routing": True} if question.is_routing else {}
            part |= {"none_of_these": question.none_of_these} if question.none_of_these else {}
            part["options"] = [_to_option(option, told, tags) for option in question.options]
        case Question.Kind.NOUL:
            for side, option in zip(("yes", "no"), question.options, strict=True):
                part |= {side: option["description"], f"{side}_examples": option["examples"]}
                part |= {f"{side}_guideline": told.get(option["id"], "")}
        case _:
            part["levels"] = [option["name"] for option in question.options]
            part["level_examples"] = [option["examples"] for option in question.options]
            part["level_guidelines"] = [told.get(option["id"], "") for option in question.options]
    return part


def _to_option(option: dict[str, Any], told: dict[str, str], tags: dict[str, str]) -> dict[str, Any]:
    part = {name: option[name] for name in ("id", "name", "description", "examples")}
    part |= {"tag": tags[option["id"]]} if option["id"] in tags else {}
    return part | ({"guideline": told[option["id"]]} if told.get(option["id"]) else {})
