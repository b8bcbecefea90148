"""The one request body every endpoint understands, checked to what all of them accept."""

from __future__ import annotations

import base64
import json
import re
import unicodedata
from typing import Any

from .errors import RequestRefused, RequestTooLarge
from .types import ChoiceQuestion, Image, ModelRequest, NoulQuestion, Question, ScoreQuestion

MAX_QUESTIONS = 64
MAX_OPTIONS = 255
MAX_LEVELS = 10
MAX_IMAGES = 4
IMAGE_TYPES = ("image/png", "image/jpeg", "image/webp")
QUESTION_ID = re.compile(r"[A-Za-z0-9_.-]{1,100}")


def to_body(request: ModelRequest, *, model: str, max_bytes: int) -> bytes:
    """The JSON to send, UTF-8. Raises RequestRefused or RequestTooLarge before anything leaves."""
    check_request(request)
    document: dict[str, Any] = {"model": model, "state": request.state}
    document["questions"] = {question.id: _to_wire(question) for question in request.questions}
    if request.images:
        document["images"] = [_to_data_url(image) for image in request.images]
    body = _encode(document)
    if len(body) > max_bytes:
        error = RequestTooLarge(
            f"the request has {len(body):,} bytes, the limit is {max_bytes:,}", code="size"
        )
        error.size_bytes, error.limit_bytes = len(body), max_bytes
        raise error
    return body


def check_request(request: ModelRequest) -> None:
    """Raises RequestRefused when some endpoint would not take these questions, images or state."""
    if not isinstance(request.state, str | dict | list):
        raise RequestRefused("the state must be text, an object or an array", code="state")
    ids = [question.id for question in request.questions]
    if not 1 <= len(ids) <= MAX_QUESTIONS:
        raise _bug(f"{len(ids)} questions, 1 to {MAX_QUESTIONS} can be asked", "questions")
    if len(set(ids)) != len(ids):
        raise _bug("two questions share an id", "question_id")
    for question in request.questions:
        _check_question(question)
    if len(request.images) > MAX_IMAGES:
        raise RequestRefused(f"{len(request.images)} images, at most {MAX_IMAGES} can be sent", code="images")
    if any(image.content_type not in IMAGE_TYPES for image in request.images):
        raise RequestRefused("an image is neither PNG, JPEG nor WebP", code="images")


def _check_question(question: Question) -> None:
    if not QUESTION_ID.fullmatch(question.id):
        raise _bug("a question id must be 1 to 100 of the letters A-Z a-z, digits and _ . -", "question_id")
    if not question.instructions.strip():
        raise _bug(f"{question.id}: the instructions are empty", "instructions")
    if isinstance(question, ChoiceQuestion):
        _check_options(question)
    elif isinstance(question, ScoreQuestion):
        if not 2 <= len(question.levels) <= MAX_LEVELS:
            raise _bug(f"{question.id}: 2 to {MAX_LEVELS} levels are possible", "levels")
        if any(level is None for level in question.levels):
            raise _bug(f"{question.id}: a level has no description", "levels")


def _check_options(question: ChoiceQuestion) -> None:
    ids = question.option_ids
    if not 2 <= len(ids) <= MAX_OPTIONS:
        raise _bug(f"{question.id}: 2 to {MAX_OPTIONS} options are possible", "options")
    if any(not option.strip() or not option.isprintable() for option in ids):
        raise _bug(f"{question.id}: an option id is empty or unprintable", "options")
    # A proxy that changes case or Unicode form would make two options one.
    if len({unicodedata.normalize("NFKC", option).casefold() for option in ids}) != len(ids):
        raise _bug(f"{question.id}: two option ids look the same", "options")


def _to_wire(question: Question) -> dict[str, Any]:
    wire: dict[str, Any] = {"type": question.kind, "instructions": question.instructions}
    match question:
        case ChoiceQuestion():
            wire["criteria"] = dict(question.options)
        case ScoreQuestion():
            wire["criteria"] = list(question.levels)
        case NoulQuestion():
            sides = {"true": question.yes, "false": question.no}
            criteria = {side: text for side, text in sides.items() if text is not None}
            if criteria:
                wire["criteria"] = criteria
    return wire


def _to_data_url(image: Image) -> str:
    return f"data:{image.content_type};base64,{base64.b64encode(image.data).decode('ascii')}"


def _encode(document: dict[str, Any]) -> bytes:
    body = None
    try:
        body = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        problem = "a lone surrogate, which cannot be sent as UTF-8"
    except RecursionError:
        problem = "too many nested levels"
    except (TypeError, ValueError):
        problem = "a value JSON does not have, such as NaN"
    # Raised out here: the exceptions above carry the state, and `raise` inside would chain them.
    if body is None:
        raise RequestRefused(f"the state holds {problem}", code="state")
    return body


def _bug(message: str, code: str) -> RequestRefused:
    return RequestRefused(message, code=code, reason="bug")
