"""Who is at the browser, asked at every request: Django's own way, by statements that are planned once."""

from __future__ import annotations

from django.contrib.auth.backends import ModelBackend
from django.contrib.sessions.backends.db import SessionStore as RowSessions
from django.contrib.sessions.models import Session
from django.utils import timezone

from apps.accounts.models import User
from apps.core.db import Columns, fetch

_SESSION, _USER = Columns(Session), Columns(User)
_FIND_SESSION = f"""
    SELECT {_SESSION.of("session")} FROM django_session session
    WHERE session.session_key = %(key)s AND session.expire_date > %(now)s
"""  # noqa: S608 - our own columns
_FIND_USER = f"""
    SELECT {_USER.of("person")} FROM accounts_user person WHERE person.id = %(id)s AND person.is_active
"""  # noqa: S608 - our own columns


class SessionStore(RowSessions):
    """Rows, as Django's; it reads them once a request."""

    def _get_session_from_db(self) -> Session | None:
        found = fetch(_FIND_SESSION, {"key": self.session_key, "now": timezone.now()})
        if not found:
            self._session_key = None
            return None
        return _SESSION.take(iter(found[0]))


class People(ModelBackend):
    """Names and passwords, as Django's; a person who was deactivated is nobody at once."""

    def get_user(self, user_id: int) -> User | None:
        found = fetch(_FIND_USER, {"id": user_id})
        return _USER.take(iter(found[0])) if found else None
