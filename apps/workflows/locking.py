from __future__ import annotations

from apps.workflows.models import Workflow


def lock_workflow(workflow: Workflow) -> None:
    """Until the transaction ends: whoever changes what holds for a whole workflow does it one after the other.

    Its key stays free, so what refers to the workflow, such as items that come in and answers that people give, is
    written meanwhile and waits for nobody, however long a run takes.
    """
    Workflow.objects.select_for_update(no_key=True).get(pk=workflow.pk)
