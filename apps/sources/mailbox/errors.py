"""What goes wrong with a mailbox, as sentences for the person who can do something about it. Never a secret."""

from __future__ import annotations

import socket
import ssl

from imapclient.exceptions import (  # type: ignore[import-untyped]  # no published types
    IMAPClientAbortError,
    IMAPClientError,
    LoginError,
)

from apps.core.errors import NotNow
from apps.core.text import repaired
from apps.sources.mailbox.settings import ImapSettings

_LONGEST_WORDS = 160


class MailboxError(NotNow):
    """The connection may still be good: another folder can be read over it."""


class ConnectionLost(MailboxError):
    pass


def to_mailbox_error(error: Exception, settings: ImapSettings, *, password: str, what: str) -> MailboxError:
    """`what` names what was tried ("the folder INBOX cannot be opened"), for refusals of the server."""
    where = f"{settings.host}:{settings.port}"
    if isinstance(error, LoginError):
        return MailboxError(f"{where} does not let {settings.user} in: {_words(error, password)}")
    if isinstance(error, UnicodeError):
        return MailboxError(f"{where} takes no user name or password with letters beyond ASCII.")
    if isinstance(error, OSError | IMAPClientAbortError):
        return ConnectionLost(_of_connection(error, where, settings, password))
    if isinstance(error, IMAPClientError):
        return MailboxError(f"{what}: {_words(error, password)}")
    return MailboxError(f"{where} answers what cannot be understood ({type(error).__name__}): {what}.")


def _of_connection(error: Exception, where: str, settings: ImapSettings, password: str) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"The certificate of {where} is not trusted: {error.verify_message}."
    if isinstance(error, ssl.SSLError):
        hint = " Is it a port for TLS?" if error.reason == "WRONG_VERSION_NUMBER" else ""
        return f"No TLS connection with {where}: {error.reason or 'it broke off'}.{hint}"
    if isinstance(error, socket.gaierror):
        return f"No server is known by the name {settings.host}."
    if isinstance(error, ConnectionRefusedError):
        return f"Nothing answers at {where}."
    if isinstance(error, TimeoutError):
        return f"{where} does not answer in time."
    return f"The connection with {where} broke off: {_words(error, password)}"


def _words(error: Exception, password: str) -> str:
    """What was said, on one line, with the password cut out should a server repeat it."""
    words = " ".join(repaired(str(error))[0].split())
    if password:
        words = words.replace(password, "…")
    return (
        "".join(each if each.isprintable() else "�" for each in words)[:_LONGEST_WORDS] or "no reason given"
    )
