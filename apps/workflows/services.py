from __future__ import annotations

import secrets
from collections.abc import Collection
from datetime import datetime
from decimal import Decimal

from django.core.exceptions import ValidationError
from django.db import transaction

from apps.accounts.models import User
from apps.clef.errors import EndpointMisconfigured
from apps.clef.types import EndpointKind, EndpointSettings
from apps.core.errors import FieldProblem, InvalidInput
from apps.core.text import unstorable_at
from apps.workflows.access import token_digest
from apps.workflows.definitions import Definition
from apps.workflows.locking import lock_workflow
from apps.workflows.models import (
    ApiToken,
    Endpoint,
    Membership,
    Question,
    QuestionSet,
    Role,
    Scope,
    Workflow,
)
from apps.workflows.selectors import current_question_set


@transaction.atomic
def create_workflow(*, definition: Definition, endpoint: Endpoint, owner: User | None) -> Workflow:
    """The workflow with its questions as version 1; `owner` becomes its manager.

    Raises InvalidInput when the slug is taken.
    """
    part = definition.workflow
    if Workflow.objects.filter(slug=part.slug).exists():
        raise InvalidInput(FieldProblem("workflow.slug", "belongs to another workflow already"))
    workflow = Workflow.objects.create(endpoint=endpoint, **part.model_dump())
    if owner is not None:
        set_membership(user=owner, workflow=workflow, role=Role.MANAGER)
    _add_version(workflow, 1, definition.to_questions(), owner)
    return workflow


@transaction.atomic
def add_question_set_version(*, workflow: Workflow, definition: Definition, user: User | None) -> QuestionSet:
    """The current version when it says the same, else a new one, which becomes current.

    Whether the active policy still fits is for the caller to check first: policies live above questions.
    """
    lock_workflow(workflow)
    current = current_question_set(workflow)
    questions = definition.to_questions()
    if same_questions(list(current.questions.all()), questions):
        return current
    QuestionSet.objects.filter(pk=current.pk).update(is_current=False)
    latest = QuestionSet.objects.filter(workflow=workflow).latest("version")
    return _add_version(workflow, latest.version + 1, questions, user)


def same_questions(one: list[Question], other: list[Question]) -> bool:
    """Whether a model would read, and a person be shown, the same."""
    return list(map(_content, one)) == list(map(_content, other))


def _content(question: Question) -> tuple[object, ...]:
    return (
        question.key,
        question.kind,
        question.is_routing,
        question.instructions,
        question.options,
        question.none_of_these,
    )


def _add_version(
    workflow: Workflow, version: int, questions: list[Question], user: User | None
) -> QuestionSet:
    question_set = QuestionSet.objects.create(
        workflow=workflow, version=version, is_current=True, created_by=user
    )
    for question in questions:
        question.question_set = question_set
    Question.objects.bulk_create(questions)
    return question_set


def set_endpoint(
    *,
    name: str,
    kind: EndpointKind,
    base_url: str,
    model: str,
    account_variable: str = "",
    secret_variable: str = "",
    price_per_million: Decimal = Decimal(0),
) -> Endpoint:
    """The endpoint of this name, made or changed to these settings; the last two are variables' *names*.

    Raises InvalidInput. Whether the variables are set is not looked at: a worker may have others than a shell.
    """
    try:
        EndpointSettings(kind, base_url, model, secret="unset", account_id="0")  # noqa: S106 - stands for the real one
    except EndpointMisconfigured as error:
        raise InvalidInput(
            FieldProblem((error.code or "settings").replace("settings", "endpoint"), str(error))
        ) from None
    endpoint = Endpoint.objects.filter(name=name).first() or Endpoint(name=name)
    endpoint.kind, endpoint.base_url, endpoint.model = kind, base_url, model
    endpoint.account_variable, endpoint.secret_variable = account_variable, secret_variable
    endpoint.price_per_million = price_per_million
    if len(base_url) > 500:
        raise InvalidInput(FieldProblem("endpoint.base_url", "must have at most 500 characters"))
    try:
        # The address was checked above; Django's own check knows no host without a dot, such as a container's.
        endpoint.full_clean(exclude=["base_url"])
    except ValidationError as error:
        raise InvalidInput(
            *(
                FieldProblem(f"endpoint.{field}", " ".join(texts))
                for field, texts in error.message_dict.items()
            )
        ) from None
    endpoint.save()
    return endpoint


def set_membership(*, user: User, workflow: Workflow, role: Role) -> Membership:
    membership, _ = Membership.objects.update_or_create(user=user, workflow=workflow, defaults={"role": role})
    return membership


def create_token(
    *,
    workflow: Workflow,
    user: User,
    name: str,
    scopes: Collection[str],
    expires_at: datetime | None = None,
) -> tuple[ApiToken, str]:
    """The token and its secret, which is kept nowhere: it can be shown this once only."""
    problems = []
    if not Membership.objects.filter(user=user, workflow=workflow).exists():
        problems.append(FieldProblem("user", f"{user} is not a member of {workflow.slug}"))
    if not 1 <= len(name.strip()) <= 80 or unstorable_at(name) is not None:
        problems.append(FieldProblem("name", "must have 1 to 80 characters"))
    if not scopes or not set(scopes) <= set(Scope.values):
        problems.append(FieldProblem("scopes", f"must be some of {', '.join(Scope.values)}"))
    if problems:
        raise InvalidInput(*problems)
    secret = "fmt_" + secrets.token_urlsafe(32)
    token = ApiToken.objects.create(
        workflow=workflow,
        user=user,
        name=name.strip(),
        prefix=secret[:12],
        digest=token_digest(secret),
        scopes=[scope for scope in Scope.values if scope in scopes],
        expires_at=expires_at,
    )
    return token, secret
