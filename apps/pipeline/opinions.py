"""How many people look at what goes to people, drawn as its task is made."""

from __future__ import annotations

from django.conf import settings

from apps.items.models import Item
from apps.pipeline.rulebook import Rulebook
from apps.reviews.drawing import Drawn, draw_opinions
from apps.reviews.models import ReviewRules
from apps.routing.draw import second_draw
from apps.routing.types import Route, RouteKind


def opinions_on(book: Rulebook, rules: ReviewRules, item: Item, pure: Route) -> Drawn:
    """By keyed hashes of the item, so that nobody can draw again."""
    return draw_opinions(
        rules,
        label=pure.label,
        blind_share=_blind_share(book, pure),
        blind=book.draw_for(item).blind,
        second=second_draw(settings.SECRET_KEY.encode(), book.workflow.slug, item.external_id),
    )


def _blind_share(book: Rulebook, pure: Route) -> float:
    if pure.kind is RouteKind.MODEL_ERROR:
        return 0.0  # nothing was said that could be hidden
    return book.rules.blind_share if pure.kind is RouteKind.REVIEW else 1.0
