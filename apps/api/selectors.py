"""Items and labels as the API lists them. What a token's person may not know can neither be read nor filtered out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q, QuerySet

from apps.accounts.models import User
from apps.api.paging import Place
from apps.api.shapes import ItemsQuery, LabelsQuery
from apps.api.times import since_in
from apps.items.models import Item, Route
from apps.reviews.models import Label, ReviewTask
from apps.reviews.selectors import hidden_from
from apps.workflows.models import Workflow


@dataclass(frozen=True, slots=True)
class Listed:
    """`route` and `label` (of the routing question) are None when there is none, and when the item is hidden."""

    item: Item
    is_hidden: bool
    route: Route | None
    label: Label | None


def listed_items(*, user: User, workflow: Workflow, query: ItemsQuery, place: Place) -> QuerySet[Item]:
    """Newest first, one more than a page."""
    items = _filtered(user, Item.objects.filter(workflow=workflow), query)
    since = since_in(query.since, workflow)
    if since is not None:
        items = items.filter(created_at__gte=since)
    if place.after is not None:
        items = items.filter(pk__lt=place.after)
    return items.order_by("-pk")[: query.limit + 1]


def _filtered(user: User, items: QuerySet[Item], query: ItemsQuery) -> QuerySet[Item]:
    hidden = Q(Exists(ReviewTask.objects.filter(hidden_from(user), item=OuterRef("pk"))))
    # Asking for "settled" would tell that the policy let a hidden item through.
    if query.status == "in_review":
        items = items.filter(Q(status=query.status) | hidden)
    elif query.status:
        items = items.filter(~hidden, status=query.status)
    in_force = Route.objects.filter(item=OuterRef("pk"), superseded_at=None)
    if query.route:
        items = items.filter(~hidden & Q(Exists(in_force.filter(outcome=query.route))))
    if query.label:
        settled = Label.objects.filter(item=OuterRef("pk"), question__is_routing=True, taken_back_at=None)
        by_model = Q(Exists(in_force.filter(label=query.label))) & ~Q(Exists(settled))
        items = items.filter(~hidden & (Q(Exists(settled.filter(value=query.label))) | by_model))
    return items


def with_answers(*, user: User, items: Sequence[Item]) -> list[Listed]:
    ids = [item.pk for item in items]
    hidden = set(ReviewTask.objects.filter(hidden_from(user), item__in=ids).values_list("item_id", flat=True))
    seen = [pk for pk in ids if pk not in hidden]
    in_force = Route.objects.filter(item__in=seen, superseded_at=None).defer("gates", "reasons")
    routes = {route.item_id: route for route in in_force}
    settled = Label.objects.filter(item__in=seen, question__is_routing=True, taken_back_at=None)
    labels = {label.item_id: label for label in settled}
    return [Listed(item, item.pk in hidden, routes.get(item.pk), labels.get(item.pk)) for item in items]


def listed_labels(*, user: User, workflow: Workflow, query: LabelsQuery, place: Place) -> QuerySet[Label]:
    """Labels in force, in the order in which they were settled, one more than a page."""
    hidden = ReviewTask.objects.filter(hidden_from(user), item=OuterRef("item"))
    labels = Label.objects.filter(~Q(Exists(hidden)), workflow=workflow, taken_back_at=None)
    since = since_in(query.since, workflow)
    if since is not None:
        labels = labels.filter(created_at__gte=since)
    if place.after is not None:
        labels = labels.filter(pk__gt=place.after)
    return labels.select_related("item", "question", "question_set", "review__user").order_by("pk")[
        : query.limit + 1
    ]
