from __future__ import annotations

import base64
from datetime import UTC, datetime

import pytest

from apps.pipeline import limits
from apps.sources.mail.parsing import NotMail, ParsedMail, parse_mail
from apps.sources.mail.quotes import to_read

NOW = datetime(2026, 11, 30, 9, tzinfo=UTC)


def read(text: str | bytes) -> ParsedMail:
    return parse_mail(text.encode() if isinstance(text, str) else text, now=NOW)


def body(mail: ParsedMail) -> str:
    return to_read(mail.pieces, quoted=True, signature=True)


def with_header(line: str | bytes) -> ParsedMail:
    line = line.encode() if isinstance(line, str) else line
    return read(b"From: a@b.example\n" + line + b"\n\nHello")


def multipart(*parts: str, kind: str = "mixed", end: str = "--B--\n") -> str:
    pieces = "".join(f"--B\n{part}\n" for part in parts)
    return f"From: a@b.example\nContent-Type: multipart/{kind}; boundary=B\n\npreamble\n{pieces}{end}"


def test_it_works() -> None:
    mail = read(
        'From: "Doe, Jane" <jane@farm.example>\r\nTo: Bob <b@shop.example>, c@shop.example\r\n'
        "Subject: Milk\r\n and cheese\r\nDate: Mon, 30 Nov 2026 09:30:00 +0200\r\n"
        "Message-ID: <2@farm.example>\r\nReferences: <0@farm.example> <1@farm.example>\r\n\r\nTwo litres.\r\n"
    )
    assert (str(mail.sender), mail.to) == (
        "Doe, Jane <jane@farm.example>",
        "Bob <b@shop.example>, c@shop.example",
    )
    assert (mail.subject, mail.external_id, mail.group) == (
        "Milk and cheese",
        "2@farm.example",
        "0@farm.example",
    )
    assert mail.date == datetime(2026, 11, 30, 7, 30, tzinfo=UTC)
    assert (body(mail), mail.repairs) == ("Two litres.", ())


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"PK\x03\x04" + bytes(50), "is no mail: begins as a ZIP archive"),
        (b"MZ\x90\x00" + bytes(50), "is no mail: begins as a Windows program"),
        (b"%PDF-1.7\n", "is no mail: begins as a PDF"),
        (b"\x89PNG\r\n\x1a\n" + bytes(50), "is no mail: begins as a PNG image"),
        (b"\xd0\xcf\x11\xe0" + bytes(50), "an Outlook message"),
        (b"\r\n \r\n", "is empty"),
        (b"Just a text\nof two lines\n", "has no line like"),
        (b"From: a\x00" + bytes(500), "binary data"),
    ],
)
def test_what_is_no_mail_is_refused_with_the_reason(data: bytes, reason: str) -> None:
    with pytest.raises(NotMail, match=reason):
        read(data)


def test_a_mail_beyond_the_limit_is_refused() -> None:
    with pytest.raises(NotMail, match="the limit is 36,700,160"):
        read(b"From: a@b.example\n\n" + bytes(limits.MAX_MAIL_BYTES))


@pytest.mark.parametrize(
    ("line", "subject"),
    [
        ("Subject: =?utf-8?B?w6RiYw==?=", "äbc"),
        ("Subject: =?iso-8859-1?Q?Gr=FC=DFe?= aus =?iso-8859-1?Q?_K=F6ln?=", "Grüße aus Köln"),
        ("Subject: =?utf-8?B?w6Q=?=\n =?utf-8?B?w7Y=?=", "äö"),
        # A letter cut in two between words, blanks within a word, base64 without its end, an unknown charset.
        ("Subject: =?utf-8?B?ww==?= =?utf-8?B?pA==?=", "ä"),
        ("Subject: =?utf-8?Q?two words here?=", "two words here"),
        ("Subject: =?utf-8?B?w6RiYw?=", "äbc"),
        ("Subject: =?x-nobody?Q?plain?=", "plain"),
        ("Subject: =?utf-8?Q?unfinished", "=?utf-8?Q?unfinished"),
        ("Subject: مرحبا".encode(), "مرحبا"),
        ("Subject: Größe".encode("latin-1"), "Größe"),
        (b"Subject: a\x00b", "a�b"),
    ],
)
def test_subjects_as_senders_write_them(line: str | bytes, subject: str) -> None:
    assert with_header(line).subject == subject


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("From: jane@farm.example (Jane)", "Jane <jane@farm.example>"),
        ("From: =?utf-8?Q?D=C3=B6e=2C_Jane?= <jane@farm.example>", "Döe, Jane <jane@farm.example>"),
        ('From: "\\"Jane\\" (boss)" <jane@farm.example>', '"Jane" (boss) <jane@farm.example>'),
        ("From: Jane at the farm", "Jane at the farm"),
        ("From: <jane@farm.example", "jane@farm.example"),
        ("From: team: jane@farm.example, bob@farm.example;", "jane@farm.example"),
        ("From:", ""),
    ],
)
def test_senders_as_senders_write_them(line: str, expected: str) -> None:
    assert str(read(f"{line}\nSubject: x\n\nHello").sender) == expected


@pytest.mark.parametrize(
    "date", ["Mon, 30 Nov 2099 09:00:00 +0000", "Thu, 1 Jan 1960 00:00:00 +0000", "yesterday", ""]
)
def test_a_date_that_cannot_be_is_none(date: str) -> None:
    mail = with_header(f"Date: {date}")
    assert (mail.date, mail.date_text) == (None, date)


def test_a_zone_no_place_has_keeps_its_instant() -> None:
    mail = with_header("Date: Wed, 28 Aug 2002 20:15:37 -1900")
    assert mail.date is not None
    assert mail.date.isoformat() == "2002-08-29T15:15:37+00:00"


def test_ids_that_are_missing_or_too_long_become_hashes() -> None:
    assert with_header("X: y").external_id.startswith("sha256:")
    long = with_header(f"Message-ID: <{'x' * 300}@b.example>")
    assert long.external_id == long.group
    assert len(long.external_id) == len("sha256:") + 64


def test_plain_text_is_preferred_and_html_kept() -> None:
    mail = read(
        multipart(
            "Content-Type: text/plain\n\nHello plain",
            "Content-Type: text/html\n\n<p>Hello <b>you</b>",
            kind="alternative",
        )
    )
    assert (body(mail), mail.html) == ("Hello plain", "<p>Hello <b>you</b>")


def test_html_alone_becomes_text_without_what_nobody_sees() -> None:
    mail = read(
        "Subject: x\nContent-Type: text/html; charset=utf-8\n\n<title>t</title><style>p{}</style><p>One<p>Two"
        '<div style="display:none">hidden</div><script>alert(1)</script><blockquote type="cite">old</blockquote>'
    )
    assert [(piece.kind, piece.text.strip()) for piece in mail.pieces] == [
        ("body", "One\n\nTwo"),
        ("quoted", "> old"),
    ]


def test_files_are_listed_with_their_names() -> None:
    pdf = base64.b64encode(b"%PDF").decode()
    name = "name*=utf-8''Angebot%20%C3%BC.pdf"
    mail = read(
        multipart(
            "Content-Type: text/plain\n\nSee below",
            f"Content-Type: application/pdf; {name}\nContent-Transfer-Encoding: base64\n\n{pdf}",
            "Content-Type: text/plain\nContent-Disposition: attachment; filename=log.txt\n\nlines",
        )
    )
    assert [(file.name, file.content_type, file.data) for file in mail.files] == [
        ("Angebot ü.pdf", "application/pdf", b"%PDF"),
        ("log.txt", "text/plain", b"lines"),
    ]
    assert body(mail) == "See below"


def test_an_invitation_is_read_as_lines() -> None:
    event = (
        "BEGIN:VCALENDAR\nMETHOD:REQUEST\nBEGIN:VEVENT\nDTSTART;TZID=Europe/Berlin:20261201T090000\n"
        "SUMMARY:Milk\\, and\n  cheese\nORGANIZER;CN=Jane:mailto:jane@farm.example\nEND:VEVENT\nEND:VCALENDAR"
    )
    mail = read(multipart("Content-Type: text/plain\n\nJoin us", f"Content-Type: text/calendar\n\n{event}"))
    assert body(mail) == (
        "Join us\n\nInvitation\nStarts: 2026-12-01 09:00 (Europe/Berlin)\nWhat: Milk, and cheese\n"
        "Organiser: Jane <jane@farm.example>"
    )


def test_a_mail_within_a_mail_is_quoted() -> None:
    inner = "Content-Type: message/rfc822\n\nFrom: bob@shop.example\nSubject: Offer\n\nCheap!"
    mail = read(multipart("Content-Type: text/plain\n\nLook:", inner))
    assert [piece.kind for piece in mail.pieces] == ["body", "quoted"]
    assert "> Subject: Offer\n> \n> Cheap!" in mail.pieces[1].text


@pytest.mark.parametrize(
    ("raw", "text", "repair"),
    [
        (
            multipart("Content-Type: text/plain\n\nHello", end=""),
            "Hello",
            "The end of a multipart was missing",
        ),
        (
            multipart("Content-Type: text/plain\n\nHello").replace("boundary=B", "x=y"),
            "Hello",
            "The boundary of a multipart was missing; it was guessed",
        ),
        (
            "Subject: x\nContent-Type: multipart/mixed; boundary=B\n\nHello",
            "Hello",
            "The boundary of a multipart was not found in it; it was read as text",
        ),
        (
            "Subject: x\nHello, no empty line",
            "Hello, no empty line",
            "The empty line between headers and text",
        ),
        (
            "Subject: x\nContent-Transfer-Encoding: x-odd\n\nHello",
            "Hello",
            "The transfer encoding x-odd is unknown",
        ),
        ("\n\nSubject: x\n\nHello", "Hello", "Empty lines before the first header"),
    ],
)
def test_broken_mail_is_repaired_with_a_sentence(raw: str, text: str, repair: str) -> None:
    mail = read(raw)
    assert body(mail) == text
    assert any(sentence.startswith(repair) for sentence in mail.repairs)


def test_flowed_lines_are_joined() -> None:
    mail = read("Subject: x\nContent-Type: text/plain; format=flowed\n\nOne \ntwo\n> three \n> four\n-- \nMe")
    assert "".join(piece.text for piece in mail.pieces) == "One two\n> three four\n-- \nMe"


@pytest.mark.parametrize(
    ("line", "is_automatic"),
    [
        ("Auto-Submitted: auto-replied", True),
        ("Auto-Submitted: no", False),
        ("Precedence: auto_reply", True),
        ("X-Auto-Response-Suppress: DR, OOF", True),
        ("Precedence: bulk\nList-Id: News <news.b.example>", False),
        ("Subject: Hello", False),
    ],
)
def test_who_answers_by_machine(line: str, is_automatic: bool) -> None:
    assert with_header(line).signs.auto_reply is is_automatic


def test_a_bounce_is_one() -> None:
    mail = read(
        multipart(
            "Content-Type: text/plain\n\nUnknown", "Content-Type: message/delivery-status\n\nStatus: 5.1.1"
        ).replace("multipart/mixed;", "multipart/report; report-type=delivery-status;")
    )
    assert (mail.signs.is_bounce, mail.signs.auto_reply) == (True, True)
    assert "Status: 5.1.1" in body(mail)


def test_checks_of_the_receiving_server() -> None:
    mail = with_header("Authentication-Results: mx.shop.example; spf=pass smtp.mailfrom=b.example; dkim=fail")
    assert mail.signs.checks == (("spf", "pass"), ("dkim", "fail"))
