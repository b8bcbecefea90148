"""What is written to the log of an error: where it was, and nothing of what people typed."""

from __future__ import annotations

import json
import logging
import logging.config
import sys
from typing import Any

from django.conf import settings


def log_of(message: str) -> str:
    """The line of an error raised beside a secret, as the handler writes it."""
    secret = message.upper()
    try:
        raise RuntimeError(f"with {len(secret)} letters")
    except RuntimeError:
        record = logging.LogRecord("apps", logging.ERROR, __file__, 1, "failed", None, sys.exc_info())
    formatters: Any = settings.LOGGING["formatters"]
    make = logging.config.DictConfigurator({"version": 1}).configure_formatter
    return str(make(dict(formatters["json"])).format(record))


def test_it_works() -> None:
    found = json.loads(log_of("a secret"))
    assert found["event"] == "failed"
    assert found["exception"][0]["exc_value"] == "with 8 letters"


def test_no_local_variable_is_written() -> None:
    assert "A SECRET" not in log_of("a secret")
