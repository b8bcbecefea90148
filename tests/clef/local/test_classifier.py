from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from apps.clef.local.classifier import ModelCache, OptionTexts, train
from apps.clef.local.reading import Reader

ORDER = OptionTexts("order", ("I want to buy two", "please send me one", "can I order three of them"))
COMPLAINT = OptionTexts("complaint", ("it arrived broken", "this does not work at all", "very bad service"))
SPAM = OptionTexts("spam", ("win a prize now", "click here for free money", "cheap pills online"))


def p_of(options: tuple[OptionTexts, ...], text: str) -> list[float]:
    reader = Reader()
    shares: list[float] = train(options, reader).predict(reader.read(text)).tolist()
    return shares


def test_it_works() -> None:
    shares = p_of((ORDER, COMPLAINT, SPAM), "I would like to order two more")
    assert shares[0] == max(shares)
    assert sum(shares) == pytest.approx(1)


def test_the_same_question_and_text_give_the_same_numbers() -> None:
    options = (ORDER, COMPLAINT, SPAM)
    assert p_of(options, "broken again") == p_of(options, "broken again")


def test_two_options_sum_to_one_and_tell_apart() -> None:
    yes, no = p_of((COMPLAINT, ORDER), "broken, does not work")
    assert yes > 0.6
    assert yes + no == pytest.approx(1)


def test_without_examples_the_description_decides() -> None:
    options = (OptionTexts("billing, invoices and payments"), OptionTexts("technical faults and crashes"))
    shares = p_of(options, "a question about my invoice")
    assert 0.5 < shares[0] < 0.95


def test_one_example_counts_as_likeness() -> None:
    options = (OptionTexts("a", ("parcel is late",)), OptionTexts("b", ("money is missing",)))
    assert p_of(options, "my parcel is late")[0] > 0.6


@pytest.mark.parametrize("text", ["", "   ", "\u200b", "zzz qqq"])
def test_a_text_that_says_nothing_is_answered_unsure(text: str) -> None:
    assert max(p_of((ORDER, COMPLAINT, SPAM), text)) < 0.6


@pytest.mark.parametrize("examples", [(), ("", ""), ("\u0301", "\u0301", " ")])
def test_options_without_any_text_are_equally_likely(examples: tuple[str, ...]) -> None:
    assert p_of((OptionTexts("", examples), OptionTexts("", examples)), "anything") == [0.5, 0.5]


def test_equal_options_are_equally_likely() -> None:
    assert p_of((ORDER, ORDER), "order two") == pytest.approx([0.5, 0.5], abs=1e-3)


def test_many_options_are_learnt() -> None:
    options = tuple(OptionTexts(f"topic {n}", (f"thing{n} please", f"about thing{n}")) for n in range(60))
    shares = p_of(options, "tell me about thing42")
    assert shares.index(max(shares)) == 42


def test_a_question_is_learnt_once_by_however_many_threads() -> None:
    cache = ModelCache(Reader())
    with ThreadPoolExecutor(8) as pool:
        models = list(pool.map(lambda _: cache.get((ORDER, SPAM)), range(50)))
    assert len(set(map(id, models))) == 1
    assert cache.trainings == 1


def test_the_cache_is_bounded_and_drops_the_oldest_unused() -> None:
    cache = ModelCache(Reader(), size=2)
    for description in ("a", "b", "a", "c", "a", "b"):
        cache.get((OptionTexts(description), OptionTexts("x")))
    assert cache.trainings == 4
