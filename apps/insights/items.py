"""Finding items. What a person may not know of an item yet can neither be read here nor be found out by filtering."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import OperationalError, connection, transaction
from django.db.models import BooleanField, Exists, F, Func, OuterRef, Q, QuerySet, Value
from psycopg.errors import QueryCanceled

from apps.accounts.models import User
from apps.core.db import ClockTimestamp
from apps.core.errors import FieldProblem, InvalidInput
from apps.items.models import Item, Route
from apps.reviews.models import Label, Lease, ReviewTask
from apps.reviews.selectors import hidden_from
from apps.workflows.models import Question, Workflow

PAGE = 50
LONGEST_SEARCH_S = 5.0
NEWEST = 1_000


class ILike(Func):
    """`text ILIKE pattern`, which the trigram index answers; Django's own icontains compares UPPER() instead."""

    template = "%(expressions)s"
    arg_joiner = " ILIKE "
    output_field = BooleanField()


@dataclass(frozen=True, slots=True)
class ItemQuery:
    """Empty means any. `before` and `after` are item ids: the page of older, or of newer, items."""

    status: str = ""
    outcome: str = ""
    label: str = ""
    source: str = ""
    group: str = ""
    text: str = ""
    before: int | None = None
    after: int | None = None


@dataclass(frozen=True, slots=True)
class ItemRow:
    """`route` and `label` are None when there is none, and always when the item is hidden from this person.

    `open_by`: the names of those who have it on their desk now.
    """

    item: Item
    is_hidden: bool
    route: Route | None
    label: Label | None
    answer: str
    open_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ItemPage:
    """Newest first. `newer` and `older` are the ids to page on with, None at an end."""

    rows: tuple[ItemRow, ...]
    newer: int | None
    older: int | None


def find_items(
    *, user: User, workflow: Workflow, query: ItemQuery, limit_s: float = LONGEST_SEARCH_S
) -> ItemPage:
    """One page of what matches. Raises InvalidInput when the database needs longer than `limit_s` for it."""
    try:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT set_config('statement_timeout', %s, true)", [f"{limit_s * 1000:.0f}ms"]
                )
            return _find(user, workflow, query)
    except OperationalError as error:
        if isinstance(error.__cause__, QueryCanceled):
            sentence = "This search takes too long. Add a word, or another filter."
            raise InvalidInput(FieldProblem("text", sentence)) from error
        raise


def _find(user: User, workflow: Workflow, query: ItemQuery) -> ItemPage:
    allowed = _filtered(user, workflow, query)
    listed, named = allowed, list[Item]()
    if query.text:
        named = list(allowed.filter(external_id=query.text))
        others = allowed.exclude(pk__in=[item.pk for item in named])
        listed = others.filter(ILike(F("content__text"), Value(_pattern(query.text))))
    items, has_newer, has_older = _one_page(listed, query)
    # Whoever searches for an external id means that item, so it leads the first page.
    shown = items if query.before or query.after else [*named, *items]
    return ItemPage(
        rows=tuple(_to_rows(user, workflow, shown)),
        newer=items[0].pk if has_newer and items else None,
        older=items[-1].pk if has_older and items else None,
    )


def _one_page(items: QuerySet[Item], query: ItemQuery) -> tuple[list[Item], bool, bool]:
    """The items, and whether there are newer and older ones; one row more is fetched instead of counting."""
    if query.after is not None:
        found = list(items.filter(pk__gt=query.after).order_by("pk")[: PAGE + 1])
        return found[:PAGE][::-1], len(found) > PAGE, True
    older = (
        items.order_by("-pk") if query.before is None else items.filter(pk__lt=query.before).order_by("-pk")
    )
    found = list(older[: PAGE + 1])
    return found[:PAGE], query.before is not None, len(found) > PAGE


def hidden_items(user: User) -> Exists:
    """For a filter on items: those whose model answer, route and labels this person may not know yet."""
    return Exists(ReviewTask.objects.filter(hidden_from(user), item=OuterRef("pk")))


def _filtered(user: User, workflow: Workflow, query: ItemQuery) -> QuerySet[Item]:
    items = Item.objects.filter(workflow=workflow)
    if query.source:
        items = items.filter(source=query.source)
    if query.group:
        items = items.filter(group_key=query.group)
    hidden = hidden_items(user)
    # "Settled" would tell that the policy let it through, so a hidden item counts as in review.
    if query.status == Item.Status.IN_REVIEW:
        items = items.filter(Q(status=query.status) | Q(hidden))
    elif query.status:
        items = items.filter(~hidden, status=query.status)
    if query.outcome or query.label:
        items = items.filter(~hidden)
    in_force = Route.objects.filter(item=OuterRef("pk"), superseded_at=None)
    if query.outcome:
        items = items.filter(Exists(in_force.filter(outcome=query.outcome)))
    if query.label:
        settled = Label.objects.filter(item=OuterRef("pk"), question__is_routing=True, taken_back_at=None)
        by_model = Exists(in_force.filter(label=query.label)) & ~Exists(settled)
        items = items.filter(Exists(settled.filter(value=query.label)) | by_model)
    return items


def _pattern(text: str) -> str:
    return "%" + re.sub(r"([\\%_])", r"\\\1", text) + "%"


def _to_rows(user: User, workflow: Workflow, items: Sequence[Item]) -> list[ItemRow]:
    ids = [item.pk for item in items]
    hidden = set(ReviewTask.objects.filter(hidden_from(user), item__in=ids).values_list("item_id", flat=True))
    seen = [pk for pk in ids if pk not in hidden]
    routes = {
        route.item_id: route
        for route in Route.objects.filter(item__in=seen, superseded_at=None).defer("gates", "reasons")
    }
    labels = {
        label.item_id: label
        for label in Label.objects.filter(item__in=seen, question__is_routing=True, taken_back_at=None)
    }
    names, desks = label_names(workflow), _desks(ids)
    rows = []
    for item in items:
        route, label = routes.get(item.pk), labels.get(item.pk)
        value = label.value if label else route.label if route else None
        answer = names.get(value, value) if value is not None else "None of these" if label else ""
        rows.append(ItemRow(item, item.pk in hidden, route, label, answer, tuple(desks[item.pk])))
    return rows


def _desks(item_ids: Sequence[int]) -> defaultdict[int, list[str]]:
    live = Lease.objects.filter(task__item__in=item_ids, expires_at__gt=ClockTimestamp())
    people = defaultdict(list)
    for item_id, name in live.order_by("acquired_at").values_list("task__item", "user__username"):
        people[item_id].append(name)
    return people


def label_names(workflow: Workflow) -> dict[str, str]:
    """Names of the routing question's options by id, those of all versions; the newest version's name counts."""
    questions = Question.objects.filter(question_set__workflow=workflow, is_routing=True)
    names: dict[str, str] = {}
    for question in questions.order_by("question_set__version"):
        names |= question.option_names
    return names


def recent_sources(workflow: Workflow) -> list[str]:
    """Where the newest items came from; the whole table is not read for a list of suggestions."""
    newest = Item.objects.filter(workflow=workflow).order_by("-pk").values_list("source", flat=True)[:NEWEST]
    return sorted(set(newest))
