from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.clef.local.features import MAX_CHARACTERS, features_of, normalise, text_of


def test_it_works() -> None:
    assert text_of({"subject": "Hello", "from": "a@b.example"}) == "a@b.example\nHello"
    assert len(features_of("Hello there")) > 40


@pytest.mark.parametrize(
    ("state", "text"),
    [
        ("as it is", "as it is"),
        ({"b": ["x", {"d": "y", "c": "z"}], "a": 7}, "7\nx\nz\ny"),
        (["x", True, None, 1.5], "x\n1.5"),
        ({}, ""),
        (None, ""),
    ],
)
def test_text_is_every_value_in_key_order(state: Any, text: str) -> None:
    assert text_of(state) == text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("أريد إلغاء الآن", "اريد الغاء الان"),
        ("شكرًا", "شكرا"),
        ("الفاتورة", "الفاتوره"),
        ("مستشفى", "مستشفي"),
        ("مــــرحبا", "مرحبا"),
        ("مَرْحَبًا", "مرحبا"),
        ("CAFÉ", "cafe"),
        ("sp\u200bam", "spam"),
        ("\u202espam\u202c", "spam"),
    ],
)
def test_spellings_of_one_word_are_one(one: str, other: str) -> None:
    assert normalise(one) == normalise(other)


def test_the_head_of_a_long_text_is_read() -> None:
    assert len(text_of("x" * 100_000)) == MAX_CHARACTERS


def test_a_deep_state_is_read() -> None:
    state: Any = "bottom"
    for _ in range(sys.getrecursionlimit() * 2):
        state = [state]
    assert text_of(state) == "bottom"


@settings(deadline=None)  # a busy machine is no failure
@given(text=st.text(st.characters()))
def test_any_text_has_features(text: str) -> None:
    assert (features_of(text) >= 0).all()


def test_half_a_surrogate_pair_has_features() -> None:
    assert len(features_of("\ud83d ok")) > 0
