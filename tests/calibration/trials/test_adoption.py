from __future__ import annotations

import pytest

from apps.accounts.models import User
from apps.calibration.trials.adoption import adopt
from apps.core.errors import Conflict
from apps.items.models import Item
from apps.pipeline.claims import claim_items
from apps.reviews.models import Label, ReviewTask
from apps.workflows.models import Workflow
from tests.calibration.trials.trialled import make_trial
from tests.conftest import SignIn
from tests.factories import NOW, make_item

pytestmark = pytest.mark.django_db


def test_it_works(workflow: Workflow) -> None:
    adopted = adopt(trial=make_trial(workflow), now=NOW)
    assert (adopted.items, adopted.labels, adopted.there) == (4, 8, 0)
    item = Item.objects.get(external_id="4")
    assert (item.status, item.settled_by, item.source) == ("settled", "people", "trial")
    label = Label.objects.get(item=item, question__key="intent")
    assert (label.value, label.source, label.review, label.blind) == ("other", "import", None, False)


def test_twice_is_once(workflow: Workflow) -> None:
    trial = make_trial(workflow)
    adopt(trial=trial, now=NOW)
    again = adopt(trial=trial, now=NOW)
    assert (again.items, again.there, Label.objects.count()) == (0, 4, 8)


def test_nothing_of_it_is_decided_or_asked(workflow: Workflow) -> None:
    adopt(trial=make_trial(workflow), now=NOW)
    assert claim_items(workflow=workflow).item_ids == ()
    assert not ReviewTask.objects.exists()


def test_an_item_that_is_there_is_left_alone(workflow: Workflow) -> None:
    make_item(workflow, "1", text="Something else")
    adopted = adopt(trial=make_trial(workflow), now=NOW)
    assert (adopted.items, adopted.there) == (3, 1)
    assert not Label.objects.filter(item__external_id="1").exists()


def test_without_labels_there_is_nothing_to_adopt(workflow: Workflow) -> None:
    with pytest.raises(Conflict):
        adopt(trial=make_trial(workflow, b"id,text\n1,Hello\n"), now=NOW)


@pytest.mark.parametrize("page", ["items/", "items/{pk}/", "labels/", "insights/", "calibration/"])
def test_pages_live_with_items_nobody_routed(
    page: str, workflow: Workflow, mara: User, signed_in: SignIn
) -> None:
    adopt(trial=make_trial(workflow), now=NOW)
    address = f"/w/leads/{page}".format(pk=Item.objects.get(external_id="1").pk)
    assert signed_in(mara).get(address).status_code == 200
