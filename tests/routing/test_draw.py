from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from apps.routing.draw import draws_for, thin_draw
from apps.routing.types import Draw

from .situations import route_of

KEY = b"a key of this test"
ITEMS = 20_000


def test_it_works() -> None:
    draw = draws_for(KEY, "leads", "leads-001")
    assert draw == draws_for(KEY, "leads", "leads-001")
    assert 0 <= draw.audit < 1
    assert 0 <= draw.blind < 1


def test_the_numbers_never_change() -> None:
    # Stored routes are replayed: another number for the same item would be a roll of the dice.
    assert draws_for(b"key", "leads", "1") == Draw(audit=0.8247214536943412, blind=0.7111202187440483)
    assert thin_draw(b"key", "leads", "1") == 0.913799331506176


def test_key_workflow_and_item_all_matter() -> None:
    parts = [(KEY, "ab", "c"), (KEY, "a", "bc"), (b"another", "ab", "c"), (KEY, "ab", "d")]
    assert len({draws_for(*each).audit for each in parts}) == len(parts)


def test_an_empty_key_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^key: "):
        draws_for(b"", "leads", "1")


@pytest.mark.parametrize(
    "number",
    [
        lambda item: draws_for(KEY, "leads", item).audit,
        lambda item: draws_for(KEY, "leads", item).blind,
        lambda item: thin_draw(KEY, "leads", item),
    ],
    ids=["audit", "blind", "thin"],
)
def test_draws_are_uniform(number: Callable[[str], float]) -> None:
    counts = [0] * 20
    for item in range(ITEMS):
        counts[int(number(f"item-{item}") * 20)] += 1
    expected = ITEMS / 20
    assert sum((count - expected) ** 2 / expected for count in counts) < 43.8  # chi-square, 19 df, p = 0.001


def test_one_draw_tells_nothing_about_another() -> None:
    audited = [item for item in map(str, range(ITEMS)) if draws_for(KEY, "leads", item).audit < 0.1]
    blind = sum(draws_for(KEY, "leads", item).blind < 0.1 for item in audited)
    kept = sum(thin_draw(KEY, "leads", item) < 0.1 for item in audited)
    spread = 4 * math.sqrt(len(audited) * 0.09)
    assert abs(blind - len(audited) / 10) < spread
    assert abs(kept - len(audited) / 10) < spread


def test_the_audited_share_is_the_rate() -> None:
    drawn = sum(route_of(draw=draws_for(KEY, "leads", str(item))).drawn for item in range(4_000))
    assert abs(drawn - 400) < 4 * math.sqrt(4_000 * 0.09)
