from __future__ import annotations

import pytest

from apps.sources.tables.cells import to_value


def test_it_works() -> None:
    assert to_value("1200.50", ",") == 1200.5


@pytest.mark.parametrize(
    ("cell", "delimiter", "value"),
    [
        ("17", ",", 17),
        ("-3", ",", -3),
        (" 8 ", ",", 8),
        ("0", ",", 0),
        ("1,250", ",", 1250),
        ("1,250,000.5", "\t", 1_250_000.5),
        ("12,50", ";", 12.5),
        ("1.234,50", ";", 1234.5),
        ("12.50", ";", 12.5),
        ("TRUE", ",", True),
        ("false", ";", False),
    ],
)
def test_what_can_only_be_a_number_or_yes_or_no(cell: str, delimiter: str, value: float) -> None:
    found = to_value(cell, delimiter)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("cell", "delimiter"),
    [
        ("007", ","),
        ("+49 30 1234", ","),
        ("1.234", ";"),
        ("12,50", ","),
        ("1e5", ","),
        ("NaN", ","),
        ("inf", ","),
        ("€12", ","),
        ("1234567890123456", ","),
        ("١٢", ","),
        ("12.", ","),
        ("2026-11-30", ","),
        ("yes", ","),
    ],
)
def test_everything_else_stays_as_it_is(cell: str, delimiter: str) -> None:
    assert to_value(cell, delimiter) == cell
