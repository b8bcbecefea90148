"""ivan integrates: a program with a token of one workflow. His person reviews there."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client

from apps.accounts.models import User
from apps.workflows.models import Role, Scope, Workflow
from apps.workflows.services import create_token
from tests.factories import join, make_user


class Caller:
    """`ivan.get("/items/1")`: JSON in, the response out, as the holder of one token."""

    def __init__(self, secret: str) -> None:
        self.client = Client(headers={"Authorization": f"Bearer {secret}"})

    def get(self, path: str, **params: Any) -> Any:
        return self.client.get(f"/api/v1{path}", params)

    def post(self, path: str, body: Any, **more: Any) -> Any:
        more = {"content_type": "application/json"} | more
        return self.client.post(f"/api/v1{path}", body, **more)


def caller_of(workflow: Workflow, user: User, *scopes: str) -> Caller:
    return Caller(create_token(workflow=workflow, user=user, name="test", scopes=scopes or Scope.values)[1])


@pytest.fixture(autouse=True)
def _no_calls_counted() -> None:
    cache.clear()


@pytest.fixture
def ivan_person(workflow: Workflow) -> User:
    person = make_user("ivan")
    join(person, workflow, Role.REVIEWER)
    return person


@pytest.fixture
def ivan(workflow: Workflow, ivan_person: User) -> Caller:
    return caller_of(workflow, ivan_person)


@pytest.fixture
def stranger(other_workflow: Workflow) -> Caller:
    """A program of another workflow, with every scope there."""
    person = make_user("stella")
    join(person, other_workflow, Role.MANAGER)
    return caller_of(other_workflow, person)
