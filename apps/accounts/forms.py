from __future__ import annotations

from typing import Any, cast

from django.contrib.auth.forms import AuthenticationForm
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from apps.accounts.throttle import WINDOW_S, Attempts


class SignInForm(AuthenticationForm):
    """One sentence for an unknown name, a wrong password and a deactivated person: who exists is nobody's business."""

    error_messages = {  # noqa: RUF012 -- the name and type are Django's
        "invalid_login": "This name and password do not belong together.",
        "inactive": "This name and password do not belong together.",
    }
    too_many = (
        f"Too many failed attempts for this name from your address. Try again in {WINDOW_S // 60} minutes."
    )

    def clean(self) -> dict[str, Any]:
        # Optional for Django; the view always gives it.
        attempts = Attempts(cast(HttpRequest, self.request), self.cleaned_data.get("username", ""))
        if not attempts.may_try():
            raise ValidationError(self.too_many, code="throttled")
        cleaned = super().clean()
        if self.get_user() is not None:
            attempts.forget()
        return cleaned
