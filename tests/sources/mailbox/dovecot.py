"""A real IMAP server for tests: Dovecot 2.3, without privileges, in a folder of its own, on loopback ports."""

from __future__ import annotations

import grp
import os
import pwd
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from imapclient import IMAPClient  # type: ignore[import-untyped]  # no published types

PASSWORD = "pä“ss”-7"
PROGRAM = shutil.which("dovecot", path=os.environ.get("PATH", "") + ":/usr/sbin")
OTHER_USER = "nobody"
"""Dovecot gives no mail to root."""
_CONFIG = """
protocols = imap
base_dir = {folder}/run
state_dir = {folder}/state
log_path = {folder}/log
default_internal_user = {user}
default_login_user = {user}
default_internal_group = {group}
first_valid_uid = 1
first_valid_gid = 1
listen = 127.0.0.1
ssl = yes
ssl_cert = <{folder}/cert.pem
ssl_key = <{folder}/key.pem
disable_plaintext_auth = no
auth_failure_delay = 0
mail_max_userip_connections = 0
mail_location = maildir:{folder}/mail/%u
mail_fsync = never
service anvil {{
  chroot =
  unix_listener anvil-auth-penalty {{
    mode = 0
  }}
}}
service stats {{
  chroot =
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = {tls_port}
  }}
}}
passdb {{
  driver = static
  args = password={password}
}}
userdb {{
  driver = static
  args = uid={uid} gid={gid} home={folder}/home/%u
}}
namespace inbox {{
  inbox = yes
}}
"""


@dataclass(frozen=True, slots=True)
class Dovecot:
    """Any user name is let in with PASSWORD, and each has a mailbox of its own."""

    folder: Path
    port: int
    tls_port: int

    @property
    def certificate(self) -> Path:
        return self.folder / "cert.pem"


class MailServerUser:
    """What somebody with a mail program does. `settings` are those of a source that reads it."""

    def __init__(self, server: Dovecot, user: str) -> None:
        self.server = server
        self.settings: dict[str, Any] = {
            "host": "127.0.0.1",
            "port": server.port,
            "tls": "none",
            "user": user,
            "password_variable": "MAILBOX_PASSWORD",
        }
        self.client = IMAPClient("127.0.0.1", server.port, ssl=False, timeout=20)
        self.client.plain_login(user, PASSWORD)

    def put(self, *mails: bytes, folder: str = "INBOX", flags: Sequence[bytes] = ()) -> None:
        for mail in mails:
            self.client.append(folder, mail, flags=flags)

    def delete(self, uid: int) -> None:
        self.client.select_folder("INBOX")
        self.client.delete_messages([uid])
        self.client.expunge()

    def skip_to(self, uid: int) -> None:
        """The next mail in the INBOX has this UID."""
        uids = self.server.folder / "mail" / self.settings["user"] / "dovecot-uidlist"
        uids.write_text(re.sub(r" N\d+", f" N{uid}", uids.read_text(), count=1))

    def flags(self, folder: str = "INBOX") -> list[set[bytes]]:
        self.client.select_folder(folder, readonly=True)
        found = self.client.fetch(self.client.search(), ["FLAGS"])
        return [set(fields[b"FLAGS"]) for _, fields in sorted(found.items())]


def why_not() -> str:
    """Why it cannot be started here; "" when it can."""
    if PROGRAM is None:
        return "Dovecot is not installed (Debian: apt-get install dovecot-imapd)"
    if shutil.which("openssl") is None:
        return "openssl, which makes Dovecot's certificate, is not installed"
    version = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True)
    if not version.stdout.startswith("2.3."):
        return f"the configuration of these tests is for Dovecot 2.3, here is {version.stdout.strip()}"
    return ""


@contextmanager
def running_dovecot() -> Iterator[Dovecot]:
    folder = Path(tempfile.mkdtemp(prefix="dovecot-"))
    process = None
    try:
        server = Dovecot(folder, _free_port(), _free_port())
        _furnish(server)
        as_other: dict[str, Any] = {}
        if os.geteuid() == 0:
            group = pwd.getpwnam(OTHER_USER).pw_gid
            as_other = {"user": OTHER_USER, "group": group, "extra_groups": []}
        process = subprocess.Popen(
            [str(PROGRAM), "-F", "-c", str(folder / "dovecot.conf")], stderr=subprocess.DEVNULL, **as_other
        )
        _wait(server, process)
        yield server
    finally:
        if process is not None:
            process.terminate()
            process.wait(timeout=10)
        shutil.rmtree(folder, ignore_errors=True)


def _furnish(server: Dovecot) -> None:
    folder = server.folder
    account = pwd.getpwnam(OTHER_USER) if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out", "cert.pem"],
        cwd=folder, check=True, capture_output=True,
    )  # fmt: skip
    config = _CONFIG.format(
        folder=folder,
        user=account.pw_name,
        group=grp.getgrgid(account.pw_gid).gr_name,
        uid=account.pw_uid,
        gid=account.pw_gid,
        port=server.port,
        tls_port=server.tls_port,
        password=PASSWORD,
    )
    (folder / "dovecot.conf").write_text(config)
    for name in ("mail", "home", "run", "state"):
        (folder / name).mkdir()
    if os.geteuid() == 0:
        for path in (folder, *folder.iterdir()):
            os.chown(path, account.pw_uid, account.pw_gid)


def _wait(server: Dovecot, process: subprocess.Popen[bytes]) -> None:
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", server.port), timeout=1).close()
        except OSError:
            if process.poll() is not None:
                break
            time.sleep(0.05)
        else:
            return
    log = server.folder / "log"
    raise AssertionError(f"Dovecot did not start: {log.read_text() if log.exists() else 'it wrote no log'}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
