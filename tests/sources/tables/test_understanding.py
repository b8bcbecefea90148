from __future__ import annotations

import json

import pytest

from apps.core.errors import InvalidInput
from apps.sources.tables.columns import Roles, columns_sha256
from apps.sources.tables.times import TimeFormat
from apps.sources.tables.understanding import Kind, Overrides, Understanding, understand


def roles(header: str, *rows: str) -> Roles:
    return understand("\n".join((header, *rows, "")).encode(), name="a.csv").roles


def test_it_works() -> None:
    found = understand(b"Ticket ID,Message,Created At\n7,Hello,2026-11-30 09:00\n", name="a.csv")
    assert (found.kind, found.columns) == (Kind.CSV, ("Ticket ID", "Message", "Created At"))
    assert found.roles == Roles("Ticket ID", ("Message",), "Created At", TimeFormat.ISO, "UTC")
    assert found.rows == (("7", "Hello", "2026-11-30 09:00"),)
    assert not found.questions


@pytest.mark.parametrize(
    ("header", "external_id", "texts", "group"),
    [
        ("Ticketnummer,Betreff,Nachricht", "Ticketnummer", ("Betreff", "Nachricht"), ""),
        ("Numéro,Objet,Thread ID", "Numéro", ("Objet",), "Thread ID"),
        ("رقم التذكرة,النص,المحادثة", "رقم التذكرة", ("النص",), "المحادثة"),
        ("编号,内容", "编号", ("内容",), ""),
        ("external_id,id,state,body", "external_id", ("state",), ""),
        ("id,subject,text", "id", ("text",), ""),
        ("a,b", "", (), ""),
    ],
)
def test_columns_by_their_names(header: str, external_id: str, texts: tuple[str, ...], group: str) -> None:
    found = roles(header, "1,x,y,z"[: 2 * header.count(",") + 1])
    assert (found.external_id, found.texts, found.group) == (external_id, texts, group)


@pytest.mark.parametrize(
    ("cells", "form"),
    [
        (["2026-11-30T09:00:00Z", "2026-11-30"], TimeFormat.ISO),
        (["30.11.2026 09:00", "01.02.26"], TimeFormat.DMY),
        (["11/30/2026 9:00 AM", "01/02/2026 12:00 PM"], TimeFormat.MDY),
        (["2026/11/30 09:00:00"], TimeFormat.YMD),
        (["2026年11月30日"], TimeFormat.YMD),
        (["1796029200"], TimeFormat.UNIX),
    ],
)
def test_dates_by_their_format(cells: list[str], form: TimeFormat) -> None:
    found = roles("id,text,date", *(f"{n},x,{cell}" for n, cell in enumerate(cells)))
    assert (found.received_at, found.time_format) == ("date", form)


def test_dates_that_can_be_read_in_two_ways_are_asked_about() -> None:
    found = understand(b"id,text,date\n1,x,03/04/2026\n", name="a.csv")
    assert [question.path for question in found.questions] == ["received_at"]
    assert found.with_roles(Roles("id", ("text",))).questions == ()


def test_words_in_columns_called_like_dates_and_priorities_stay_metadata() -> None:
    found = roles("id,text,date,priority", "1,x,soon,high")
    assert (found.received_at, found.priority) == ("", "")
    assert roles("id,text,prio", "1,x,3").priority == "prio"


@pytest.mark.parametrize(
    ("content", "name", "kind"),
    [
        (b'{"id": 1, "text": "x"}\n', "a.txt", Kind.JSONL),
        (b"\x89PNG\r\n\x1a\n123", "a.csv", Kind.IMAGE),
        (b"\xff\xd8\xff\xe0", "a", Kind.IMAGE),
        (b"RIFF1234WEBPVP8 ", "a", Kind.IMAGE),
        (b"%PDF-1.7\n", "a", Kind.PDF),
        (b"From rosa@example.org Mon Nov 30 09:00:00 2026\nSubject: x\n\nHi\n", "a", Kind.MBOX),
        (b"Subject: x\nFrom: rosa@example.org\nTo: ravi@example.org\n\nHi\n", "a", Kind.EML),
        (b"Subject: x\n\nHi\n", "a.eml", Kind.EML),
        (b"id,text\n1,From: me\n", "a.eml", Kind.CSV),
        (b"PK\x03\x04rest", "a.eml", Kind.OTHER),
        (b"MZ\x90" + bytes(500), "a.csv", Kind.OTHER),
        (b"", "a.csv", Kind.OTHER),
        (b"<svg/>", "logo.png", Kind.IMAGE),
        (b"GIF89a", "cat.GIF", Kind.IMAGE),
        (b"\n%PDF-1.4", "scan.pdf", Kind.PDF),
        (b"From a@b.example Thu Jan  1 00:00:00 1970\n\n", "empty.mbox", Kind.MBOX),
    ],
)
def test_kinds_by_their_content_and_else_their_name(content: bytes, name: str, kind: Kind) -> None:
    assert understand(content, name=name).kind is kind


def test_what_was_understood_is_kept_as_json() -> None:
    found = understand(b"Datum;Text\n03/04/26;x\n", name="a.csv")
    assert Understanding.from_json(json.loads(json.dumps(found.to_json()))) == found


@pytest.mark.parametrize(
    "overrides", [Overrides("klingon"), Overrides(delimiter="::"), Overrides(roles=Roles("gone", ("text",)))]
)
def test_overrides_that_cannot_be_meant(overrides: Overrides) -> None:
    with pytest.raises(InvalidInput):
        understand(b"id,text\n1,x\n", name="a.csv", overrides=overrides)


def test_columns_are_remembered_in_their_order() -> None:
    assert columns_sha256(["a", "b"]) != columns_sha256(["b", "a"]) == columns_sha256(("b", "a"))
