"""Who may still be asked blind about an item reads on no page of previews and trials what the model said of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.calibration.models import TrialExample
from apps.calibration.trials.results import result_of
from apps.items.models import Item, Route
from apps.policies.selectors import active_policy
from apps.policies.services import create_draft
from apps.reviews.models import ReviewTask
from apps.workflows.models import Workflow
from tests.calibration.replay.replays import insert_replayable
from tests.calibration.replay.test_replaying import UNSURE, with_threshold
from tests.calibration.trials.trialled import answering, make_trial, run
from tests.conftest import SignIn
from tests.factories import NOW, make_item, make_task

pytestmark = pytest.mark.django_db


def ask_blind(item: Item) -> None:
    route = Route.objects.get(item=item)
    ReviewTask.objects.create(
        workflow_id=item.workflow_id,
        item=item,
        route=route,
        question_set=route.question_set,
        kind="routine",
        asked=["intent"],
        blind=True,
        due_at=NOW,
        place_at=NOW,
        created_at=NOW,
    )


def test_it_works(workflow: Workflow, mara: User, signed_in: SignIn) -> None:
    insert_replayable(workflow, [replace(UNSURE, answer="", at=timezone.now() - timedelta(days=9))] * 3)
    create_draft(workflow=workflow, rules=with_threshold(0.7), based_on=active_policy(workflow), user=mara)
    ask_blind(Item.objects.get(external_id="item-1"))
    page = signed_in(mara).get("/w/leads/policy/2/preview/newly-automatic/").content.decode()
    assert [f"item-{place}" in page for place in range(3)] == [True, False, True]
    assert "1 more waits for a blind answer" in page


def test_a_trial_counts_such_items_and_does_not_name_them(workflow: Workflow, mara: User) -> None:
    trial = make_trial(workflow)
    TrialExample.objects.filter(external_id="1").update(item=make_task(workflow, blind=True).item)
    TrialExample.objects.filter(external_id="2").update(item=make_item(workflow))
    run(trial, answering(lambda text: "spam"), "stand-in")
    _, model = result_of(trial, mara).questions[0].models
    shown = {each.true: (each.count, each.examples) for each in model.disagreements}
    assert shown["Qualified lead"] == (1, ())
    assert shown["Existing customer"] == (1, ("2",))
