"""Times as callers write them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import WithJsonSchema

from apps.core.errors import FieldProblem, InvalidInput
from apps.reviews.exports_query import parse_moment, to_instant
from apps.sources.posted import EXAMPLE
from apps.workflows.models import Workflow

MOMENT = "a day of the workflow's time zone (2026-11-30) or an instant (2026-11-30T09:00:00Z)"


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
    WithJsonSchema({"type": "string", "format": "date-time", "description": EXAMPLE}),
]
