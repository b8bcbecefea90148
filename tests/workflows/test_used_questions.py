"""The database itself keeps what a model was asked; each try here is raw SQL, as somebody with a shell would."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, connection, transaction

from apps.workflows.models import QuestionSet, Workflow
from tests.factories import NOW

pytestmark = pytest.mark.django_db


@pytest.fixture
def used(workflow: Workflow) -> QuestionSet:
    question_set = workflow.question_sets.get()
    QuestionSet.objects.filter(pk=question_set.pk).update(first_used_at=NOW)
    return question_set


def run(sql: str, *ids: int) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql, ids)


COPY = (
    "INSERT INTO workflows_question (question_set_id, key, position, kind, is_routing, instructions, options,"
    " none_of_these) VALUES (%s, 'late', 9, 'noul', false, 'Is it?', '[]', '')"
)
CHANGES = [
    "UPDATE workflows_question SET instructions = 'Other' WHERE question_set_id = %s",
    "UPDATE workflows_question SET options = '[]' WHERE question_set_id = %s",
    "DELETE FROM workflows_question WHERE question_set_id = %s",
    COPY,
]


def test_it_works(used: QuestionSet) -> None:
    with pytest.raises(IntegrityError, match="was used and never changes"):
        run(CHANGES[0], used.pk)


@pytest.mark.parametrize("change", CHANGES)
def test_questions_of_a_used_version_stay(used: QuestionSet, change: str) -> None:
    with pytest.raises(IntegrityError, match="never changes"):
        run(change, used.pk)


@pytest.mark.parametrize("change", CHANGES)
def test_questions_of_an_unused_version_may_change(workflow: Workflow, change: str) -> None:
    run(change, workflow.question_sets.get().pk)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE workflows_questionset SET version = 7 WHERE id = %s",
        "UPDATE workflows_questionset SET first_used_at = NULL WHERE id = %s",
        "UPDATE workflows_questionset SET created_at = now() WHERE id = %s",
        "DELETE FROM workflows_questionset WHERE id = %s",
    ],
)
def test_a_used_version_stays(used: QuestionSet, change: str) -> None:
    with pytest.raises(IntegrityError, match="neither changes nor goes"):
        run(change, used.pk)


def test_a_used_version_moves_nowhere(used: QuestionSet, other_workflow: Workflow) -> None:
    with pytest.raises(IntegrityError, match="neither changes nor goes"):
        run("UPDATE workflows_questionset SET workflow_id = %s WHERE id = %s", other_workflow.pk, used.pk)


def test_a_used_version_may_stop_being_current(used: QuestionSet) -> None:
    run("UPDATE workflows_questionset SET is_current = false WHERE id = %s", used.pk)

    used.refresh_from_db()
    assert not used.is_current


def test_a_question_moves_into_no_used_version(used: QuestionSet) -> None:
    draft = QuestionSet.objects.create(workflow=used.workflow, version=2)
    run(COPY, draft.pk)

    with pytest.raises(IntegrityError, match="never changes"):
        run(
            "UPDATE workflows_question SET question_set_id = %s WHERE question_set_id = %s", used.pk, draft.pk
        )


def test_a_used_version_is_not_deleted(used: QuestionSet) -> None:
    with pytest.raises(IntegrityError, match="used"), transaction.atomic():
        used.delete()
