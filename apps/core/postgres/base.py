"""Django's PostgreSQL, but that a request does not begin with a question to the server whether it is there, and that
what is prepared is planned once, and not for the values of each of its first uses."""

from __future__ import annotations

import select

from django.db.backends.postgresql import base


class DatabaseWrapper(base.DatabaseWrapper):
    def init_connection_state(self) -> None:
        super().init_connection_state()
        with self.cursor() as cursor:
            cursor.execute("SET plan_cache_mode = force_generic_plan")

    def is_usable(self) -> bool:
        """On a kept connection nothing is to be read between two requests, unless the server ended it: only then it
        is asked."""
        if self.connection is None or self.connection.closed:
            return False
        waiting = select.poll()
        waiting.register(self.connection.fileno(), select.POLLIN)
        return not waiting.poll(0) or bool(super().is_usable())
