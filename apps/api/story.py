"""One item's whole story as JSON: what came in, what was decided, where it went, who said what, what it did."""

from __future__ import annotations

from typing import Any

from apps.accounts.models import User
from apps.actions.models import ActionRun
from apps.api.shapes import to_head
from apps.api.shapes_story import StoryOut
from apps.insights.telling import told_reasons
from apps.items.models import Attachment, Decision, Item, Mail, Route
from apps.reviews.models import Label, Review, ReviewTask, TaskEvent
from apps.reviews.selectors import is_hidden_from, names_of
from apps.routing.explain import explain
from apps.workflows.models import QuestionSet

Json = dict[str, Any]


def story_of(*, user: User, item: Item, url: str) -> StoryOut:
    """All that `user` may know of it now; `item` comes with its content."""
    is_hidden = is_hidden_from(user=user, item=item)
    decisions = Decision.objects.filter(item=item).select_related("question_set", "endpoint").order_by("pk")
    routes = Route.objects.filter(item=item).select_related("policy", "question_set").order_by("pk")
    tasks = list(
        ReviewTask.objects.filter(item=item)
        .prefetch_related("events__user", "events__to_user")
        .order_by("pk")
    )
    versions = _question_sets(list(routes), tasks)
    told: Json = {"decisions": [], "route": None, "superseded_routes": [], "policy_version": None}
    told |= {"reviews": [], "labels": [], "label": None, "action_runs": []}
    if not is_hidden:
        told = _decided(list(decisions), list(routes), versions) | _answered(item) | _acted(item)
    return StoryOut.model_validate(
        to_head(item, is_hidden=is_hidden, url=url)
        | {
            "state": item.content.state,
            "metadata": item.metadata,
            "repairs": item.content.repairs,
            "attachments": _attachments(item),
            "mail": _mail(item),
            "question_sets": [_to_question_set(version) for version in versions.values()],
            "tasks": [_to_task(task, is_hidden) for task in tasks],
        }
        | told
    )


def _attachments(item: Item) -> list[Json]:
    kept = Attachment.objects.filter(item=item).select_related("image").order_by("position")
    return [_to_attachment(each) for each in kept.defer("image__data", "image__thumbnail")]


def _to_attachment(attachment: Attachment) -> Json:
    names = ("name", "content_type", "size", "sha256", "page", "is_for_model", "note")
    image = attachment.image
    of_image = ("sha256", "content_type", "width", "height", "size")
    return {name: getattr(attachment, name) for name in names} | {
        "image": None if image is None else {name: getattr(image, name) for name in of_image}
    }


def _mail(item: Item) -> Json | None:
    mail = Mail.objects.filter(item=item).defer("html").first()
    names = ("headers", "parts", "size", "sha256")
    return None if mail is None else {name: getattr(mail, name) for name in names}


def _question_sets(routes: list[Route], tasks: list[ReviewTask]) -> dict[int, QuestionSet]:
    ids = {route.question_set_id for route in routes} | {task.question_set_id for task in tasks}
    found = QuestionSet.objects.filter(pk__in=ids).prefetch_related("questions").order_by("version")
    return {version.pk: version for version in found}


def _to_question_set(version: QuestionSet) -> Json:
    return {
        "version": version.version,
        "questions": [
            {
                "key": question.key,
                "kind": question.kind,
                "is_routing": question.is_routing,
                "instructions": question.instructions,
                "options": question.options,
                "none_of_these": question.none_of_these or None,
            }
            for question in version.questions.all()
        ],
    }


def _decided(decisions: list[Decision], routes: list[Route], versions: dict[int, QuestionSet]) -> Json:
    told = [(route, _to_route(route, versions[route.question_set_id])) for route in routes]
    in_force = next((route for route in routes if route.superseded_at is None), None)
    return {
        "decisions": [_to_decision(decision) for decision in decisions],
        "route": next((each for route, each in told if route is in_force), None),
        "superseded_routes": [each for route, each in told if route is not in_force],
        "policy_version": in_force.policy.version if in_force else None,
    }


def _to_decision(decision: Decision) -> Json:
    return {
        "id": decision.pk,
        "is_primary": decision.is_primary,
        "question_set_version": decision.question_set.version,
        "endpoint": decision.endpoint.name,
        "model": decision.model,
        "model_requested": decision.model_requested,
        "request_id": decision.request_id,
        "http_status": decision.http_status,
        "latency_s": decision.latency_s,
        "input_tokens": decision.input_tokens,
        "output_tokens": decision.output_tokens,
        "cost_usd": None if decision.cost is None else float(decision.cost),
        "warnings": decision.warnings,
        "answers": {
            key: {
                "kind": answer["kind"],
                "probabilities": dict(answer["probabilities"]),
                "confidence": answer.get("raw_confidence"),
            }
            for key, answer in decision.answers.items()
        },
        "images": decision.images,
        "created_at": decision.created_at,
    }


def _to_route(route: Route, version: QuestionSet) -> Json:
    names, currency = names_of(list(version.questions.all())), route.workflow.currency
    sentences = explain(route.reasons, names, currency=currency)
    return {
        "id": route.pk,
        "outcome": route.outcome,
        "label": route.label,
        "p": route.p,
        "decision_id": route.decision_id,
        "policy_version": route.policy.version,
        "question_set_version": route.question_set.version,
        "reasons": [
            reason | {"sentence": sentence} for reason, sentence in zip(route.reasons, sentences, strict=True)
        ],
        "sentences": told_reasons(route, names, currency=currency),
        "gates": route.gates,
        "pi": route.pi,
        "drawn": route.drawn,
        "created_at": route.created_at,
        "superseded_at": route.superseded_at,
    }


def _to_task(task: ReviewTask, is_hidden: bool) -> Json:
    return {
        "id": task.pk,
        # "Audit" would tell that the policy had let it through.
        "kind": None if is_hidden else task.kind,
        "status": task.status,
        # That it waits for a senior would tell that colleagues differ.
        "stage": None if is_hidden else task.stage,
        "blind": task.blind,
        "asked": task.asked,
        "reviews_wanted": task.reviews_wanted,
        "reviews_needed": task.reviews_needed,
        "reviews_done": task.reviews_done,
        "due_at": task.due_at,
        "created_at": task.created_at,
        "closed_at": task.closed_at,
        "events": [] if is_hidden else [_to_event(event) for event in task.events.all()],
    }


def _to_event(event: TaskEvent) -> Json:
    return {
        "kind": event.kind,
        "user": event.user.username if event.user else None,
        "to_user": event.to_user.username if event.to_user else None,
        "note": event.note,
        "created_at": event.created_at,
    }


def _answered(item: Item) -> Json:
    reviews = Review.objects.filter(task__item=item).select_related("user").order_by("pk")
    labels = Label.objects.filter(item=item).select_related(
        "item", "question", "question_set", "review__user"
    )
    in_force = labels.filter(question__is_routing=True, taken_back_at=None).first()
    return {
        "reviews": [_to_review(review) for review in reviews.prefetch_related("answers__question")],
        "label": to_label(in_force) if in_force else None,
        "labels": [to_label(label) for label in labels.order_by("pk")],
    }


def _to_review(review: Review) -> Json:
    return {
        "id": review.pk,
        "task_id": review.task_id,
        "reviewer": review.user.username,
        "revision": review.revision,
        "blind": review.blind,
        "seconds": review.seconds,
        "note": review.note,
        "is_adjudication": review.is_adjudication,
        "answers": [
            {
                "question": answer.question.key,
                "kind": answer.kind,
                "value": answer.value,
                "model_value": answer.model_value,
                "said": answer.said,
                "is_asked": answer.is_asked,
            }
            for answer in review.answers.all()
        ],
        "created_at": review.created_at,
        "taken_back_at": review.taken_back_at,
    }


def to_label(label: Label) -> Json:
    """The fields of LabelOut; the label comes with its item, question, version and reviewer."""
    return {
        "id": label.pk,
        "item_id": label.item_id,
        "external_id": label.item.external_id,
        "question": label.question.key,
        "value": label.value,
        "source": label.source,
        "blind": label.blind,
        "inclusion_probability": label.pi,
        "is_asked": label.is_asked,
        "reviewer": label.review.user.username if label.review else None,
        "question_set_version": label.question_set.version,
        "created_at": label.created_at,
        "taken_back_at": label.taken_back_at,
    }


def _acted(item: Item) -> Json:
    runs = ActionRun.objects.filter(item=item).select_related("action").order_by("pk")
    return {
        "action_runs": [
            {
                "id": run.pk,
                "action": run.action.kind,
                "label": run.action.label,
                "settings": run.settings,
                "started_by": run.started_by,
                "status": run.status,
                "attempts": run.attempts,
                "not_before": run.not_before,
                "read_back": run.read_back,
                "error": run.error,
                "created_at": run.created_at,
                "finished_at": run.finished_at,
            }
            for run in runs
        ]
    }
