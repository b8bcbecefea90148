from __future__ import annotations

from typing import Any

from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.views.decorators.http import require_safe

from apps.accounts.http import PersonRequest
from apps.accounts.models import User
from apps.core.errors import InvalidInput
from apps.core.htmx import render
from apps.insights.forms_items import ItemFilter
from apps.insights.items import ItemPage, find_items
from apps.insights.story import item_story
from apps.items.models import Item
from apps.reviews.body import FIRST, WHOLE
from apps.reviews.content import count_in_thread
from apps.reviews.forms_guidance import ExampleForm
from apps.reviews.guidance_examples import examples_of, showable
from apps.reviews.selectors import MOST_COUNTED
from apps.reviews.showing import came_in_for
from apps.workflows.access import get_workflow_for, is_manager
from apps.workflows.models import Role

FILTERS = ("text", "status", "outcome", "label", "source", "group")


@require_safe
def items(request: PersonRequest, slug: str) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.REVIEWER)
    form = ItemFilter(request.GET, workflow=workflow)
    page = None
    if form.is_valid():
        try:
            page = find_items(user=request.user, workflow=workflow, query=form.to_query())
        except InvalidInput as wrong:
            for problem in wrong.problems:
                form.add_error(problem.path, problem.message)
    context = {
        "workflow": workflow,
        "form": form,
        "page": page,
        "is_filtered": any(request.GET.get(name) for name in FILTERS),
        "now": timezone.now(),
        **_pages(request.GET, page),
    }
    status = 422 if form.errors else 200
    return render(request, "insights/items.html", context, fragment="insights/_found.html", status=status)


@require_safe
def item(request: PersonRequest, slug: str, item_id: int) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.REVIEWER)
    found = get_object_or_404(
        Item.objects.select_related("content", "workflow__endpoint"), pk=item_id, workflow=workflow
    )
    is_managing = is_manager(user=request.user, workflow=workflow)
    context = {
        "workflow": workflow,
        "story": item_story(user=request.user, item=found),
        "came": came_in_for(
            user=request.user, item=found, most=WHOLE if request.GET.get("whole") == "1" else FIRST
        ),
        "in_thread": count_in_thread(found),
        "most_counted": MOST_COUNTED,
        "is_manager": is_managing,
        "now": timezone.now(),
        **(_as_example(request.user, found) if is_managing else {}),
    }
    return render(request, "insights/item.html", context)


def _as_example(user: User, item: Item) -> dict[str, Any]:
    """What it is an example of, and the form for more where people settled it and nobody is to answer blind."""
    can_show = showable(user=user, item=item)
    return {
        "examples": examples_of(item) if can_show else [],
        "example_form": ExampleForm(showable=can_show) if can_show else None,
    }


def _pages(asked: QueryDict, page: ItemPage | None) -> dict[str, str | None]:
    if page is None:
        return {}
    return {
        "newer": _address(asked, after=page.newer),
        "older": _address(asked, before=page.older),
    }


def _address(asked: QueryDict, **place: int | None) -> str | None:
    """The same filters from another place on; None when there is nothing there."""
    if None in place.values():
        return None
    address = QueryDict(mutable=True)
    for name in FILTERS:
        value = asked.get(name)
        if value:
            address[name] = str(value)
    for name, item_id in place.items():
        address[name] = str(item_id)
    return f"?{address.urlencode()}"
