"""A reply is believed only after this: every asked question answered, by a distribution over its options.

What cannot be trusted raises InvalidReply; what is merely odd is recorded as a warning. Messages name
our own question ids and numbers only, never text out of the reply.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from .errors import InvalidReply
from .types import Answer, EndpointKind, Question, ScoreQuestion

SUM_TOLERANCE = 0.02
CHOICE_TOLERANCE = 0.005
RANGE_TOLERANCE = 1e-6
MAX_TOKENS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class CheckedReply:
    model: str
    answers: Mapping[str, Answer]
    input_tokens: int | None
    output_tokens: int | None
    warnings: tuple[str, ...]


@dataclass(slots=True)
class _Reading:
    """Where the warnings of one reply gather; `kind` decides how much rounding is allowed."""

    kind: EndpointKind
    warnings: list[str] = field(default_factory=list)


def parse(text: str) -> dict[str, Any]:
    """The reply as JSON. Raises InvalidReply for anything but one object, NaN and doubled keys included."""
    document: object = None
    try:
        document = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_without_doubles)
    except (ValueError, RecursionError):
        problem = "the reply is not JSON that can be trusted"
    else:
        problem = "the reply is not a JSON object"
    # Raised out here because the exceptions above hold the whole text.
    if not isinstance(document, dict):
        raise InvalidReply(problem, code="not_json")
    return document


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        raise ValueError("a key stands twice")
    return mapping


def is_failure(document: Mapping[str, Any]) -> bool:
    """Whether a 2xx reply says in its body that it failed."""
    if "success" in document:
        return document["success"] is not True
    return bool(document.get("error")) and "answers" not in document


def check_reply(
    document: Mapping[str, Any], questions: tuple[Question, ...], *, kind: EndpointKind, asked_model: str
) -> CheckedReply:
    """Answers in the order asked, normalised. Accepts the bare body and the one wrapped in `result`."""
    reading = _Reading(kind)
    body = document.get("result", document)
    if not isinstance(body, dict) or not isinstance(body.get("answers"), dict):
        raise InvalidReply("the reply holds no answers", code="no_answers")
    answers = {question.id: _check_answer(question, body["answers"], reading) for question in questions}
    if extra := len(body["answers"].keys() - answers.keys()):
        reading.warnings.append(f"{extra} answers nobody asked for")
    if extra := len(body.keys() - {"model", "answers", "usage"}):
        reading.warnings.append(f"{extra} fields beside model, answers and usage")
    usage = body.get("usage")
    if not isinstance(usage, dict):
        reading.warnings.append("no usage")
        usage = {}
    return CheckedReply(
        model=_check_model(body.get("model"), asked_model, reading),
        answers=answers,
        input_tokens=_check_tokens("input_tokens", usage, reading),
        output_tokens=_check_tokens("output_tokens", usage, reading),
        warnings=tuple(reading.warnings),
    )


def _check_model(name: object, asked_model: str, reading: _Reading) -> str:
    if isinstance(name, str) and name.strip() and name.isprintable() and len(name) <= 200:
        return name
    reading.warnings.append("no readable model name, the asked one is kept")
    return asked_model


def _check_tokens(name: str, usage: dict[str, Any], reading: _Reading) -> int | None:
    count = usage.get(name)
    if isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= MAX_TOKENS:
        return count
    if usage:
        reading.warnings.append(f"no readable {name}")
    return None


def _check_answer(question: Question, answers: dict[str, Any], reading: _Reading) -> Answer:
    answer = answers.get(question.id)
    if not isinstance(answer, dict):
        raise _invalid(question, "no answer", "no_answer")
    if answer.get("type") != question.kind:
        raise _invalid(question, f"the answer is not a {question.kind}", "wrong_type")
    if question.kind == "noul":
        return Answer(question.id, "noul", _check_noul(question, answer, reading))
    raw = _raw_probabilities(question, answer, reading)
    shares = _check_distribution(question, raw, reading)
    if isinstance(question, ScoreQuestion):
        _check_score(question, answer, shares, _rounding(raw), reading)
    else:
        _check_choice(question, answer, raw, reading)
    confidence = _check_confidence(question, answer, reading)
    return Answer(
        question.id, question.kind, tuple(zip(question.option_ids, shares, strict=True)), confidence
    )


def _check_noul(
    question: Question, answer: dict[str, Any], reading: _Reading
) -> tuple[tuple[str, float], tuple[str, float]]:
    given = answer.get("noul")
    if "noul" not in answer and "probability" in answer:
        given = answer["probability"]
        reading.warnings.append(f"{question.id}: `probability` in place of `noul`")
    p_yes = _check_probability(question, given)
    return ("true", p_yes), ("false", 1.0 - p_yes)


def _raw_probabilities(question: Question, answer: dict[str, Any], reading: _Reading) -> list[float]:
    given = answer.get("probabilities")
    ids = question.option_ids
    if isinstance(given, list) and question.kind == "score":
        reading.warnings.append(f"{question.id}: probabilities as an array")
        given = {str(level): p for level, p in enumerate(given)}
    if not isinstance(given, dict):
        raise _invalid(question, "no probabilities", "no_probabilities")
    if given.keys() != set(ids):
        raise _invalid(question, "the probabilities are not those of its options", "wrong_options")
    return [_check_probability(question, given[option]) for option in ids]


def _check_probability(question: Question, p: object) -> float:
    if isinstance(p, bool) or not isinstance(p, int | float):
        raise _invalid(question, "a probability is missing or not a number", "bad_probability")
    if not -RANGE_TOLERANCE <= p <= 1 + RANGE_TOLERANCE:  # also refuses the infinity that 1e999 becomes
        raise _invalid(question, "a probability is outside 0 to 1", "bad_probability")
    return min(max(float(p), 0.0), 1.0)


def _rounding(raw: list[float]) -> float:
    """Half a unit of the last decimal these numbers show: two decimals, or four and more."""
    return 0.005 if all(math.isclose(p, round(p, 2), abs_tol=1e-9) for p in raw) else 0.00005


def _check_distribution(question: Question, raw: list[float], reading: _Reading) -> list[float]:
    total = math.fsum(raw)
    tolerance = SUM_TOLERANCE
    if reading.kind != "workers-ai" and _rounding(raw) == 0.005:
        tolerance = max(tolerance, 0.005 * len(raw))
    if total <= 0 or abs(total - 1) > tolerance + 1e-9:
        raise _invalid(question, f"the probabilities sum to {total:.4f}", "bad_sum")
    return [p / total for p in raw]


def _check_choice(question: Question, answer: dict[str, Any], raw: list[float], reading: _Reading) -> None:
    choice = answer.get("choice")
    if not isinstance(choice, str) or choice not in question.option_ids:
        raise _invalid(question, "the choice is none of its options", "bad_choice")
    if max(raw) - raw[question.option_ids.index(choice)] > CHOICE_TOLERANCE + 1e-9:
        reading.warnings.append(f"{question.id}: the choice is not the most probable option")


def _check_score(
    question: ScoreQuestion, answer: dict[str, Any], shares: list[float], rounding: float, reading: _Reading
) -> None:
    top_level, score = len(shares) - 1, answer.get("score")
    if isinstance(score, bool) or not isinstance(score, int | float):
        raise _invalid(question, "the score is missing or not a number", "bad_score")
    if not -RANGE_TOLERANCE <= score <= top_level + RANGE_TOLERANCE:
        raise _invalid(question, f"the score is outside 0 to {top_level}", "bad_score")
    expected = math.fsum(level * share for level, share in enumerate(shares))
    # Each rounded probability may be off by `rounding` and weighs as much as its level; so may the score.
    if abs(score - expected) > SUM_TOLERANCE + rounding * (1 + sum(range(len(shares)))):
        reading.warnings.append(f"{question.id}: the score is not the mean of its levels")
    legend = answer.get("legend")
    if isinstance(legend, dict):
        sent = dict(zip(question.option_ids, question.levels, strict=True))
        if any(text is not None and sent.get(level) != text for level, text in legend.items()):
            reading.warnings.append(f"{question.id}: the legend is not the levels as sent")


def _check_confidence(question: Question, answer: dict[str, Any], reading: _Reading) -> float | None:
    confidence = answer.get("confidence")
    if (
        isinstance(confidence, int | float)
        and not isinstance(confidence, bool)
        and -0.01 <= confidence <= 1.01
    ):
        return float(confidence)
    reading.warnings.append(f"{question.id}: no readable confidence")
    return None


def _invalid(question: Question, what: str, code: str) -> InvalidReply:
    return InvalidReply(f"{question.id}: {what}", code=code)
