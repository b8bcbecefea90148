"""What an API call is refused with: `{"error": {"code", "message", "fields": [{"path", "message"}]}}`, always."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pydantic
import structlog
from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, JsonResponse
from django.http.request import UnreadablePostError
from ninja.errors import AuthenticationError, ValidationError

from apps.core.errors import Conflict, FieldProblem, InvalidInput, NotNow

log = structlog.get_logger()
MOST_FIELDS = 100
LONGEST_PATH = 200
RETRY_S = "5"


class ApiError(Exception):
    """An answer that is a refusal. `code` is for programs and stays; `message` is for people."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        fields: Sequence[FieldProblem] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.fields = fields
        self.headers = headers or {}


def invalid(*problems: FieldProblem) -> ApiError:
    return ApiError(422, "invalid", "Some of this cannot be taken; see fields.", fields=problems)


def not_found() -> ApiError:
    return ApiError(404, "not_found", "There is nothing here, or it is not this token's to see.")


def too_large(message: str, *problems: FieldProblem) -> ApiError:
    return ApiError(413, "too_large", message, fields=problems)


def unauthorized() -> ApiError:
    return ApiError(
        401,
        "unauthorized",
        "A valid token is needed: Authorization: Bearer TOKEN. This one is missing, wrong, expired or revoked.",
        headers={"WWW-Authenticate": 'Bearer realm="fermata"'},
    )


def to_api_error(error: Exception) -> ApiError:
    """What the caller is told. What nobody foresaw is logged whole and told as nothing but a 500."""
    match error:
        case ApiError():
            return error
        case InvalidInput():
            return invalid(*error.problems)
        case Conflict():
            return ApiError(409, "conflict", str(error))
        case AuthenticationError():
            return unauthorized()
        case Http404():
            return not_found()
        case PermissionDenied():
            return ApiError(403, "forbidden", str(error) or "This token does not reach that far.")
        case ValidationError():
            return invalid(*to_problems(error.errors, skip=1))
        case RequestDataTooBig():
            return too_large("The body is too large.")
        case UnreadablePostError():
            return ApiError(400, "unreadable", "The body ended before it was complete.")
        case NotNow() | OperationalError() | InterfaceError():
            log.warning("api_not_now", error=type(error).__name__)
            message = "A part of the machine is away. Nothing was half done: try again shortly."
            return ApiError(503, "not_now", message, headers={"Retry-After": RETRY_S})
    log.error("api_error", exc_info=error)
    return ApiError(500, "internal", "Something broke and was logged. Nothing was half done.")


def to_response(error: ApiError) -> JsonResponse:
    fields = [
        {"path": shortened(problem.path), "message": problem.message}
        for problem in error.fields[:MOST_FIELDS]
    ]
    if len(error.fields) > MOST_FIELDS:
        fields.append({"path": "", "message": f"and {len(error.fields) - MOST_FIELDS:,} more"})
    body = {"error": {"code": error.code, "message": error.message, "fields": fields}}
    return JsonResponse(body, status=error.status, headers=dict(error.headers))


def answer_error(request: HttpRequest, error: Exception | type[Exception]) -> JsonResponse:
    """As ninja calls it, whose types allow for a class where an exception is meant."""
    return to_response(to_api_error(error if isinstance(error, Exception) else error()))


def shortened(path: str) -> str:
    """A hostile name of a field does not fill the answer."""
    return path if len(path) <= LONGEST_PATH else path[:LONGEST_PATH] + "…"


_WORDS = {
    "missing": "is missing",
    "extra_forbidden": "is not known here",
    "string_type": "must be a text",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_parsing_size": "is too large",
    "bool_type": "must be true or false",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "list_type": "must be an array",
}


def to_problems(errors: Iterable[Mapping[str, Any]], *, skip: int = 0) -> list[FieldProblem]:
    """Pydantic's findings in our words; `skip` leaves out the first parts of each place."""
    problems = []
    for error in errors:
        path = to_path(error["loc"][skip:])
        message = _WORDS.get(error["type"]) or str(error["msg"]).removeprefix("Value error, ")
        problems.append(FieldProblem(path, message))
    return problems


def to_path(parts: Iterable[str | int]) -> str:
    path = ""
    for part in parts:
        if isinstance(part, int):
            path += f"[{part}]"
        else:
            path += f".{part}" if path else part
    return path


def problems_of(error: pydantic.ValidationError) -> list[FieldProblem]:
    found = error.errors(include_url=False, include_input=False, include_context=False)
    return to_problems([dict(each) for each in found])
