"""The two wires the stand-in speaks over its one model: Workers AI's and plain /v1/systemone."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from apps.clef.confidence import peak, spread, squares

from .asked import SYSTEM_ONE, WORKERS_AI, Asked, AskedQuestion, Refused, read_asked
from .faults import FOREIGN, HTML_PAGE, Fault, message_of

HOSTED_MODELS = ("clef", "clef-flash", "clef-omni")
# What the hosted endpoint was seen to accept: it takes four bytes for a token.
MAX_HOSTED_BYTES = 131_072 * 4

Confidence = Callable[[Sequence[float]], float]


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


class Face(Protocol):
    def read(self, body: bytes) -> Asked | Reply:
        """What is asked, or the refusal to send."""

    def answer(self, asked: Asked, distributions: Sequence[Sequence[float]]) -> Reply: ...

    def error(self, status: int, code: int, message: str) -> Reply: ...


class SystemOneFace:
    """Bare bodies, any model name and question id, unrounded numbers but for float noise.

    `answers_as` is the name in its replies, whatever model was asked for.
    """

    def __init__(self, answers_as: str) -> None:
        self._answers_as = answers_as

    def read(self, body: bytes) -> Asked | Reply:
        document = _parse(body)
        if document is None:
            return self._refusal("json_invalid", ("body",), "The body is not a JSON object")
        if not isinstance(document.get("model"), str) or not document["model"].strip():
            return self._refusal("missing", ("body", "model"), "Field required")
        try:
            return read_asked(document, SYSTEM_ONE)
        except Refused as refused:
            return self._refusal(refused.problem, ("body", *refused.place), refused.message)

    def answer(self, asked: Asked, distributions: Sequence[Sequence[float]]) -> Reply:
        answers = _answers(asked, distributions, 6, for_choice=peak, for_score=spread)
        return _json(200, _result(self._answers_as, asked, answers), _request_id("x-request-id"))

    def error(self, status: int, code: int, message: str) -> Reply:
        return _json(status, {"detail": {"error_type": str(code), "message": message}}, {})

    def _refusal(self, problem: str, place: tuple[str, ...], message: str) -> Reply:
        return _json(422, {"detail": [{"loc": place, "msg": message, "type": problem}]}, {})


class WorkersAIFace:
    """The envelope, the limits, the four decimals and the confidence of the hosted model."""

    def __init__(self, model: str, answers_as: str) -> None:
        self._model, self._answers_as = model, answers_as

    def read(self, body: bytes) -> Asked | Reply:
        if len(body) >= MAX_HOSTED_BYTES:
            return self.error(413, 5021, f"AiError: {len(body) // 4} estimated tokens exceed 65,536")
        document = _parse(body)
        if document is None:
            return self.error(400, 6003, "The body is not a JSON object")
        # A body without `model` was seen to be answered, another name than the path's to be refused.
        named = document.get("model", self._model)
        if not isinstance(named, str) or named.strip() != self._model:
            pattern = "clef-omni" if self._model == "clef-omni" else "(clef|clef-flash)"
            return self.error(
                400, 5006, f"AiError: Bad input: Error: '/model' failed test ^\\s*{pattern}\\s*$ patttern"
            )
        try:
            return read_asked(document, WORKERS_AI)
        except Refused as refused:
            return self._refusal(refused)

    def _refusal(self, refused: Refused) -> Reply:
        if refused.problem in ("missing", "unknown_type"):
            place = "/".join(refused.place)
            return self.error(400, 5006, f"AiError: Bad input: Error: '/{place}': {refused.message}")
        fields = {refused.place[0]: [f"{'.'.join(refused.place)}: {refused.message}"]}
        nested = {"type": "invalid_request", "message": "Invalid request", "details": {"fieldErrors": fields}}
        return self.error(422, 5012, f"AiError: AiError: {json.dumps({'error': nested})}")

    def answer(self, asked: Asked, distributions: Sequence[Sequence[float]]) -> Reply:
        answers = _answers(asked, distributions, 4, for_choice=squares, for_score=squares)
        envelope = {
            "result": _result(self._answers_as, asked, answers),
            "success": True,
            "errors": [],
            "messages": [],
        }
        return _json(200, envelope, _request_id("cf-ai-req-id"))

    def error(self, status: int, code: int, message: str) -> Reply:
        headers = _request_id("cf-ai-req-id" if message.startswith("AiError") else "cf-ray")
        if message.startswith("AiError"):
            message = f"{message} ({headers['cf-ai-req-id']})"
        errors = [{"code": code, "message": message}]
        # A body that does not match the schema is told with an empty result, all else with none.
        result: dict[str, Any] | None = {} if code == 5006 else None
        return _json(status, {"result": result, "success": False, "errors": errors, "messages": []}, headers)


def face_for(path: str, answers_as: str) -> Face | Reply:
    """The face that answers a POST to this path, or the reply that says there is none."""
    if path == "/v1/systemone":
        return SystemOneFace(answers_as)
    match = re.fullmatch(r"/client/v4/accounts/([^/]*)/ai/run/@cf/cloudflare/([^/]*)", path)
    if match is None:
        return _json(404, {"detail": "Not Found"}, {})
    account_id, model = match.groups()
    face = WorkersAIFace(model, answers_as)
    if not re.fullmatch(r"[0-9A-Za-z]+", account_id):
        return face.error(400, 7003, "Could not route: the account id is not of the form allowed")
    if model not in HOSTED_MODELS:
        return face.error(400, 7000, "No route for that URI")
    return face


def forced_reply(face: Face, fault: Fault | None) -> Reply | None:
    """The refusal this fault is; None where the decision goes on."""
    if fault is None:
        return None
    if fault.name in FOREIGN:
        status, document, _ = FOREIGN[fault.name]
        return _json(status, document, fault.headers)
    status_text, _, code = fault.name.partition("/")
    if not code:
        return None
    status = int(status_text)
    if code == "html":
        page = HTML_PAGE % (status, status)
        return Reply(status, page, {"Content-Type": "text/html", **fault.headers})
    error = face.error(status, int(code), message_of(status, int(code)))
    return Reply(error.status, error.body, {**error.headers, **fault.headers})


def _parse(body: bytes) -> dict[str, Any] | None:
    try:
        document = json.loads(body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _answers(
    asked: Asked,
    distributions: Sequence[Sequence[float]],
    decimals: int,
    *,
    for_choice: Confidence,
    for_score: Confidence,
) -> dict[str, Any]:
    confidences = {"choice": for_choice, "score": for_score}
    return {
        question.id: _answer(question, shares, decimals, confidences.get(question.kind, max))
        for question, shares in zip(asked.questions, distributions, strict=True)
    }


def _answer(
    question: AskedQuestion, shares: Sequence[float], decimals: int, confidence: Confidence
) -> dict[str, Any]:
    if question.kind == "noul":
        return {"type": "noul", "noul": round(shares[0], decimals)}
    probabilities = {
        option: round(p, decimals) for option, p in zip(question.option_ids, shares, strict=True)
    }
    certainty = {"probabilities": probabilities, "confidence": round(confidence(shares), decimals)}
    if question.kind == "choice":
        return {"type": "choice", "choice": max(probabilities, key=probabilities.__getitem__), **certainty}
    score = sum(level * p for level, p in enumerate(shares))
    legend = dict(zip(question.option_ids, question.levels, strict=True))
    return {"type": "score", "score": round(score, decimals), "legend": legend, **certainty}


def _result(model: str, asked: Asked, answers: dict[str, Any]) -> dict[str, Any]:
    usage = {"input_tokens": asked.input_tokens, "output_tokens": 0}
    return {"model": model, "answers": answers, "usage": usage}


def _request_id(header: str) -> dict[str, str]:
    return {header: str(uuid.uuid4())}


def _json(status: int, document: dict[str, Any], headers: dict[str, str]) -> Reply:
    body = json.dumps(document, separators=(",", ":")).encode()
    return Reply(status, body, {"Content-Type": "application/json", **headers})
