"""Where reviewers may be following the model a preview counts the answers that certificates count."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.calibration.counting.counts import count_labels
from apps.items.models import Route, RouteColumns
from apps.policies.selectors import active_policy
from apps.policies.services import create_draft
from apps.stats.thresholds import GRID, two_stratum_bounds
from apps.workflows.models import Workflow
from tests.calibration.counting.test_blind_reviews import SEEN, at_desk, follow
from tests.calibration.replay.replays import vector_of
from tests.calibration.replay.test_replaying import replayed, with_threshold
from tests.calibration.streams import AUDITED, EARLIER, UNCHECKED, insert_past
from tests.conftest import SignIn
from tests.factories import NOW, RULES

pytestmark = pytest.mark.django_db

BEFORE = EARLIER - timedelta(days=3)


def give_vectors(workflow: Workflow) -> None:
    routes = {each.pk: each for each in Route.objects.filter(workflow=workflow)}
    columns = list(RouteColumns.objects.filter(workflow=workflow))
    for each in columns:
        route = routes[each.route_id]
        assert route.label is not None
        assert route.p is not None
        each.vector = vector_of(route.label, route.p)
    RouteColumns.objects.bulk_update(columns, ["vector"], batch_size=500)


def test_it_works(workflow: Workflow, rosa: User) -> None:
    """100 blind reviews, of which 20 were changed, speak for 400."""
    follow(workflow, rosa)
    give_vectors(workflow)
    found = replayed(workflow, with_threshold(0.8))
    (bound,) = found.labels
    assert found.following.flagged
    assert (bound.items, bound.wrong, bound.labelled) == (400, 20, 100)
    assert (found.candidate.error.numerator, found.candidate.error.denominator) == (20, 100)


@pytest.mark.parametrize("chance", [0.25, 0.5])
def test_bounds_are_those_of_the_certificates(workflow: Workflow, rosa: User, chance: float) -> None:
    follow(workflow, rosa)
    at_desk(workflow, rosa, [replace(SEEN, p=0.9, at=BEFORE)] * 60, blind=True, chance=chance)
    insert_past(workflow, [AUDITED] * 30 + [UNCHECKED] * 90, prefix="automatic")
    give_vectors(workflow)
    bound = next(each for each in replayed(workflow, RULES).labels if each.label == "spam")
    counts = count_labels(workflow=workflow, now=NOW, is_blind_only=True)["spam"].counts
    at = GRID.index(0.8)
    assert bound.bound == pytest.approx(two_stratum_bounds(counts, 0.05)[at])
    assert bound.labelled == counts.reviewed.labelled[at] + counts.audited.labelled[at]


def test_days_on_which_none_was_blind_are_left_out(workflow: Workflow, rosa: User) -> None:
    follow(workflow, rosa)
    at_desk(workflow, rosa, [replace(SEEN, at=BEFORE)] * 50, blind=False, chance=0.0)
    give_vectors(workflow)
    (bound,) = replayed(workflow, with_threshold(0.8)).labels
    assert bound.items == 400


def test_the_page_says_it(workflow: Workflow, rosa: User, mara: User, signed_in: SignIn) -> None:
    follow(workflow, rosa, at=timezone.now() - timedelta(days=3))
    give_vectors(workflow)
    create_draft(workflow=workflow, rules=with_threshold(0.7), based_on=active_policy(workflow), user=mara)
    page = signed_in(mara).get("/w/leads/policy/2/preview/").content.decode()
    assert "only answers of people who did not see the model’s count here" in page
