"""Arrays for the database, written quickly.

Django sends the rows of a bulk insert as one array a column. The driver marks the quotes of each element by a
regular expression with a template, quote by quote in Python: with JSON that is most of what writing a batch costs.
"""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.types.array import ListDumper


class QuickListDumper(ListDumper):
    """As the driver's own, for lists of one kind of value; lists in lists are left to it."""

    def dump(self, obj: list[Any]) -> Any:
        if self.sub_dumper is None or self.delimiter != b"," or any(isinstance(each, list) for each in obj):
            return super().dump(obj)
        elements = (None if each is None else self.sub_dumper.dump(each) for each in obj)
        return b"{%b}" % b",".join(map(_element, elements))


def install() -> None:
    """For every connection made afterwards."""
    psycopg.adapters.register_dumper(list, QuickListDumper)


def _element(written: Any) -> bytes:
    """What is quoted is taken as it stands, whatever its type."""
    if written is None:
        return b"NULL"
    return b'"%b"' % bytes(written).replace(b"\\", b"\\\\").replace(b'"', b'\\"')
