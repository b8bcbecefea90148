"""Times as callers write them."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from apps.core.errors import FieldProblem, InvalidInput
from apps.reviews.exports_query import parse_moment, to_instant
from apps.workflows.models import Workflow

_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)?")
FIRST_YEAR, LAST_YEAR = 1970, 2199
MOMENT = "a day of the workflow's time zone (2026-11-30) or an instant (2026-11-30T09:00:00Z)"
_EXAMPLE = "RFC 3339, such as 2026-11-30T09:00:00Z"


def read_time(value: Any) -> Any:
    """A datetime with its zone. ValueError says what is wrong with anything else."""
    if value is None or isinstance(value, datetime):
        return value
    if not isinstance(value, str) or not _RFC_3339.fullmatch(value):
        raise ValueError(f"must be a time ({_EXAMPLE})")
    try:
        time = datetime.fromisoformat(value.upper())
    except ValueError:
        raise ValueError("is not a time that exists") from None
    if time.tzinfo is None:
        raise ValueError(f"needs a time zone ({_EXAMPLE})")
    if not FIRST_YEAR <= time.year <= LAST_YEAR:
        raise ValueError(f"must be in the years {FIRST_YEAR} to {LAST_YEAR}")
    return time


def since_in(text: str | None, workflow: Workflow) -> datetime | None:
    """The parameter `since`, read as the labels page reads it. Raises InvalidInput."""
    if not text:
        return None
    try:
        return to_instant(parse_moment(text), workflow)
    except ValueError as error:
        raise InvalidInput(FieldProblem("since", str(error))) from None


Time = Annotated[
    datetime,
    BeforeValidator(read_time),
    WithJsonSchema({"type": "string", "format": "date-time", "description": _EXAMPLE}),
]
