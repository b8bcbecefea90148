"""Items in, items found, one item's whole story."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import Http404, HttpRequest
from django.urls import reverse
from django.utils import timezone
from ninja import Query, Router
from ninja.responses import Status

from apps.api.docs import BATCH_BODY, described
from apps.api.door import token_of, workflow_of
from apps.api.errors import invalid
from apps.api.intake import take_batch, take_item
from apps.api.paging import page_of, place_of, refuse_unknown
from apps.api.reading import read_json
from apps.api.selectors import Listed, listed_items, with_answers
from apps.api.shapes import (
    BatchOut,
    ItemAdded,
    ItemPage,
    ItemRow,
    ItemsQuery,
    RouteSummary,
    to_head,
)
from apps.api.shapes_story import StoryOut
from apps.api.story import story_of
from apps.core.errors import FieldProblem
from apps.items.models import Item
from apps.workflows.models import Scope

router = Router(tags=["items"])


@router.post(
    "/workflows/{str:slug}/items",
    **described(
        "Hand over one item, or a batch",
        Scope.INGEST,
        {200: ItemAdded | BatchOut, 201: ItemAdded},
        refusals=(400, 404, 409, 411, 413, 415, 422),
        body=BATCH_BODY,
    ),
)
def items_add(request: HttpRequest, slug: str) -> Status[Any]:
    """One item answers 201, or 200 when it was there already: the same external_id is never a second item. The same
    external_id with other content is refused with 409.

    `{"items": [...]}` is a batch and answers 200: good rows are kept, each bad one is named in `failed`.
    """
    workflow = workflow_of(request, slug, Scope.INGEST)
    user = token_of(request, Scope.INGEST).user
    body, address, now = read_json(request), address_in(request), timezone.now()
    if isinstance(body, dict) and "items" in body:
        return Status(200, take_batch(workflow=workflow, user=user, body=body, address=address, now=now))
    if not isinstance(body, dict):
        raise invalid(FieldProblem("", "must be an object: one item, or items in an array named items"))
    item = take_item(workflow=workflow, user=user, body=body, address=address, now=now)
    return Status(201 if item.created else 200, item)


@router.get(
    "/workflows/{str:slug}/items",
    **described("Find items", Scope.READ, {200: ItemPage}, refusals=(404, 422)),
)
def items_list(request: HttpRequest, slug: str, query: Query[ItemsQuery]) -> ItemPage:
    """Newest first."""
    token = token_of(request, Scope.READ)
    workflow = workflow_of(request, slug, Scope.READ)
    refuse_unknown(request.GET, tuple(ItemsQuery.model_fields))
    place = place_of(query.cursor, "items", workflow.pk, query.status, query.route, query.label, query.since)
    found = list(listed_items(user=token.user, workflow=workflow, query=query, place=place))
    page, following = page_of(found, query.limit, place)
    address = address_in(request)
    rows = with_answers(user=token.user, items=page)
    return ItemPage(items=[_to_row(row, address(row.item.pk)) for row in rows], next=following)


@router.get(
    "/items/{int:item_id}",
    **described("One item's whole story", Scope.READ, {200: StoryOut}, refusals=(404,)),
)
def item_story(request: HttpRequest, item_id: int) -> StoryOut:
    """What came in, what the model answered, where policy sent it and why, what people said, what was done."""
    token = token_of(request, Scope.READ)
    item = Item.objects.select_related("content").filter(workflow=token.workflow, pk=item_id).first()
    if item is None:
        raise Http404
    return story_of(user=token.user, item=item, url=address_in(request)(item.pk))


def address_in(request: HttpRequest) -> Callable[[int], str]:
    """From an item's id to the address of its story."""
    return lambda item_id: request.build_absolute_uri(reverse("api:item_story", args=[item_id]))


def _to_row(row: Listed, url: str) -> ItemRow:
    route = row.route
    return ItemRow.model_validate(
        to_head(row.item, is_hidden=row.is_hidden, url=url)
        | {
            "route": None
            if route is None
            else RouteSummary.model_validate({"outcome": route.outcome, "label": route.label, "p": route.p}),
            "label": row.label.value if row.label else None,
        }
    )
