"""How parts of files are read: strictly, and refused with the place and a sentence for each problem."""

from __future__ import annotations

from typing import Annotated, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from pydantic_core import ErrorDetails

from apps.core.errors import FieldProblem, InvalidInput
from apps.core.text import unstorable_at

_SENTENCES = {
    "dict_type": "must be a table",
    "extra_forbidden": "is not known here",
    "finite_number": "must be a finite number",
    "missing": "must be given",
    "model_type": "must be a table",
    "string_pattern_mismatch": "has a form that is not allowed ({pattern})",
    "string_too_long": "has more than {max_length:,} characters",
    "string_too_short": "must not be empty",
    "string_unicode": "holds half of a surrogate pair, which cannot be stored",
    "too_long": "has more than {max_length} entries",
    "too_short": "has fewer than {min_length} entries",
    "union_tag_invalid": "must be one of {expected_tags}",
    "union_tag_not_found": "must be given",
}
# Names of union members that pydantic puts into an error's place; they stand in no file.
_KINDS = {"choice", "noul", "score", "metadata", "text", "answer"}


def storable(text: str) -> str:
    at = unstorable_at(text)
    if at is not None:
        raise ValueError(f"holds a character at position {at} that cannot be stored")
    return text


def written(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return storable(text)


def printable(text: str) -> str:
    if not text.isprintable() or text != text.strip():
        raise ValueError("must be visible characters, without space around them")
    return text


Name = Annotated[str, StringConstraints(min_length=1, max_length=120), AfterValidator(written)]
Instructions = Annotated[str, StringConstraints(min_length=1, max_length=20_000), AfterValidator(written)]
Prose = Annotated[str, StringConstraints(max_length=20_000), AfterValidator(storable)]
Example = Annotated[str, StringConstraints(min_length=1, max_length=20_000), AfterValidator(written)]
Examples = Annotated[list[Example], Field(max_length=100)]
LONGEST_GUIDELINE = 10_000
GuidelineText = Annotated[str, StringConstraints(max_length=LONGEST_GUIDELINE), AfterValidator(storable)]
"""Markdown for people; no model reads it. "" is none."""


class Part(BaseModel):
    """A part of a file: unknown names are refused, and nothing is converted ("0.5" is no number)."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


PartType = TypeVar("PartType", bound=Part)


def read_part(model: type[PartType], data: object, *, whole: str) -> PartType:
    """`data` as a `model`, or InvalidInput with the place of each problem as the file has it.

    `whole` names the place when all of `data` is wrong.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        # Without the input: a value that is wrong may be long, or a secret in the wrong place.
        found = error.errors(include_url=False, include_input=False)
        raise InvalidInput(
            *(FieldProblem(_to_path(each) or whole, _to_sentence(each)) for each in found)
        ) from None


def _to_path(error: ErrorDetails) -> str:
    path, before = "", None
    for part in (*error["loc"], *(["kind"] if error["type"].startswith("union_tag") else [])):
        if isinstance(part, int):
            path += f"[{part}]"
        elif not (part in _KINDS and isinstance(before, int)):
            path += f".{part}" if path else part
        before = part
    return path


def _to_sentence(error: ErrorDetails) -> str:
    kind, numbers = error["type"], error.get("ctx", {})
    if kind in _SENTENCES:
        return _SENTENCES[kind].format(**numbers)
    return error["msg"].removeprefix("Value error, ").replace("Input should", "must", 1)
