"""An item's content for one person: marked with the words of rules only where the person may know the reason."""

from __future__ import annotations

from apps.accounts.models import User
from apps.items.models import Item, Route
from apps.reviews.body import FIRST, Body
from apps.reviews.content import CameIn, came_in, rest_of
from apps.reviews.marking import rule_phrases
from apps.reviews.selectors import is_hidden_from
from apps.routing.words import Phrase


def came_in_for(*, user: User, item: Item, searched: str = "", most: int = FIRST) -> CameIn:
    """`item` comes with its content and workflow."""
    return came_in(
        item,
        top_fields=item.workflow.top_fields,
        phrases=_phrases(user, item),
        searched=searched,
        most=most,
    )


def rest_for(*, user: User, item: Item, part: int | None, start: int, searched: str = "") -> Body:
    """What follows what `came_in_for`, or the desk, showed of it."""
    return rest_of(
        item,
        part=part,
        start=start,
        top_fields=item.workflow.top_fields,
        phrases=_phrases(user, item),
        searched=searched,
    )


def _phrases(user: User, item: Item) -> tuple[Phrase, ...]:
    """Of the policy that routed it: that a rule held it would tell somebody who is to answer blind."""
    if is_hidden_from(user=user, item=item):
        return ()
    in_force = Route.objects.filter(item=item, superseded_at=None)
    return rule_phrases(in_force.values_list("policy__rules__overrides", flat=True).first())
