from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from apps.accounts.models import User
from apps.actions.models import Action, ActionRun
from apps.core.errors import InvalidInput
from apps.insights.metrics import Group, WorkflowMetrics, workflow_metrics
from apps.insights.metrics_values import Window, last_days, parse_window
from apps.items.models import Decision, Route
from apps.reviews.services import undo_last_review
from apps.stats.rates import Rate
from apps.workflows.models import Workflow
from tests.factories import NOW, make_item, make_route, make_task
from tests.insights.answered import answer, cannot_tell, make_label, make_labels

DAY = timedelta(days=1)


def metrics(workflow: Workflow, group: str | None = None, **window: Any) -> WorkflowMetrics:
    ends: dict[str, Any] = {"start": None, "end": None} | window
    return workflow_metrics(workflow=workflow, group=group, now=NOW + timedelta(hours=1), **ends)


def values(workflow: Workflow, *names: str, **window: Any) -> list[float | None]:
    figures = metrics(workflow, **window).figures
    return [figures[name].value for name in names]


def of(workflow: Workflow, name: str) -> tuple[float, float]:
    figure = metrics(workflow).figures[name]
    assert isinstance(figure, Rate)
    return figure.numerator, figure.denominator


def by_key(workflow: Workflow, group: str) -> dict[str | None, Group]:
    return {each.key: each for each in metrics(workflow, group).groups}


def make_automatic(workflow: Workflow, label: str = "spam", **item: Any) -> Route:
    settled: dict[str, Any] = {
        "status": "settled",
        "settled_by": "policy",
        "settled_at": NOW,
        "decided_at": NOW,
    }
    return make_route(make_item(workflow, **(settled | item)), label, 0.99, outcome="automatic", pi=0.1)


def test_it_works(workflow: Workflow, rosa: User) -> None:
    make_automatic(workflow)
    make_labels(workflow, rosa, "spam", "lead")
    make_task(workflow)
    names = ("items_in", "routed", "automatic_share", "in_review_now", "override_rate_visible")
    assert values(workflow, *names) == [4, 4, 0.25, 1, 0.5]


def test_nothing_yet_is_unknown_never_zero(workflow: Workflow) -> None:
    shown = metrics(workflow).to_json()["metrics"]
    assert shown["items_in"] == {
        "value": 0,
        "numerator": 0,
        "denominator": None,
        "low": None,
        "high": None,
        "exact": True,
    }
    for name in ("automatic_share", "agreement_blind", "audit_error", "model_call_s_p50", "decision_cost"):
        assert (shown[name]["value"], shown[name]["reason"]) == (None, "no data")
    assert shown["oldest_in_review_s"]["reason"] == "nothing waits"


def test_shares_of_everything_are_exact_and_samples_have_an_interval(workflow: Workflow, rosa: User) -> None:
    make_automatic(workflow)
    make_label(workflow, rosa, "spam")
    shown = metrics(workflow).to_json()["metrics"]
    assert shown["automatic_share"] == {
        "value": 0.5,
        "numerator": 1,
        "denominator": 2,
        "low": None,
        "high": None,
        "exact": True,
    }
    assert shown["override_rate_visible"]["low"] == 0.0
    assert shown["override_rate_visible"]["high"] == pytest.approx(0.793, abs=0.001)


def test_blind_visible_and_audits_are_never_pooled(workflow: Workflow, rosa: User) -> None:
    make_labels(workflow, rosa, "lead", "spam", "spam")
    make_labels(workflow, rosa, "lead", "lead", blind=True)
    make_labels(workflow, rosa, "lead", "spam", "spam", "spam", kind="audit")
    assert of(workflow, "override_rate_visible") == (1, 3)
    assert of(workflow, "override_rate_blind") == (2, 2)
    assert of(workflow, "agreement_visible") == (2, 3)
    assert of(workflow, "agreement_blind") == (0, 2)
    assert of(workflow, "audit_error") == (1, 4)


def test_none_of_these_overrides_unless_the_model_said_it_too(workflow: Workflow, rosa: User) -> None:
    make_label(workflow, rosa, None)
    make_label(workflow, rosa, None, label="other")
    make_label(workflow, rosa, "other", label="other")
    assert of(workflow, "override_rate_visible") == (1, 3)


def test_cannot_tell_is_neither(workflow: Workflow, rosa: User) -> None:
    cannot_tell(rosa, make_task(workflow))
    cannot_tell(rosa, make_task(workflow, kind="audit"))
    assert values(workflow, "override_rate_visible", "audit_error", "answers_cannot_tell") == [None, None, 2]


def test_an_answer_where_the_model_gave_none_is_no_override(workflow: Workflow, rosa: User) -> None:
    item = make_item(workflow, status="in_review")
    route = make_route(item)
    Route.objects.filter(pk=route.pk).update(superseded_at=NOW)
    refused = Route.objects.create(
        item=item, workflow=workflow, policy=route.policy, question_set=route.question_set, outcome="review",
        gates=[], reasons=[], pi=1, drawn=False, open_but_threshold=False, created_at=NOW,
    )  # fmt: skip
    task = make_task(workflow)
    type(task).objects.filter(pk=task.pk).update(route=refused)
    answer(rosa, task, "lead")
    names = ("override_rate_visible", "answers_without_model", "without_model_answer")
    assert values(workflow, *names) == [None, 1, 1]


def test_an_answer_taken_back_counts_nowhere(workflow: Workflow, rosa: User) -> None:
    make_label(workflow, rosa, "lead")
    undo_last_review(user=rosa, workflow=workflow, now=NOW)
    assert values(workflow, "override_rate_visible", "reviews", "in_review_now") == [None, 0, 1]


def test_two_people_on_an_item_are_one_item(workflow: Workflow, rosa: User, ravi: User) -> None:
    task = make_task(workflow, reviews_wanted=2)
    answer(rosa, task, "lead")
    answer(ravi, task, "spam", at=NOW + timedelta(minutes=1))
    assert of(workflow, "override_rate_blind") == (1, 1)
    people = by_key(workflow, "reviewer")
    assert [people[name].figures["override_rate_blind"].value for name in ("rosa", "ravi")] == [1, 0]


def test_a_foreign_workflow_counts_nowhere(workflow: Workflow, other_workflow: Workflow, rosa: User) -> None:
    make_automatic(other_workflow)
    make_label(other_workflow, rosa)
    make_task(other_workflow, kind="audit")
    counts = [figure for figure in metrics(workflow).to_json()["metrics"].values() if figure["numerator"]]
    assert counts == []


def test_audits_drawn_at_different_rates_are_weighted(workflow: Workflow, rosa: User) -> None:
    for pi, value in ((0.5, "lead"), (0.5, "spam"), (0.1, "spam")):
        task = make_task(workflow, kind="audit")
        item = make_item(workflow, status="settled", settled_by="policy", settled_at=NOW)
        route = make_route(item, outcome="automatic", drawn=True, pi=pi)
        type(task).objects.filter(pk=task.pk).update(route=route)
        answer(rosa, task, value)
    assert values(workflow, "audit_error", "audits_answered") == [pytest.approx(2 / (2 + 2 + 10)), 3]


def test_audits_that_nobody_answered(workflow: Workflow) -> None:
    make_task(workflow, kind="audit")
    old = make_task(workflow, kind="audit")
    type(old).objects.filter(pk=old.pk).update(created_at=NOW - 8 * DAY)
    assert values(workflow, "audits_open", "audits_overdue", "audit_error") == [2, 1, None]


def test_what_waits_says_why(workflow: Workflow) -> None:
    make_item(workflow, created_at=NOW - timedelta(hours=2))
    make_items = [
        make_item(workflow, wait_reason="quota: out of allowance", next_try_at=NOW) for _ in range(2)
    ]
    result = metrics(workflow)
    assert [(each.reason, each.items) for each in result.waiting] == [("quota: out of allowance", 2), ("", 1)]
    assert result.figures["waiting_now"].value == 1 + len(make_items)
    assert result.figures["oldest_waiting_s"].value == 3 * 3600


def test_the_window_ends_before_its_end(workflow: Workflow, rosa: User) -> None:
    make_label(workflow, rosa, "lead", at=NOW)
    names = ("routed", "override_rate_visible", "items_in")
    assert values(workflow, *names, start=NOW, end=NOW + DAY) == [1, 1, 1]
    assert values(workflow, *names, start=NOW - DAY, end=NOW) == [0, None, 0]


def test_a_superseded_route_is_not_counted(workflow: Workflow) -> None:
    route = make_automatic(workflow)
    Route.objects.filter(pk=route.pk).update(superseded_at=NOW)
    assert values(workflow, "routed", "automatic_share") == [0, None]


def test_an_audit_of_a_route_that_was_replaced_counts_nowhere(workflow: Workflow, rosa: User) -> None:
    make_label(workflow, rosa, "lead", kind="audit")
    assert of(workflow, "audit_error") == (1, 1)
    Route.objects.update(superseded_at=NOW)
    assert of(workflow, "audit_error") == (0, 0)
    assert values(workflow, "audits_answered") == [0]


def test_action_runs_by_where_they_stand(workflow: Workflow) -> None:
    action, route = Action.objects.get(workflow=workflow, label="spam"), make_automatic(workflow)
    for number, status in enumerate(["verified", "failed", "failed", "cancelled"]):
        ActionRun.objects.create(
            item=route.item, action=action, route=route, started_by="policy", status=status, settings={},
            not_before=NOW, idempotency_key=f"{number:032x}", created_at=NOW, finished_at=NOW,
            read_back={} if status == "verified" else None,
        )  # fmt: skip
    names = ("verified", "failed", "unknown", "cancelled", "under_way")
    assert values(workflow, *(f"action_runs_{name}" for name in names)) == [1, 2, 0, 1, 0]


def test_cost_and_latency(workflow: Workflow) -> None:
    for number in range(1, 5):
        item = make_item(workflow, decided_at=NOW + timedelta(seconds=number), status="in_review")
        route = make_route(item)
        fresh = make_decision_like(route.decision, latency_s=number / 10, cost=Decimal("0.000001"))
        Route.objects.filter(pk=route.pk).update(superseded_at=NOW)
        Route.objects.create(
            item=item, workflow=workflow, decision=fresh, policy=route.policy, question_set=route.question_set,
            outcome="review", label="spam", p=0.7, gates=[], reasons=[], pi=1, drawn=False,
            open_but_threshold=True, created_at=NOW,
        )  # fmt: skip
    names = ("model_call_s_p50", "decided_s_p50", "decided_s_p95", "decision_cost")
    assert values(workflow, *names) == pytest.approx([0.25, 2.5, 3.85, 0.000004])


def make_decision_like(decision: Decision | None, **more: Any) -> Decision:
    assert decision is not None
    decision.pk, decision._state.adding, decision.is_primary = None, True, False
    for name, value in more.items():
        setattr(decision, name, value)
    decision.save()
    return decision


def test_the_median_time_of_a_review(workflow: Workflow, rosa: User) -> None:
    for seconds in (2.0, 4.0, 90.0, None):
        answer(rosa, make_task(workflow), "spam", seconds=seconds)
    figure = metrics(workflow).figures["review_seconds_median"]
    assert figure.to_json()["value"] == 4.0
    assert figure.to_json()["denominator"] == 3


def test_by_label_every_label_asked_about_is_there(workflow: Workflow, rosa: User) -> None:
    make_automatic(workflow, "spam")
    make_label(workflow, rosa, "lead", label="spam")
    first = metrics(workflow, "label").groups[0]
    assert (first.key, first.name) == ("lead", "Qualified lead")
    spam = by_key(workflow, "label")["spam"].figures
    assert (spam["automatic_share"].value, spam["override_rate_visible"].value) == (0.5, 1)


def test_by_day_of_the_workflow(workflow: Workflow, rosa: User) -> None:
    workflow.time_zone = "Pacific/Auckland"
    workflow.save()
    make_label(workflow, rosa, at=NOW.replace(hour=11))  # midnight there, of 1 December
    days = by_key(workflow, "day")
    assert days["2026-11-30"].figures["routed"].value == 1
    assert days["2026-12-01"].figures["reviews"].value == 1


def test_by_confidence(workflow: Workflow, rosa: User) -> None:
    for p in (0.3, 0.7, 0.95, 1.0):
        make_label(workflow, rosa, p=p)
    bins = {key: group.figures["routed"].value for key, group in by_key(workflow, "confidence").items()}
    assert bins == {"0.00-0.50": 1, "0.70-0.80": 1, "0.95-0.99": 1, "0.99-1.00": 1}


@pytest.mark.parametrize("group", ["label", "day", "confidence", "reviewer"])
def test_groups_add_up_to_the_whole(workflow: Workflow, rosa: User, ravi: User, group: str) -> None:
    make_labels(workflow, rosa, "lead", "spam", "customer")
    make_labels(workflow, ravi, "lead", "spam", label="customer", p=0.5, blind=True)
    make_label(workflow, ravi, "lead", kind="audit", label="lead", at=NOW + DAY)
    whole = metrics(workflow, group)
    for name in ("override_rate_visible", "agreement_blind", "audit_error", "automatic_share"):
        if name == "automatic_share" and group == "reviewer":
            continue
        parts = [each.figures[name].to_json() for each in whole.groups]
        total = whole.figures[name].to_json()
        for key in ("numerator", "denominator"):
            assert sum(part[key] or 0 for part in parts) == total[key]


def test_an_unknown_group_is_refused(workflow: Workflow) -> None:
    with pytest.raises(InvalidInput, match="group"):
        metrics(workflow, "colour")


def test_a_day_may_have_25_hours(workflow: Workflow) -> None:
    workflow.time_zone = "Europe/Berlin"
    window = parse_window({"from": "2026-10-25", "to": "2026-10-25"}, workflow)
    assert window.start is not None
    assert window.end is not None
    assert window.end - window.start == timedelta(hours=25)


def test_last_days_end_with_today(workflow: Workflow) -> None:
    start = datetime.fromisoformat("2026-11-24T00:00:00Z")
    assert last_days(workflow, 7, NOW) == Window(start, start + 7 * DAY)


@pytest.mark.parametrize(
    ("params", "name"),
    [
        ({"from": "soon"}, "from"),
        ({"to": "2026-13-01"}, "to"),
        ({"from": "2026-11-30", "to": "2026-11-29"}, "to"),
    ],
)
def test_a_wrong_window_is_named(workflow: Workflow, params: dict[str, str], name: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        parse_window(params, workflow)
    assert refusal.value.problems[0].path == name


@pytest.mark.slow
def test_following_the_model_is_flagged(workflow: Workflow, rosa: User) -> None:
    make_labels(workflow, rosa, *["spam"] * 50)
    make_labels(workflow, rosa, *["spam"] * 40, *["lead"] * 10, blind=True)
    assert metrics(workflow).to_json()["reviewers_may_follow_model"] is True


def test_the_models_are_named(workflow: Workflow) -> None:
    make_task(workflow)
    assert metrics(workflow).to_json()["models"] == ["standin-ngram-1"]
