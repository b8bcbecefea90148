from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from apps.accounts.models import User
from apps.workflows.models import Membership


def navigation(request: HttpRequest) -> dict[str, Any]:
    """`my_memberships`, for the menu; asked of the database only when a template uses it."""
    user = getattr(request, "user", None)

    def memberships() -> list[Membership]:
        if not isinstance(user, User):
            return []
        return list(
            Membership.objects.select_related("workflow").filter(user=user).order_by("workflow__name")
        )

    return {"my_memberships": SimpleLazyObject(memberships)}
