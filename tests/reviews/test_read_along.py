"""What the desk shows of an item comes along with its hold, and is the item as it was when it was taken."""

from __future__ import annotations

from functools import partial
from itertools import islice

import pytest

from apps.accounts.models import User
from apps.reviews.leases import take_next_task
from apps.reviews.models import Lease, ReviewTask, TaskEvent
from apps.reviews.selectors import desk_task
from apps.workflows.models import Workflow
from tests.factories import make_task
from tests.reviews.test_two_tabs import at_once, take

pytestmark = pytest.mark.django_db(transaction=True)
ENOUGH = 150


def test_it_works(workflow: Workflow, mara: User) -> None:
    task = make_task(workflow)
    shown = desk_task(take(mara, workflow), workflow=workflow)
    assert (shown.task, shown.item.external_id) == (task, task.item.external_id)


def called_back_and_forth(task: ReviewTask) -> None:
    for stage in ["adjudication", "review"] * ENOUGH:
        ReviewTask.objects.filter(pk=task.pk).update(stage=stage)


def stages_shown(user: User, workflow: Workflow) -> list[tuple[str, bool]]:
    """What was shown of one item, again and again, and whether it was written down that answers were in sight."""

    def once() -> tuple[str, bool] | None:
        lease = take_next_task(user=user, workflow=workflow)
        if lease is None:
            return None
        found = desk_task(lease, workflow=workflow).stage, TaskEvent.objects.filter(user=user).exists()
        TaskEvent.objects.all().delete()
        Lease.objects.all().delete()
        return found

    return [each for each in islice(iter(once, ()), ENOUGH) if each is not None]


def test_called_to_decide_while_it_is_taken(workflow: Workflow, mara: User) -> None:
    task = make_task(workflow, reviews_wanted=2)
    ReviewTask.objects.filter(pk=task.pk).update(reviews_needed=3)
    _, shown = at_once(partial(called_back_and_forth, task), partial(stages_shown, mara, workflow))
    assert [stage for stage, saw in shown if (stage == "adjudication") != saw] == []
