"""Rows for tests, made through the product's own doors where there is one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from apps.accounts.models import User
from apps.actions.models import Action
from apps.items.models import Decision, Item, ItemContent, Route
from apps.policies.models import Policy
from apps.reviews.models import ReviewTask
from apps.workflows.models import Endpoint, Membership, Question, QuestionSet, Role, Workflow

NOW = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
PASSWORD = "correct horse battery"


def make_user(name: str, **more: Any) -> User:
    return User.objects.create_user(name, PASSWORD, **more)


def make_endpoint(base_url: str = "http://127.0.0.1:9", **more: Any) -> Endpoint:
    values = {
        "kind": "systemone",
        "base_url": base_url,
        "model": "standin-ngram-1",
        "name": "stand-in",
    } | more
    return Endpoint.objects.create(**values)


def option(id: str, name: str, **more: Any) -> dict[str, Any]:
    return {"id": id, "name": name, "description": f"It is {name.lower()}.", "examples": []} | more


INTENT = [
    option("lead", "Qualified lead", examples=["I want to buy your product for my company"]),
    option("customer", "Existing customer", examples=["My order has not arrived yet"]),
    option("spam", "Spam", examples=["Win a free prize now click here"]),
    option("other", "None of these", examples=["Are you open on Sunday?"]),
]
YES_NO = [option("true", "Yes"), option("false", "No")]
RULES: dict[str, Any] = {
    "margin": 0.05,
    "review_cost": 1.0,
    "audit_rate": 0.1,
    "automatic_audit_rate": 0.02,
    "blind_share": 0.0,
    "labels": {
        "lead": {"threshold": 0.9, "autonomy": "suggest", "target_error": 0.05},
        "customer": {"threshold": 0.9, "autonomy": "suggest", "target_error": 0.05},
        "spam": {"threshold": 0.8, "autonomy": "audited", "target_error": 0.05},
    },
    "costs": {"spam": {"lead": 1.5, "customer": 1.5, "other": 1.0}},
    "critical": {},
    "overrides": [],
    "holds": [],
}


def make_workflow(
    slug: str = "leads", *, rules: dict[str, Any] | None = None, endpoint: Endpoint | None = None
) -> Workflow:
    """A workflow with one routing question, a noul beside it, a policy in force and a tag for three labels."""
    workflow = Workflow.objects.create(
        slug=slug, name=slug.title(), endpoint=endpoint or Endpoint.objects.first() or make_endpoint()
    )
    questions = QuestionSet.objects.create(workflow=workflow, version=1, is_current=True)
    Question.objects.create(
        question_set=questions,
        key="intent",
        position=0,
        kind="choice",
        is_routing=True,
        instructions="What is this message?",
        options=INTENT,
        none_of_these="other",
    )
    Question.objects.create(
        question_set=questions,
        key="money",
        position=1,
        kind="noul",
        instructions="Is it about money?",
        options=YES_NO,
    )
    make_policy(workflow, rules or RULES)
    for label, tag in (("lead", "lead"), ("customer", "customer"), ("spam", "spam")):
        Action.objects.create(workflow=workflow, label=label, kind="tag", settings={"tag": tag})
    return workflow


def make_policy(
    workflow: Workflow, rules: dict[str, Any], *, version: int = 1, status: str = "active"
) -> Policy:
    return Policy.objects.create(
        workflow=workflow,
        version=version,
        status=status,
        rules=rules,
        activated_at=NOW if status in ("active", "retired") else None,
    )


def join(user: User, workflow: Workflow, role: Role) -> Membership:
    return Membership.objects.create(user=user, workflow=workflow, role=role)


def make_item(workflow: Workflow, external_id: str = "", *, text: str = "Hello", **more: Any) -> Item:
    values: dict[str, Any] = {
        "external_id": external_id or f"item-{Item.objects.count() + 1}",
        "content_hash": "0" * 64,
        "title": text[:200],
        "source": "test",
        "received_at": NOW,
        "created_at": NOW,
        "due_at": NOW + timedelta(days=1),
    } | more
    item = Item.objects.create(workflow=workflow, **values)
    ItemContent.objects.create(item=item, state=text, text=text)
    return item


def make_decision(item: Item, label: str = "spam", p: float = 0.7) -> Decision:
    rest = (1 - p) / (len(INTENT) - 1)
    probabilities = [[o["id"], p if o["id"] == label else rest] for o in INTENT]
    return Decision.objects.create(
        item=item,
        question_set=item.workflow.question_sets.get(is_current=True),
        endpoint=item.workflow.endpoint,
        model_requested="standin-ngram-1",
        model="standin-ngram-1",
        http_status=200,
        latency_s=0.04,
        input_tokens=100,
        output_tokens=0,
        answers={
            "intent": {"kind": "choice", "probabilities": probabilities, "raw_confidence": None},
            "money": {
                "kind": "noul",
                "probabilities": [["true", 0.1], ["false", 0.9]],
                "raw_confidence": None,
            },
        },
        created_at=NOW,
    )


def make_route(item: Item, label: str = "spam", p: float = 0.7, **more: Any) -> Route:
    values: dict[str, Any] = {
        "outcome": "review",
        "label": label,
        "p": p,
        "gates": [],
        "reasons": [
            {"code": "low_confidence", "numbers": {"label": label, "p": p, "threshold": 0.9}},
        ],
        "pi": 1.0,
        "drawn": False,
        "open_but_threshold": True,
        "created_at": NOW,
    } | more
    return Route.objects.create(
        item=item,
        workflow=item.workflow,
        decision=make_decision(item, label, p),
        policy=item.workflow.policies.get(status="active"),
        question_set=item.workflow.question_sets.get(is_current=True),
        **values,
    )


def make_task(
    workflow: Workflow, *, label: str = "spam", p: float = 0.7, kind: str = "routine", **more: Any
) -> ReviewTask:
    """An item the policy sent to people; `kind="audit"`: one it settled and drew for a check."""
    is_audit = kind == "audit"
    settled: dict[str, Any] = {
        "status": "settled",
        "settled_by": "policy",
        "settled_at": NOW,
        "audit_open": True,
    }
    item = make_item(workflow, **(settled if is_audit else {"status": "in_review"}))
    route = make_route(
        item, label, p, **({"outcome": "automatic", "drawn": True, "pi": 0.1} if is_audit else {})
    )
    wanted = more.get("reviews_wanted", 1)
    values: dict[str, Any] = {
        "asked": ["intent"],
        "blind": kind != "routine" or wanted > 1,
        "reviews_needed": wanted,
    } | more
    return ReviewTask.objects.create(
        workflow=workflow,
        item=item,
        route=route,
        question_set=route.question_set,
        kind=kind,
        due_at=item.due_at,
        place_at=item.due_at,
        created_at=NOW,
        **values,
    )
