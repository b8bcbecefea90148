"""Reads a decision request as far as both faces of the stand-in share it, by the rules of each."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from .classifier import OptionTexts
from .features import text_of

Problem = Literal["missing", "wrong_type", "unknown_type", "limit", "extra_field", "image"]


class Refused(Exception):
    """`place` is the path to the field; what stood there is never repeated."""

    def __init__(self, problem: Problem, place: tuple[str, ...], message: str) -> None:
        super().__init__(message)
        self.problem, self.place, self.message = problem, place, message


@dataclass(frozen=True, slots=True)
class Rules:
    """What a face accepts. `known_only` refuses every field it does not know; `lenient_noul` takes a
    yes/no question that says in its criteria alone what yes and no are."""

    max_questions: int
    max_levels: int
    question_id: re.Pattern[str]
    known_only: bool
    lenient_noul: bool
    max_options: int = 255


WORKERS_AI = Rules(64, 10, re.compile(r"[A-Za-z0-9_.-]{1,100}"), known_only=True, lenient_noul=False)
SYSTEM_ONE = Rules(1000, 10, re.compile(r".+", re.DOTALL), known_only=False, lenient_noul=True)


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """`texts` is what the model learns each option from; `levels` are a score's descriptions as sent."""

    id: str
    kind: Literal["choice", "noul", "score"]
    option_ids: tuple[str, ...]
    texts: tuple[OptionTexts, ...]
    levels: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Asked:
    """`input_tokens` is an estimate of what was read: four characters a token, the state cut first."""

    text: str
    questions: tuple[AskedQuestion, ...]
    input_tokens: int


def read_asked(document: dict[str, Any], rules: Rules) -> Asked:
    """Raises Refused naming the first field that is wrong."""
    _check_fields(document, {"model", "state", "questions", "images"}, (), rules)
    if not isinstance(document.get("state"), str | dict | list):
        raise Refused("missing", ("state",), "A string, an object or an array is required")
    questions = document.get("questions")
    if not isinstance(questions, dict) or not questions:
        raise Refused("missing", ("questions",), "An object with at least one question is required")
    if len(questions) > rules.max_questions:
        raise Refused("limit", ("questions",), f"Must have at most {rules.max_questions} items")
    asked = tuple(_read_question(id_, question, rules) for id_, question in questions.items())
    if document.get("images"):
        raise Refused("image", ("images",), "This model does not read images")
    text = text_of(document["state"])
    tokens = 1 + (len(text) + len(json.dumps(questions, ensure_ascii=False))) // 4
    return Asked(text, asked, tokens)


def _check_fields(fields: dict[str, Any], known: set[str], place: tuple[str, ...], rules: Rules) -> None:
    extra = fields.keys() - known
    if extra and rules.known_only:
        raise Refused("extra_field", (*place, min(extra)), "Unrecognized key")


def _read_question(id_: str, question: object, rules: Rules) -> AskedQuestion:
    place = ("questions", id_)
    if not rules.question_id.fullmatch(id_):
        raise Refused("limit", ("questions",), "A question id is not of the form allowed")
    if not isinstance(question, dict):
        raise Refused("wrong_type", place, "An object is required")
    _check_fields(question, {"type", "instructions", "criteria"}, place, rules)
    criteria, kind = question.get("criteria"), question.get("type")
    instructions = question.get("instructions")
    if instructions is None and not (rules.lenient_noul and kind == "noul" and criteria):
        raise Refused("missing", (*place, "instructions"), "Field required")
    if instructions is not None and not instructions:
        raise Refused("limit", (*place, "instructions"), "Must not be empty")
    match kind:
        case "noul":
            return _read_noul(id_, instructions, criteria, place)
        case "choice":
            return _read_choice(id_, criteria, (*place, "criteria"), rules)
        case "score":
            return _read_score(id_, criteria, (*place, "criteria"), rules)
    problem: Problem = "missing" if kind is None else "unknown_type"
    raise Refused(problem, (*place, "type"), "Must be noul, choice or score")


def _read_noul(id_: str, instructions: object, criteria: object, place: tuple[str, ...]) -> AskedQuestion:
    sides = {} if criteria is None else criteria
    if not isinstance(sides, dict) or sides.keys() - {"true", "false"}:
        raise Refused("wrong_type", (*place, "criteria"), "An object with true and false is required")
    yes, no = _read_description("", sides.get("true")), _read_description("", sides.get("false"))
    if not yes.description and not yes.examples and not no.description and not no.examples:
        yes = _read_description("", instructions)
    return AskedQuestion(id_, "noul", ("true", "false"), (yes, no))


def _read_choice(id_: str, criteria: object, place: tuple[str, ...], rules: Rules) -> AskedQuestion:
    if not isinstance(criteria, dict):
        raise Refused("wrong_type", place, "An object of options is required")
    _check_count(len(criteria), rules.max_options, place)
    texts = tuple(_read_description(in_words(option), text) for option, text in criteria.items())
    return AskedQuestion(id_, "choice", tuple(criteria), texts)


def _read_score(id_: str, criteria: object, place: tuple[str, ...], rules: Rules) -> AskedQuestion:
    if not isinstance(criteria, list):
        raise Refused("wrong_type", place, "An array of levels is required")
    _check_count(len(criteria), rules.max_levels, place)
    if not all(isinstance(level, str | dict | list) for level in criteria):
        raise Refused("wrong_type", place, "A level is a string, an object or an array")
    texts = tuple(_read_description("", level) for level in criteria)
    return AskedQuestion(id_, "score", tuple(map(str, range(len(criteria)))), texts, tuple(criteria))


def _check_count(count: int, most: int, place: tuple[str, ...]) -> None:
    if not 2 <= count <= most:
        raise Refused("limit", place, f"Must have 2 to {most} entries")


def in_words(option_id: str) -> str:
    """What an option is called where nothing but its id says it."""
    return re.sub(r"[_.\-]+", " ", option_id)


def _read_description(name: str, description: object) -> OptionTexts:
    """`examples` of an object are example texts; every other string in it describes."""
    examples: tuple[str, ...] = ()
    if isinstance(description, dict):
        examples = tuple(_example_texts(description.get("examples")))
        description = {key: part for key, part in description.items() if key != "examples"}
    return OptionTexts(f"{name} {text_of(description)}".strip(), examples)


def _example_texts(examples: object) -> Iterator[str]:
    if isinstance(examples, list):
        yield from (text for text in map(text_of, examples) if text.strip())
