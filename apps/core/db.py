"""Small things PostgreSQL does better than Python."""

from __future__ import annotations

from django.db.models import DateTimeField, Func


class ClockTimestamp(Func):
    """The database's clock at this very moment, not at the transaction's start: leases and claims end by it."""

    function = "clock_timestamp"
    output_field = DateTimeField()
