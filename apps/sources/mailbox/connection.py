"""One connection to a mailbox, which can read and nothing else: folders are examined, mails are peeked at."""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from types import TracebackType
from typing import Any, TypeVar

from imapclient import IMAPClient, SocketTimeout  # type: ignore[import-untyped]  # no published types

from apps.pipeline import limits
from apps.sources.mail.headers import read_headers
from apps.sources.mailbox.errors import ConnectionLost, MailboxError, to_mailbox_error
from apps.sources.mailbox.settings import ImapSettings

Kind = TypeVar("Kind", int, bytes)
CONNECT_S, READ_S = 10, 60
_SUBJECT = "BODY.PEEK[HEADER.FIELDS (SUBJECT)]<0.2000>"
# One byte more than is taken: a server that tells a wrong size cannot fill the memory either.
_WHOLE = f"BODY.PEEK[]<0.{limits.MAX_MAIL_BYTES + 1}>"


@dataclass(frozen=True, slots=True)
class Examined:
    """`validity` and UIDs together name a mail for good; `newest` is an upper bound of the UIDs."""

    validity: int
    newest: int
    mails: int


class Mailbox:
    """A context manager. All methods raise MailboxError, and ConnectionLost where only a new connection helps.

    `fetched` counts replies with mails or sizes: whether this connection was of any use.
    """

    def __init__(self, settings: ImapSettings, password: str) -> None:
        self.fetched = 0
        self._settings = settings
        self._password = password
        self._client: Any = None
        self._is_lost = False

    def __enter__(self) -> Mailbox:
        settings = self._settings
        with self._telling(f"{settings.host}:{settings.port} cannot be used"):
            self._client = IMAPClient(
                settings.host,
                settings.port,
                ssl=settings.tls == "tls",
                ssl_context=ssl.create_default_context(),
                timeout=SocketTimeout(connect=CONNECT_S, read=READ_S),
            )
        try:
            self._log_in()
        except MailboxError:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def examine(self, folder: str) -> Examined:
        """Read-only: the server refuses whatever would change something in it."""
        with self._telling(f"The folder {folder} cannot be opened"):
            found = self._client.select_folder(folder, readonly=True)
            validity, next_uid = found.get(b"UIDVALIDITY"), found.get(b"UIDNEXT")
            if not isinstance(validity, int) or not isinstance(next_uid, int):
                raise MailboxError(f"The server does not number the mails of the folder {folder} for good.")
            return Examined(validity, next_uid - 1, int(found[b"EXISTS"]))

    def uids(self, first: int, last: int, since: date | None) -> list[int]:
        """Ascending. Between `first` and `last`, both included, received on `since` or later."""
        criteria = ["UID", f"{first}:{last}", *(["SINCE", since] if since else [])]
        with self._telling("Its mails cannot be listed"):
            return sorted({uid for uid in self._client.search(criteria) if first <= uid <= last})

    def sizes(self, uids: Sequence[int]) -> dict[int, int]:
        """In bytes, 0 where the server does not say; without mails that are gone."""
        found = self._fetch(uids, "RFC822.SIZE")
        return {uid: _one(fields, b"RFC822.SIZE", int) or 0 for uid, fields in found.items()}

    def subject(self, uid: int) -> str:
        header = _one(self._fetch([uid], _SUBJECT).get(uid, {}), b"BODY[HEADER", bytes) or b""
        return read_headers(header, 0, len(header))[0].text("subject")[:200]

    def bodies(self, uids: Sequence[int]) -> dict[int, bytes]:
        """Whole mails, b"" where the server gives none; without those that are gone. No flag is changed by it."""
        found = self._fetch(uids, _WHOLE)
        return {uid: _one(fields, b"BODY[]", bytes) or b"" for uid, fields in found.items()}

    def folders(self, *, most: int) -> list[tuple[str, int]]:
        """Names and how many mails are in each, of the first ones that can hold mails."""
        with self._telling("Its folders cannot be listed"):
            names = [
                str(name)
                for flags, _, name in self._client.list_folders()
                if not {b"\\noselect", b"\\nonexistent"} & {flag.lower() for flag in flags}
            ]
            return [
                (name, int(self._client.folder_status(name, ["MESSAGES"])[b"MESSAGES"]))
                for name in sorted(names)[:most]
            ]

    def _log_in(self) -> None:
        with self._telling(f"{self._settings.host} cannot be used"):
            if self._settings.tls == "starttls":
                self._client.starttls(ssl.create_default_context())
            # LOGIN takes ASCII only.
            is_plain = self._client.has_capability("AUTH=PLAIN")
            log_in = self._client.plain_login if is_plain else self._client.login
            log_in(self._settings.user, self._password)

    def _fetch(self, uids: Sequence[int], what: str) -> dict[int, dict[bytes, Any]]:
        with self._telling("The server does not hand over mails"):
            found: dict[int, dict[bytes, Any]] = self._client.fetch(uids, [what])
        self.fetched += 1
        return found

    @contextmanager
    def _telling(self, what: str) -> Iterator[None]:
        try:
            yield
        except MailboxError:
            raise
        except Exception as error:
            told = to_mailbox_error(error, self._settings, password=self._password, what=what)
            self._is_lost = self._is_lost or isinstance(told, ConnectionLost)
            raise told from error

    def _close(self) -> None:
        # Whatever goes wrong with a farewell, nothing depends on it. A lost connection is not waited for.
        if not self._is_lost:
            with suppress(OSError, IMAPClient.Error):
                self._client.logout()
                return
        with suppress(OSError, IMAPClient.Error):
            self._client.shutdown()


def _one(fields: dict[bytes, Any], begins: bytes, kind: type[Kind]) -> Kind | None:
    """Servers write the part of a mail that was asked for with or without "<0>"."""
    value = next((value for name, value in fields.items() if name.startswith(begins)), None)
    return value if isinstance(value, kind) else None
