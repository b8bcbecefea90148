"""Items that came in and runs of actions that were begun, counted by the quarter of an hour.

Days of every time zone are made of whole quarters, so one count serves them all. Triggers append what each statement
changes; to add such rows up changes no sum. So sums are exact at every moment, whether that was done or not.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.db import connection
from django.db.backends.utils import CursorWrapper

from apps.actions.models import ActionRun
from apps.workflows.models import Workflow

_ITEM = "item"
QUARTER_S = 15 * 60
_ADD_UP = """
WITH taken AS (
    DELETE FROM calibration_quartercount WHERE workflow_id = %(workflow)s AND NOT is_sum RETURNING at, what, n
)
INSERT INTO calibration_quartercount AS had (workflow_id, at, what, n, is_sum)
SELECT %(workflow)s, at, what, sum(n), true FROM taken GROUP BY at, what HAVING sum(n) <> 0
ON CONFLICT (workflow_id, what, at) WHERE is_sum DO UPDATE SET n = had.n + excluded.n
"""
# Both kinds of rows in one statement, each by its own index: what is added up meanwhile is seen once.
_COUNTED = """
SELECT what, sum(n)::int FROM (
    SELECT what, n FROM calibration_quartercount
    WHERE workflow_id = %(workflow)s AND is_sum AND what = ANY(%(whats)s) AND at >= %(start)s AND at < %(end)s
    UNION ALL
    SELECT what, n FROM calibration_quartercount
    WHERE workflow_id = %(workflow)s AND NOT is_sum AND what = ANY(%(whats)s) AND at >= %(start)s AND at < %(end)s
) each GROUP BY what
"""
_FIRST, _LAST = datetime(1900, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)


def is_whole(*ends: datetime | None) -> bool:
    """Whether all of them are where a quarter begins; None is an open end."""
    return not any(end.timestamp() % QUARTER_S for end in ends if end is not None)


def add_up(workflow: Workflow, cursor: CursorWrapper) -> int:
    """Returns how many sums that changed; one caller at a time."""
    cursor.execute(_ADD_UP, {"workflow": workflow.pk})
    return int(cursor.rowcount)


def items_in(workflow: Workflow, start: datetime | None, end: datetime | None) -> int:
    """In [start, end); the ends must be whole, see `is_whole`."""
    return _counted(workflow, [_ITEM], start, end).get(_ITEM, 0)


def runs_begun(workflow: Workflow, start: datetime | None, end: datetime | None) -> dict[str, int]:
    """By the status they have now; ends as for `items_in`."""
    return _counted(workflow, ActionRun.Status.values, start, end)


def _counted(
    workflow: Workflow, whats: list[str], start: datetime | None, end: datetime | None
) -> dict[str, int]:
    values: dict[str, Any] = {
        "workflow": workflow.pk,
        "whats": whats,
        "start": start or _FIRST,
        "end": end or _LAST,
    }
    with connection.cursor() as cursor:
        cursor.execute(_COUNTED, values)
        return dict(cursor.fetchall())
