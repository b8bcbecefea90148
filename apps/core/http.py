"""Requests, typed once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.http import HttpRequest

if TYPE_CHECKING:
    from django_htmx.middleware import HtmxDetails


class SignedInRequest(HttpRequest):
    """What a view gets behind the sign-in wall: `user` is a person, `htmx` says who swaps what.

    The type of `user` is narrowed where views hand it to `workflows.access`.
    """

    htmx: HtmxDetails
