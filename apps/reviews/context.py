from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from apps.accounts.models import User
from apps.reviews.keys import USUAL, keys_of


def desk_keys(request: HttpRequest) -> dict[str, Any]:
    """`desk_keys`, the reader's own; asked of the database only where a page shows a key."""
    user = getattr(request, "user", None)
    return {"desk_keys": SimpleLazyObject(lambda: keys_of(user) if isinstance(user, User) else USUAL)}
