from __future__ import annotations

import pytest

from apps.core.text import whole_number


def test_it_works() -> None:
    assert (whole_number("0"), whole_number("42"), whole_number("9" * 18)) == (0, 42, 10**18 - 1)


@pytest.mark.parametrize(
    "text", [None, "", "-1", "+1", "1.0", " 1", "1_000", "٣", "²", "9" * 19, "9" * 5_000]
)
def test_anything_else_is_no_number(text: str | None) -> None:
    assert whole_number(text) is None
