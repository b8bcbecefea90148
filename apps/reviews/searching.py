"""Words looked for among the open items; bounded, so that no search holds up the desk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import OperationalError, connection
from psycopg.errors import QueryCanceled

from apps.core.errors import FieldProblem, InvalidInput
from apps.items.models import Item
from apps.workflows.models import Workflow

LONGEST_SEARCH_S = 5.0


def with_text(workflow: Workflow, text: str) -> tuple[str, dict[str, Any]]:
    """What has these words, as a condition on a row called `task`, and its values."""
    # Whoever searches for an external id means that item.
    named = Item.objects.filter(workflow=workflow, external_id=text).values_list("pk", flat=True).first()
    if named is not None:
        return "task.item_id = %(named)s", {"named": named}
    condition = """EXISTS (SELECT 1 FROM items_itemcontent content
        WHERE content.item_id = task.item_id AND content.text ILIKE %(text)s)"""
    return condition, {"text": f"%{_literally(text)}%"}


def _literally(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


@contextmanager
def bounded(text: str, limit_s: float = LONGEST_SEARCH_S) -> Iterator[None]:
    """A search for words ends after `limit_s`, with InvalidInput. Inside a transaction, which it then ends."""
    if not text:
        yield
        return
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('statement_timeout', %s, true)", [f"{limit_s * 1000:.0f}ms"])
            yield
            cursor.execute("SET LOCAL statement_timeout TO DEFAULT")
    except OperationalError as error:
        if isinstance(error.__cause__, QueryCanceled):
            sentence = "This search takes too long. Add a word, or another filter."
            raise InvalidInput(FieldProblem("q", sentence)) from error
        raise
