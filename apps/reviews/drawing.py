"""How many people a task asks and whether they see what the model said, drawn when it is made."""

from __future__ import annotations

from typing import NamedTuple

from apps.reviews.models import ReviewRules


class Drawn(NamedTuple):
    """As ReviewTask has them: `blind_pi` is the chance, known before the draw, of being as blind as it is."""

    wanted: int
    blind: bool
    blind_pi: float


def draw_opinions(
    rules: ReviewRules, *, label: str | None, blind_share: float, blind: float, second: float
) -> Drawn:
    """`blind_share` is the chance that one person's answer would be blind, 1 where it always is; `blind` and `second`
    are the item's draws in [0, 1).

    Several opinions are blind whatever was drawn. Where the rules fix several, nothing about blindness was chance.
    """
    fixed = max(rules.wanted, rules.wanted_by_label.get(label or "", 1))
    if fixed > 1:
        return Drawn(fixed, True, 1.0)
    wanted = 2 if second < rules.second_share else 1
    visible = (1.0 - blind_share) * (1.0 - rules.second_share)
    is_blind = wanted > 1 or blind < blind_share
    return Drawn(wanted, is_blind, 1.0 - visible if is_blind else visible)
