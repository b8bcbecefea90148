from __future__ import annotations

from apps.workflows.models import QuestionSet, Workflow


def current_question_set(workflow: Workflow) -> QuestionSet:
    """The version that new items are asked, its questions loaded."""
    return QuestionSet.objects.prefetch_related("questions").get(workflow=workflow, is_current=True)
