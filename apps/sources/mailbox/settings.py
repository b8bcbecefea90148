"""What a mailbox is told to be: where it is, which folders, from when on. The password is the name of a variable."""

from __future__ import annotations

import re
from datetime import date
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints, ValidationInfo, field_validator

from apps.sources.models import Source
from apps.sources.webhooks.settings import LOOPBACK, Variable
from apps.workflows.parts import Part, printable, read_part

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_NO_DAY = "must be a day such as 2026-11-30"


def _day(text: str) -> str:
    if text and not _DAY.fullmatch(text):
        raise ValueError(_NO_DAY)
    try:
        return date.fromisoformat(text).isoformat() if text else ""
    except ValueError:
        raise ValueError(_NO_DAY) from None


Host = Annotated[str, StringConstraints(max_length=253, pattern=r"^[^\s/@]+$"), AfterValidator(printable)]
User = Annotated[str, StringConstraints(min_length=1, max_length=300), AfterValidator(printable)]
Folder = Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(printable)]
Day = Annotated[str, StringConstraints(max_length=10), AfterValidator(_day)]


class ImapSettings(Part):
    """`since`: a day; what the server received before it is not read, "" reads all that is there.

    A server with a certificate of one's own authority is trusted through OpenSSL's `SSL_CERT_FILE`.
    """

    host: Host
    port: Annotated[int, Field(ge=1, le=65_535)] = 993
    tls: Literal["tls", "starttls", "none"] = "tls"
    user: User
    password_variable: Variable
    folders: Annotated[list[Folder], Field(min_length=1, max_length=20)] = Field(
        default_factory=lambda: ["INBOX"]
    )
    since: Day = ""
    poll_seconds: Annotated[int, Field(ge=15, le=3600)] = 60

    @field_validator("tls")
    @classmethod
    def _is_never_readable_on_the_way(cls, tls: str, info: ValidationInfo) -> str:
        if tls == "none" and info.data.get("host") not in LOOPBACK:
            raise ValueError('can be "none" for this very machine only: the password would be readable')
        return tls

    @property
    def since_day(self) -> date | None:
        return date.fromisoformat(self.since) if self.since else None


def imap_settings(source: Source) -> ImapSettings:
    """Raises InvalidInput."""
    return read_part(ImapSettings, source.settings, whole="settings")
