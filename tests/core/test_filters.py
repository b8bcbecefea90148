from __future__ import annotations

from datetime import datetime

import pytest

from apps.core.templatetags.fermata import (
    count,
    duration,
    in_utc,
    instant,
    is_stand_in,
    percent,
    probability,
    share,
    words,
)
from apps.core.templatetags.tree import MAX_ROWS, Row, rows_of


def test_it_works() -> None:
    assert percent(0.934) == "93 %"


@pytest.mark.parametrize(
    ("p", "shown"),
    [
        (0.934, "93.4 %"),
        (0.0, "0.0 %"),
        (1.0, "100.0 %"),
        (0.00001, "< 0.1 %"),
        (0.99999, "> 99.9 %"),
        (None, "—"),
    ],
)
def test_a_probability_is_never_rounded_to_certainty(p: float | None, shown: str) -> None:
    assert probability(p) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (None, "—"),
        (0.42, "0.4 s"),
        (9.96, "10 s"),
        (59.6, "1 min"),
        (200, "3 min 20 s"),
        (7_500, "2 h 5 min"),
        (360_000, "4 d 4 h"),
    ],
)
def test_durations_are_said_as_people_say_them(seconds: float | None, shown: str) -> None:
    assert duration(seconds) == shown


@pytest.mark.parametrize(
    ("at", "told", "shown"),
    [
        ("2026-11-03T17:58:02+00:00", "2026-11-03T17:58:02+00:00", "3 Nov 2026, 17:58 UTC"),
        ("2026-01-01T00:30:00+02:00", "2025-12-31T22:30:00+00:00", "31 Dec 2025, 22:30 UTC"),
        ("0001-01-01T00:00:00+00:00", "0001-01-01T00:00:00+00:00", "1 Jan 0001, 00:00 UTC"),
    ],
)
def test_an_instant_is_told_in_utc(at: str, told: str, shown: str) -> None:
    moment = datetime.fromisoformat(at)
    assert (instant(moment), in_utc(moment)) == (told, shown)


def test_counts_use_no_sign_that_reads_as_a_point() -> None:
    assert [count(1_234_567), count(12.5), count(0), count(None)] == ["1\u202f234\u202f567", "12.5", "0", "—"]


def test_a_bar_stays_within_its_frame() -> None:
    assert [share(-1), share(0.5), share(2), share(None)] == ["0.00%", "50.00%", "100.00%", "0%"]


def test_a_stand_in_is_known_by_its_name() -> None:
    assert [is_stand_in("standin-ngram-1"), is_stand_in("clef"), is_stand_in(None)] == [True, False, False]


def test_a_key_becomes_a_title() -> None:
    assert [words("mentions_contract"), words(""), words("تاريخ")] == ["Mentions contract", "", "تاريخ"]


def test_a_state_becomes_rows() -> None:
    assert rows_of({"body": "a\nb", "from": "ann", "tags": ["x"]}) == [
        Row("from", "ann", 0),
        Row("body", "a\nb", 0),
        Row("tags", None, 0),
        Row("1", "x", 1),
    ]


def test_what_lies_deep_is_shown_as_json() -> None:
    assert rows_of({"a": {"b": {"c": {"d": {"e": {"f": 1}}}}}})[-1] == Row("e", '{"f": 1}', 4)


def test_nothing_of_a_wide_state_is_left_out() -> None:
    rows = rows_of({str(n): n for n in range(MAX_ROWS + 5)})
    assert len(rows) == MAX_ROWS
    assert rows[-1].name == "6 more"
    assert f'"{MAX_ROWS + 4}": {MAX_ROWS + 4}' in str(rows[-1].value)


def test_deep_nesting_exhausts_nothing() -> None:
    state: object = "end"
    for _ in range(400):
        state = [state]
    assert len(rows_of(state)) == 5


def test_empty_branches_are_values() -> None:
    assert rows_of({"a": [], "b": {}}) == [Row("a", "[]", 0), Row("b", "{}", 0)]


def test_a_short_mail_reads_as_a_mail() -> None:
    mail = {"body": "Hi", "vip": True, "subject": "Offer", "date": "today", "to": "us", "from": "ann"}
    assert [row.name for row in rows_of(mail)] == ["from", "to", "subject", "date", "body", "vip"]
