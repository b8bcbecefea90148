"""Small things PostgreSQL does better than Python."""

from __future__ import annotations

from django.db.models import DateTimeField, DurationField, Func


class ClockTimestamp(Func):
    """The database's clock at this very moment, not at the transaction's start: leases and claims end by it."""

    function = "clock_timestamp"
    output_field = DateTimeField()


class Seconds(Func):
    """A number of seconds in a column, as an interval to add to an instant."""

    function = "make_interval"
    template = "%(function)s(secs => %(expressions)s)"
    output_field = DurationField()
