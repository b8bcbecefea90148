"""Lists by keyset: a cursor says after which row to go on, signed, and good for the query it came from only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from django.core import signing

from apps.api.errors import invalid
from apps.core.errors import FieldProblem

DEFAULT_LIMIT = 50
MOST_ROWS = 200
_SALT = "fermata.api.cursor"


class HasKey(Protocol):
    @property
    def pk(self) -> Any: ...


Row = TypeVar("Row", bound=HasKey)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page begins. `query` is everything that decides which rows are listed, and in what order."""

    query: Sequence[Any]
    after: int | None

    def next_after(self, row_id: int) -> str:
        return signing.dumps([list(self.query), row_id], salt=_SALT)


def place_of(cursor: str | None, *query: Any) -> Place:
    """Raises ApiError 422 for a cursor that is broken, forged, or another query's."""
    asked = [None if part is None else str(part) for part in query]
    if cursor is None:
        return Place(asked, None)
    try:
        made_for, after = signing.loads(cursor, salt=_SALT)
    except (signing.BadSignature, ValueError):
        raise invalid(FieldProblem("cursor", "is not one that this API gave out")) from None
    if made_for != asked:
        raise invalid(FieldProblem("cursor", "belongs to another query: keep the parameters as they were"))
    return Place(asked, after)


def page_of(rows: Sequence[Row], limit: int, place: Place) -> tuple[Sequence[Row], str | None]:
    """The page and the cursor of the next one; `rows` has one more than `limit` when there is a next."""
    shown = rows[:limit]
    return shown, place.next_after(shown[-1].pk) if len(rows) > limit else None


def refuse_unknown(given: Mapping[str, Any], known: Sequence[str]) -> None:
    """A misspelt filter must not silently give all rows. Given twice, neither is meant surely."""
    problems = [FieldProblem(name, "is not a parameter of this call") for name in given if name not in known]
    getlist = getattr(given, "getlist", lambda name: [given[name]])
    problems += [FieldProblem(name, "is given twice") for name in given if len(getlist(name)) > 1]
    if problems:
        raise invalid(*problems)
