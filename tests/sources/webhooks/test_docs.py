"""docs/sources.md, as far as it can be run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from apps.sources.webhooks.settings import WebhookSettings, WhatsAppSettings
from tests.sources.webhooks.conftest import SECRET, Sender

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "sources.md").read_text(encoding="utf-8")


def test_it_works(webhook: Sender) -> None:
    """The sender that the page shows is let in."""
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    made: dict[str, Any] = {}
    exec(code, made)  # noqa: S102 - our own page
    body = '{"external_id": "a-1", "state": "سلام"}'.encode()
    assert webhook.raw(body, made["sign"](body, SECRET)).status_code == 200


def test_every_setting_it_names_exists() -> None:
    named = set(re.findall(r"--set (\w+)=", PAGE))
    known = {*WebhookSettings.model_fields, *WhatsAppSettings.model_fields}
    assert known <= named
    assert named - known <= {"host", "user", "password_variable"}
