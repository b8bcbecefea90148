from __future__ import annotations

from typing import Any

import pytest

from apps.clef.errors import EndpointMisconfigured
from apps.clef.types import Answer, ModelRequest, ScoreQuestion

from .asking import settings_for


def test_it_works() -> None:
    settings = settings_for("workers-ai", model="@cf/cloudflare/clef-flash")
    assert settings.url == "https://api.example.test/client/v4/accounts/a1b2/ai/run/@cf/cloudflare/clef-flash"
    assert settings.model_in_body == "clef-flash"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"kind": "carrier-pigeon"}, "settings.kind"),
        ({"base_url": "ftp://h"}, "settings.base_url"),
        ({"base_url": "h.test"}, "settings.base_url"),
        ({"base_url": "https://"}, "settings.base_url"),
        ({"base_url": "https://user:pw@h.test"}, "settings.base_url"),
        ({"base_url": "https://h.test?key=1"}, "settings.base_url"),
        ({"base_url": "https://h.test/ a"}, "settings.base_url"),
        ({"base_url": "https://h.test:port"}, "settings.base_url"),
        ({"base_url": "https://[::1"}, "settings.base_url"),
        ({"account_id": None}, "settings.account_id"),
        ({"account_id": "../x"}, "settings.account_id"),
        ({"account_id": "a1\n"}, "settings.account_id"),
        ({"model": ""}, "settings.model"),
        ({"model": "clef/../x"}, "settings.model"),
        ({"model": "@cf/meta/llama"}, "settings.model"),
        ({"secret": None}, "settings.secret"),
        ({"secret": "a\r\nx-evil: 1"}, "settings.secret"),
        ({"secret": "ключ"}, "settings.secret"),
        ({"timeout_s": 0}, "settings.timeout_s"),
        ({"timeout_s": float("nan")}, "settings.timeout_s"),
        ({"max_attempts": 0}, "settings.max_attempts"),
        ({"max_request_bytes": 0}, "settings.max_request_bytes"),
    ],
)
def test_a_bad_setting_is_named(changes: dict[str, Any], code: str) -> None:
    with pytest.raises(EndpointMisconfigured) as caught:
        settings_for(**{"kind": "workers-ai", **changes})
    assert caught.value.code == code
    assert "pw" not in caught.value.message


def test_a_plain_server_needs_no_account_and_takes_any_model() -> None:
    settings = settings_for("systemone", account_id=None, secret=None, model="~typesafe/jev-latest")
    assert settings.model_in_body == "~typesafe/jev-latest"


def test_what_is_private_is_not_shown() -> None:
    assert "s3cret" not in repr(settings_for())
    assert "private" not in repr(ModelRequest("private", ()))


def test_score_levels_are_numbered_from_zero() -> None:
    assert ScoreQuestion("q", "?", ("low", "high")).option_ids == ("0", "1")


def test_the_top_of_equals_is_the_first() -> None:
    answer = Answer("q", "choice", (("z", 0.4), ("a", 0.4), ("m", 0.2)))
    assert (answer.top, answer.p_top, answer.p("m")) == ("z", 0.4, 0.2)
