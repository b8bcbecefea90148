from __future__ import annotations

import itertools
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.routing.types import TextOverride
from apps.routing.words import Phrase, ScannedText, find_spans, fold

from .situations import codes, route_of, rules

WORDS = TextOverride("words", "Words", ("refund*", "cancel my order", *(f"word{n}*" for n in range(100))))
MEGABYTE = 2**20


def is_found(written: str, text: str) -> bool:
    return Phrase.of(written).occurs_in(ScannedText.of(text))


def test_it_works() -> None:
    assert codes(route_of(text="I want my money: REFUNDS now!", under=rules(overrides=(WORDS,)))) == [
        "override:words"
    ]
    assert codes(route_of(text="I am fun.", under=rules(overrides=(WORDS,)))) == []


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("contract", "(contract)"),
        ("contract*", "Contractual terms"),
        ("cancel my order", "Please CANCEL\nmy   order."),
        ("don't", "I don’t"),
        ("über*", "UBERWEISUNG"),
        ("straße", "STRASSE"),
        ("sıfır", "SIFIR"),
        ("договор", "ДОГОВОР"),
        ("Σίσυφος", "ΣΊΣΥΦΟΣ"),
        ("合同", "请看合同吧"),
        ("환불*", "환불해 주세요"),
        ("№5", "no5"),
    ],
)
def test_whole_words_without_case_or_accents(written: str, text: str) -> None:
    assert is_found(written, text)


@pytest.mark.parametrize(
    ("written", "text"),
    [("contract", "contracts"), ("fund", "refund"), ("my order", "my big order"), ("عقد", "عقدة")],
)
def test_parts_of_words_are_other_words(written: str, text: str) -> None:
    assert not is_found(written, text)


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("إلغاء", "الغاء"),
        ("فاتورة", "فاتوره"),
        ("مشترى", "مشتري"),
        ("حساب", "حـــســاب"),
        ("عقد", "عَقْدٌ"),
        ("کتاب", "كتاب"),
        ("عقد", "بالعقد"),
        ("العقد", "عقد"),
        ("فاتورة", "وللفاتورة"),
        ("دفع*", "الدفعات"),
        ("رقم 5", "رقم ٥"),
    ],
)
def test_arabic_spellings_and_the_article(written: str, text: str) -> None:
    assert is_found(written, text)


@pytest.mark.parametrize(
    "text",
    [
        "re\u200bfund",
        "re\u00adfund",
        "\u202erefund\u202c",
        "r\u2066e\u2069fund",
        "r\u0336e\u0301fund",
        "ｒｅｆｕｎｄ",
        "𝐫𝐞𝐟𝐮𝐧𝐝",
        "rеfund",
        "re\x08fund",
        "re\U000e0066fund",
    ],
)
def test_a_hidden_word_is_found(text: str) -> None:
    assert is_found("refund", text)


@pytest.mark.parametrize("written", ["", "*", "...", "re*fund", "a* b", "**", "x" * 101])
def test_what_could_never_be_found_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match=r"^words: "):
        TextOverride("o", "O", (written,))


@pytest.mark.parametrize(
    "text",
    [
        "wor " * (MEGABYTE // 4),
        "word" * (MEGABYTE // 4),
        "e" + "\u0301\u0323" * (MEGABYTE // 4),
        "x\u200b\u202e" * (MEGABYTE // 7),
        "\ufdfa" * (MEGABYTE // 3),
        "والعقد " * (MEGABYTE // 13),
        "".join(map(chr, range(0x10000, 0x40000))),
    ],
    ids=["words", "one word", "accents", "invisible", "ligatures", "right to left", "all different"],
)
def test_a_hostile_megabyte_takes_no_time(text: str) -> None:
    # Measured in time of this process alone: the machine may be busy with something else.
    began = time.process_time()
    route_of(text=text, under=rules(overrides=(WORDS,)))
    assert time.process_time() - began < 1


@given(st.text(max_size=200), st.text(max_size=200))
@settings(max_examples=100, deadline=None)
def test_a_word_is_found_between_any_two_texts(before: str, after: str) -> None:
    assert is_found("refund", f"{before} Refund {after}")
    assert fold(fold(before)) == fold(before)


def words_marked(text: str, *phrases: str) -> list[str]:
    return [text[start:end] for start, end in find_spans(text, [Phrase.of(phrase) for phrase in phrases])]


@pytest.mark.parametrize(
    ("text", "phrases", "found"),
    [
        ("Please REFUND the contracts, réfund.", ("refund", "contract*"), ["REFUND", "contracts", "réfund"]),
        ("أريد إلغاء العَقْدَ والعقود", ("عقد", "عقود"), ["العَقْدَ", "والعقود"]),
        ("我要退款谢谢", ("退款",), ["退款"]),
        ("re\u200bfund me", ("refund",), ["re\u200bfund"]),
        ("I want my money back now", ("my money", "money back"), ["my money back"]),
        ("refunding", ("refund",), []),
        ("", ("refund",), []),
    ],
)
def test_where_words_stand(text: str, phrases: tuple[str, ...], found: list[str]) -> None:
    assert words_marked(text, *phrases) == found


@given(
    st.text(alphabet="abc اعقدلوب 退款\u0651-é", max_size=40),
    st.sampled_from(["a", "b*", "عقد", "退款", "a b"]),
)
def test_marked_is_what_a_rule_finds(text: str, written: str) -> None:
    spans = find_spans(text, [Phrase.of(written)])
    assert bool(spans) == is_found(written, text)
    assert all(is_found(written, text[start:end]) for start, end in spans)
    assert all(one[1] <= other[0] for one, other in itertools.pairwise(spans))
