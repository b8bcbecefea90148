"""`import_items` over mails: files, folders, Maildir, mbox."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from django.core.management import call_command

from apps.items.models import Item
from apps.pipeline import limits
from apps.sources.mail.reading import split_mbox
from apps.workflows.models import Workflow

pytestmark = pytest.mark.django_db
FROM_LINE = "From ada@farm.example Mon Nov 30 09:00:00 2026\n"


def run(*arguments: object) -> tuple[int, list[str]]:
    out = io.StringIO()
    try:
        call_command("import_items", *map(str, arguments), workflow="leads", stdout=out, stderr=sys.stderr)
    except SystemExit as ended:
        return int(str(ended.code)), out.getvalue().splitlines()
    return 0, out.getvalue().splitlines()


def mail(number: int, text: str = "Hello") -> str:
    return f"From: ada@farm.example\nSubject: Milk {number}\nMessage-ID: <{number}@farm.example>\n\n{text}\n"


def test_it_works(workflow: Workflow, tmp_path: Path) -> None:
    (tmp_path / "a.eml").write_text(mail(1))
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "b.EML").write_text(mail(2))
    (tmp_path / "notes.txt").write_text("no mail")
    assert run(tmp_path) == (0, ["accepted 2, existing 0, refused 0, repaired 0"])
    assert run(tmp_path) == (0, ["accepted 0, existing 2, refused 0, repaired 0"])
    assert set(Item.objects.values_list("external_id", "source")) == {
        ("1@farm.example", "mail"),
        ("2@farm.example", "mail"),
    }


def test_a_dry_run_writes_nothing(workflow: Workflow, tmp_path: Path) -> None:
    path = tmp_path / "a.eml"
    path.write_text(mail(1))
    counts = "existing 0, changed 0, refused 0, repaired 0; nothing was written"
    assert run(path, "--dry-run") == (0, [f"new 1, {counts}"])
    assert not Item.objects.exists()


def test_an_archive_among_mails_is_told_and_the_rest_kept(workflow: Workflow, tmp_path: Path) -> None:
    (tmp_path / "a.eml").write_text(mail(1))
    (tmp_path / "b.eml").write_bytes(b"PK\x03\x04" + bytes(100))
    code, lines = run(tmp_path)
    assert code == 3
    assert lines == [
        f"{tmp_path}/b.eml: is no mail: begins as a ZIP archive",
        "accepted 1, existing 0, refused 1, repaired 0",
    ]


def test_only_what_is_no_mail_is_an_error(workflow: Workflow, tmp_path: Path) -> None:
    (tmp_path / "b.eml").write_bytes(b"MZ\x90\x00" + bytes(100))
    assert run(tmp_path)[0] == 3


def test_a_maildir_is_read_but_for_what_is_still_being_written(workflow: Workflow, tmp_path: Path) -> None:
    for number, folder in enumerate(("cur", "new", "tmp")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"17{number}.M1P2.host:2,S").write_text(mail(number))
    assert run(tmp_path) == (0, ["accepted 2, existing 0, refused 0, repaired 0"])


def test_an_mbox_is_taken_apart(workflow: Workflow, tmp_path: Path) -> None:
    path = tmp_path / "archive"
    path.write_text("\n".join(f"{FROM_LINE}{mail(number)}" for number in range(3)))
    assert run(path) == (0, ["accepted 3, existing 0, refused 0, repaired 0"])


def test_lines_that_begin_with_from_stay_in_their_mail() -> None:
    text = "Hello\n\nFrom here on it is easy.\n>From the farm\n>>From deeper"
    mails = list(split_mbox(io.BytesIO(f"{FROM_LINE}{mail(1, text)}\n{FROM_LINE}{mail(2)}".encode())))
    assert [each.place for each in mails] == ["message 1", "message 2"]
    assert b"\nFrom here on it is easy.\nFrom the farm\n>From deeper\n" in mails[0].data


def test_a_mail_of_an_mbox_that_is_too_large_costs_only_itself() -> None:
    huge = (b"x" * 1000 + b"\n") * (limits.MAX_MAIL_BYTES // 1000)
    box = FROM_LINE.encode() + huge + b"\n" + f"{FROM_LINE}{mail(2)}".encode()
    first, second = split_mbox(io.BytesIO(box))
    assert "the limit of a mail" in first.problem
    assert second.data == mail(2).encode()
