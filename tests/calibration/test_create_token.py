from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.management.base import CommandError
from django.utils import timezone

from apps.accounts.models import User
from apps.workflows.access import get_token_for
from apps.workflows.models import ApiToken
from tests.calibration.commands import run

pytestmark = pytest.mark.django_db
ASK = ("create_token", "--user", "Rosa", "--workflow", "leads")


def test_it_works(rosa: User) -> None:
    secret = run(*ASK).strip()

    token = get_token_for(secret=secret, now=timezone.now())
    assert token is not None
    assert (token.user, token.scopes, token.expires_at) == (rosa, ["ingest", "read"], None)


def test_scopes_and_days(rosa: User) -> None:
    run(*ASK, "--scope", "export", "--days", "30")

    token = ApiToken.objects.get()
    assert token.scopes == ["export"]
    assert token.expires_at is not None
    assert timedelta(days=29) < token.expires_at - timezone.now() <= timedelta(days=30)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--user", "nobody"), "no active person nobody"),
        (("--workflow", "nothing"), "no workflow nothing"),
        (("--days", "0"), "1 to 36500"),
        (("--user", "olga"), "not a member"),
        (("--name", " "), "1 to 80"),
    ],
)
def test_what_is_refused(rosa: User, olga: User, arguments: tuple[str, str], said: str) -> None:
    with pytest.raises(CommandError, match=said):
        run(*ASK, *arguments)

    assert not ApiToken.objects.exists()
