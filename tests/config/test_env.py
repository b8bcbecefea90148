from __future__ import annotations

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from apps.config.env import Environment
from apps.config.places import find_places


def test_it_works(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("from a file\n")
    env = Environment(
        {"PORT": "8010", "SECRET_KEY_FILE": str(secret), "ALLOWED_HOSTS": "a.example, b.example"}
    )
    assert env.number("PORT", 1, 65_535) == 8010
    assert env.text("SECRET_KEY") == "from a file"
    assert env.words("ALLOWED_HOSTS") == ["a.example", "b.example"]
    assert env.flag("DEBUG") is False


def test_an_older_name_is_read_too() -> None:
    assert Environment({"CLOUDFLARE_API_KEY": "k"}).text("CLOUDFLARE_API_TOKEN") == "k"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ({"DEBUG": "perhaps"}, "DEBUG must be true or false"),
        ({"PORT": "eighty"}, "PORT must be a whole number"),
        ({"PORT": "70000"}, "PORT must be a whole number"),
        ({"LOG_LEVEL": "LOUD"}, "LOG_LEVEL must be one of"),
        ({"SECRET_KEY": "a", "SECRET_KEY_FILE": "b"}, "both set"),
        ({"SECRET_KEY_FILE": "/does/not/exist"}, "cannot be read"),
    ],
)
def test_bad_values_name_the_variable(source: dict[str, str], said: str) -> None:
    env = Environment(source)
    with pytest.raises(ImproperlyConfigured, match=said):
        (
            env.flag("DEBUG"),
            env.number("PORT", 1, 65_535),
            env.choice("LOG_LEVEL", ("INFO",)),
            env.text("SECRET_KEY"),
        )


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ({"DATABASE_URL": "postgresql://h/d"}, "REDIS_URL is not set"),
        ({"REDIS_URL": "redis://h"}, "DATABASE_URL is not set"),
        ({"DATABASE_URL": "postgresql://h/d", "REDIS_URL": "redis://h"}, "SECRET_KEY is not set"),
    ],
)
def test_nothing_falls_back_silently(source: dict[str, str], said: str, tmp_path: Path) -> None:
    with pytest.raises(ImproperlyConfigured, match=said):
        find_places(Environment(source), tmp_path)
