"""Requests, typed once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import HttpRequest

from apps.accounts.models import User

if TYPE_CHECKING:
    from django_htmx.middleware import HtmxDetails


class PersonRequest(HttpRequest):
    """A request from behind the sign-in wall (LoginRequiredMiddleware): its user is a person."""

    user: User
    htmx: HtmxDetails
