from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from apps.accounts.models import User
from apps.clef.types import EndpointKind
from apps.core.errors import InvalidInput
from apps.workflows.access import get_token_for
from apps.workflows.definitions import read_definition, to_clef_questions
from apps.workflows.models import ApiToken, Membership, Role, Workflow
from apps.workflows.selectors import current_question_set
from apps.workflows.services import (
    add_question_set_version,
    create_token,
    create_workflow,
    set_endpoint,
    set_membership,
)
from tests.factories import NOW, make_endpoint
from tests.workflows.files import choice, score, workflow_file

pytestmark = pytest.mark.django_db


def definition(*questions: dict[str, Any]) -> Any:
    return read_definition({"workflow": workflow_file()["workflow"], "questions": [choice(), *questions]})


@pytest.fixture
def mail(nora: User) -> Workflow:
    return create_workflow(definition=definition(), endpoint=make_endpoint(), owner=nora)


def test_it_works(mail: Workflow, nora: User) -> None:
    assert Membership.objects.get(workflow=mail).role == Role.MANAGER
    assert [question.id for question in to_clef_questions(current_question_set(mail))] == ["intent"]


def test_a_slug_is_taken_once(mail: Workflow, nora: User) -> None:
    with pytest.raises(InvalidInput, match=r"workflow\.slug"):
        create_workflow(definition=definition(), endpoint=mail.endpoint, owner=nora)


def test_the_same_questions_stay_the_same_version(mail: Workflow) -> None:
    version = add_question_set_version(workflow=mail, definition=definition(), user=None)

    assert version == current_question_set(mail)
    assert mail.question_sets.count() == 1


def test_other_questions_are_a_version_of_their_own(mail: Workflow, nora: User) -> None:
    version = add_question_set_version(workflow=mail, definition=definition(score()), user=nora)

    assert (version.version, version.created_by) == (2, nora)
    assert current_question_set(mail) == version


def test_a_token_is_known_by_its_digest_only(workflow: Workflow, rosa: User) -> None:
    token, secret = create_token(workflow=workflow, user=rosa, name="mail hook", scopes=["read", "ingest"])

    assert secret.startswith("fmt_")
    assert secret not in str(ApiToken.objects.filter(pk=token.pk).values())
    assert token.scopes == ["ingest", "read"]
    assert get_token_for(secret=secret, now=NOW) == token


def test_a_token_ends(workflow: Workflow, rosa: User) -> None:
    _, secret = create_token(
        workflow=workflow, user=rosa, name="short", scopes=["read"], expires_at=NOW + timedelta(days=1)
    )

    assert get_token_for(secret=secret, now=NOW + timedelta(days=1)) is None


@pytest.mark.parametrize(
    ("values", "path"),
    [
        ({"name": ""}, "name"),
        ({"name": "x" * 81}, "name"),
        ({"name": "a\x00"}, "name"),
        ({"scopes": []}, "scopes"),
        ({"scopes": ["read", "root"]}, "scopes"),
    ],
)
def test_tokens_that_are_refused(workflow: Workflow, rosa: User, values: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        create_token(workflow=workflow, user=rosa, **{"name": "n", "scopes": ["read"], **values})

    assert [problem.path for problem in refused.value.problems] == [path]


def test_a_token_is_for_members(workflow: Workflow, nora: User) -> None:
    with pytest.raises(InvalidInput, match="not a member"):
        create_token(workflow=workflow, user=nora, name="n", scopes=["read"])


def test_a_role_can_change(workflow: Workflow, rosa: User) -> None:
    set_membership(user=rosa, workflow=workflow, role=Role.MANAGER)

    assert Membership.objects.get(user=rosa).role == Role.MANAGER


def test_an_endpoint_is_one_a_name(db: None) -> None:
    first = set_endpoint(name="own", kind="systemone", base_url="http://127.0.0.1:9", model="clef")
    second = set_endpoint(name="own", kind="systemone", base_url="http://127.0.0.1:8", model="clef")

    assert first.pk == second.pk
    assert second.base_url == "http://127.0.0.1:8"


def test_a_container_is_a_host(db: None) -> None:
    assert set_endpoint(name="own", kind="systemone", base_url="http://model:8000/v1", model="clef").pk


@pytest.mark.parametrize(
    ("kind", "base_url", "model", "path"),
    [
        ("systemone", "ftp://127.0.0.1", "clef", "endpoint.base_url"),
        ("systemone", "https://me:secret@models.example", "clef", "endpoint.base_url"),
        ("systemone", "http://127.0.0.1:9", " ", "endpoint.model"),
        ("workers-ai", "https://models.example", "Not a model", "endpoint.model"),
        ("systemone", "http://127.0.0.1:9", "m" * 121, "endpoint.model"),
        ("systemone", "http://127.0.0.1:9/" + "x" * 500, "clef", "endpoint.base_url"),
    ],
)
def test_endpoints_that_are_refused(kind: EndpointKind, base_url: str, model: str, path: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        set_endpoint(name="own", kind=kind, base_url=base_url, model=model)

    assert [problem.path for problem in refused.value.problems] == [path]
    assert "secret" not in str(refused.value)
