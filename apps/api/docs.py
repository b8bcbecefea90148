"""The API told to its callers: pieces of the OpenAPI document, and the page that is made from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from apps.api.door import CALLS_A_MINUTE
from apps.api.paging import MOST_ROWS
from apps.api.shapes import ErrorOut, ItemIn
from apps.pipeline import limits
from apps.workflows.models import Scope

Json = dict[str, Any]
_ALWAYS = (401, 403, 429, 503)


def described(
    summary: str,
    scope: Scope,
    answers_with: Mapping[int, Any],
    *,
    refusals: Iterable[int] = (),
    body: Json | None = None,
    answers: Mapping[int, Json] | None = None,
) -> dict[str, Any]:
    """Keyword arguments of a ninja operation: its summary, scope, body, and every status it may answer with."""
    extra: Json = {"x-scope": scope.value}
    if body is not None:
        extra["requestBody"] = body
    if answers:
        extra["responses"] = dict(answers)
    refused = frozenset({*refusals, *_ALWAYS})
    return {"summary": summary, "response": {**answers_with, refused: ErrorOut}, "openapi_extra": extra}


def json_body(*models: type[BaseModel], also: Iterable[Json] = ()) -> Json:
    schemas = [*(model.model_json_schema() for model in models), *also]
    schema = schemas[0] if len(schemas) == 1 else {"oneOf": schemas}
    return {"required": True, "content": {"application/json": {"schema": schema}}}


BATCH_BODY = json_body(
    ItemIn,
    also=[
        {
            "title": "BatchIn",
            "type": "object",
            "required": ["items"],
            "additionalProperties": False,
            "properties": {
                "items": {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": limits.MAX_BATCH,
                    "items": ItemIn.model_json_schema(),
                }
            },
        }
    ],
)

LIMITS = (
    ("Body", f"{limits.MAX_API_BODY_BYTES:,} bytes", "413"),
    ("Items in a batch", f"{limits.MAX_BATCH:,}", "413"),
    ("external_id", f"{limits.MAX_EXTERNAL_ID_CHARACTERS:,} characters", "422"),
    ("state", f"{limits.MAX_STATE_BYTES:,} bytes", "422"),
    (
        "images",
        f"{limits.MAX_IMAGES}, each {limits.MAX_IMAGE_BYTES:,} bytes, {limits.MAX_IMAGE_PIXELS:,} pixels",
        "422",
    ),
    ("group", f"{limits.MAX_GROUP_CHARACTERS:,} characters", "422"),
    ("metadata", f"{limits.MAX_METADATA_BYTES:,} bytes, {limits.MAX_METADATA_KEYS:,} keys", "422"),
    ("Depth of state and metadata", f"{limits.MAX_DEPTH:,} levels", "422"),
    ("priority", f"within ±{limits.MAX_PRIORITY:,}", "422"),
    ("Rows of a page", f"{MOST_ROWS:,}", "422"),
    ("Calls of a token", f"{CALLS_A_MINUTE:,} a minute", "429 with Retry-After"),
)


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    type: str
    is_required: bool
    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    status: str
    text: str
    type: str


@dataclass(frozen=True, slots=True)
class Call:
    method: str
    path: str
    summary: str
    text: str
    scope: str
    parameters: tuple[Field, ...]
    bodies: tuple[tuple[str, tuple[Field, ...]], ...]
    answers: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class Shape:
    name: str
    text: str
    fields: tuple[Field, ...]


def to_calls(document: Json) -> list[Call]:
    return [
        Call(
            method=method.upper(),
            path=path,
            summary=call["summary"],
            text=call.get("description", ""),
            scope=call.get("x-scope", ""),
            parameters=tuple(_parameter(each) for each in call["parameters"]),
            bodies=tuple(_bodies(call.get("requestBody"))),
            answers=tuple(
                Answer(str(status), answer.get("description", ""), _content(answer))
                for status, answer in sorted(call["responses"].items(), key=lambda pair: int(pair[0]))
            ),
        )
        for path, calls in document["paths"].items()
        for method, call in calls.items()
    ]


def to_shapes(document: Json) -> list[Shape]:
    schemas = document["components"]["schemas"]
    return [
        Shape(name, schemas[name].get("description", ""), _fields(schemas[name])) for name in sorted(schemas)
    ]


def _parameter(parameter: Json) -> Field:
    schema = parameter["schema"]
    words = parameter.get("description", "")
    if "default" in schema and schema["default"] is not None:
        words = f"{words} Default: {schema['default']}.".strip()
    return Field(f"{parameter['name']} ({parameter['in']})", _type(schema), parameter["required"], words)


def _bodies(body: Json | None) -> Iterable[tuple[str, tuple[Field, ...]]]:
    if body is None:
        return
    schema = body["content"]["application/json"]["schema"]
    for each in schema.get("oneOf", [schema]):
        yield each.get("title", ""), _fields(each)


def _fields(schema: Json) -> tuple[Field, ...]:
    required = schema.get("required", [])
    return tuple(
        Field(name, _type(field), name in required, field.get("description", ""))
        for name, field in schema.get("properties", {}).items()
    )


def _content(answer: Json) -> str:
    contents = answer.get("content", {})
    schemas = [each["schema"] for each in contents.values() if "schema" in each]
    return " or ".join(map(_type, schemas)) or ", ".join(contents)


def _type(schema: Json) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rsplit("/", 1)[-1]
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(dict.fromkeys(map(_type, choices)))
    if "enum" in schema:
        return " · ".join(map(str, schema["enum"]))
    if "const" in schema:
        return str(schema["const"])
    kind = schema.get("type", "any")
    if isinstance(kind, list):
        return " or ".join(kind)
    if kind == "array":
        inner = schema.get("items", {})
        return f"array of {inner.get('title') or _type(inner)}"
    return f"{kind} ({schema['format']})" if "format" in schema else str(kind)
