"""What headers tell about who or what sent a mail: lists, programs that answer by themselves, bounces, checks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from apps.sources.mail.headers import Headers
from apps.sources.mail.tree import Part

_BOUNCED = re.compile(
    r"undeliver|delivery (?:status|failure|has failed|incomplete)|returned (?:mail|to sender)|failure notice|"
    r"mail delivery failed|unzustellbar|nicht zustellbar|non remis|no entregado|mancato recapito",
    re.IGNORECASE,
)
_CHECKED = re.compile(r"(?<![\w.-])(spf|dkim|dmarc)\s?=\s?([a-z]{1,20})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Signs:
    """`auto_reply`: sent by a program, by Auto-Submitted, Precedence, X-Auto-Response-Suppress and their like.

    `checks`: spf, dkim and dmarc as the topmost Authentication-Results says; worth as much as one's own mail server,
    for anybody can write that header.
    """

    list_id: str
    auto_reply: bool
    is_bounce: bool
    checks: tuple[tuple[str, str], ...]


def read_signs(headers: Headers, parts: Sequence[Part]) -> Signs:
    is_bounce = _is_bounce(headers, parts)
    return Signs(
        list_id=_list_id(headers),
        auto_reply=is_bounce or _is_automatic(headers),
        is_bounce=is_bounce,
        checks=_checks(headers),
    )


def _list_id(headers: Headers) -> str:
    value = headers.text("list-id")
    named = re.search(r"<([^<>]{1,255})>", value)
    if named or value:
        return (named[1] if named else value)[:255]
    posted = re.search(r"mailto:([^>?\s]{1,255})", headers.text("list-post"), re.IGNORECASE)
    return posted[1] if posted else ""


def _is_automatic(headers: Headers) -> bool:
    submitted = headers.text("auto-submitted").lower()
    precedence = headers.text("precedence").lower()
    suppressed = re.split(r"[\s,;]+", headers.text("x-auto-response-suppress").lower())
    return (
        (bool(submitted) and not submitted.startswith("no"))
        or precedence in {"auto_reply", "auto-reply", "junk"}
        or (precedence == "bulk" and not _list_id(headers))
        or bool({"all", "oof", "autoreply"} & set(suppressed))
        or any(headers.raw(name) for name in ("x-autoreply", "x-autorespond", "x-autoresponder"))
    )


def _is_bounce(headers: Headers, parts: Sequence[Part]) -> bool:
    if headers.mime.get_content_type() == "multipart/report":
        report = str(headers.mime.get_param("report-type", "")).lower()
        if report == "delivery-status" or any(
            part.content_type == "message/delivery-status" for part in parts
        ):
            return True
    sender = next(iter(headers.addresses("from")), None)
    name = sender.address.partition("@")[0].lower() if sender else ""
    comes_from_nobody = headers.raw("return-path").replace(" ", "") == "<>"
    return bool(_BOUNCED.search(headers.text("subject"))) and (
        name in {"mailer-daemon", "postmaster", "mail-daemon"} or comes_from_nobody
    )


def _checks(headers: Headers) -> tuple[tuple[str, str], ...]:
    found: dict[str, str] = {}
    for name, result in _CHECKED.findall(headers.text("authentication-results")):
        found.setdefault(name.lower(), result.lower())
    return tuple(found.items())
