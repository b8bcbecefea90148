from __future__ import annotations

from apps.accounts.models import User
from apps.core.http import SignedInRequest


class PersonRequest(SignedInRequest):
    """A request from behind the sign-in wall (LoginRequiredMiddleware): its user is a person."""

    user: User
