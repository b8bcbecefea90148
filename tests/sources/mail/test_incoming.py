"""What the model reads of a mail, and what rules can ask for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.text import unstorable_paths
from apps.pipeline import limits
from apps.pipeline.incoming import check_incoming
from apps.sources.mail.incoming import NO_TEXT, mail_to_incoming
from apps.sources.mail.parsing import NotMail, parse_mail
from apps.workflows.models import Workflow

RAW = (
    "From: Jane <jane@farm.example>\nReply-To: pay@other.example\nTo: shop@shop.example\nSubject: Milk\n"
    "Message-ID: <2@farm.example>\nIn-Reply-To: <1@farm.example>\nDate: Mon, 30 Nov 2020 09:30:00 +0200\n\n"
    "Yes.\n\nOn 3 May 2020 Bob wrote:\n> Tea?\n\n-- \nJane\n"
)


def workflow(*, quoted: bool = False, signature: bool = False) -> Workflow:
    return Workflow(reads_quoted=quoted, reads_signature=signature)


def body(raw: str, **reads: bool) -> str:
    state = mail_to_incoming(parse_mail(raw.encode()), workflow=workflow(**reads)).state
    assert isinstance(state, dict)
    return str(state["body"])


def test_it_works() -> None:
    incoming = mail_to_incoming(parse_mail(RAW.encode()), workflow=workflow())
    assert incoming.state == {
        "from": "Jane <jane@farm.example>",
        "to": "shop@shop.example",
        "date": "2020-11-30 09:30+02:00",
        "subject": "Milk",
        "body": "Yes.",
    }
    assert (incoming.external_id, incoming.group, incoming.repairs) == (
        "2@farm.example",
        "1@farm.example",
        (),
    )


@pytest.mark.parametrize(
    ("quoted", "signature", "read"),
    [
        (True, False, "Yes.\n\nOn 3 May 2020 Bob wrote:\n> Tea?"),
        (False, True, "Yes.\n\n--\nJane"),
        (True, True, "Yes.\n\nOn 3 May 2020 Bob wrote:\n> Tea?\n\n--\nJane"),
    ],
)
def test_the_workflow_says_what_is_read(quoted: bool, signature: bool, read: str) -> None:
    assert body(RAW, quoted=quoted, signature=signature) == read


def test_rules_can_ask_for_headers() -> None:
    metadata = mail_to_incoming(parse_mail(RAW.encode()), workflow=workflow()).metadata
    assert metadata["from_domain"] == "farm.example"
    assert (metadata["reply_to"], metadata["reply_to_differs"]) == ("pay@other.example", True)
    assert (metadata["message_id"], metadata["in_reply_to"]) == ("2@farm.example", "1@farm.example")
    assert (metadata["auto_reply"], metadata["is_bounce"], metadata["list_id"]) == (False, False, "")
    assert (metadata["has_attachments"], metadata["attachment_count"]) == (False, 0)


def test_a_mail_without_a_text_can_be_taken() -> None:
    incoming = mail_to_incoming(parse_mail(b"X-Only: this\n\n"), workflow=workflow())
    assert incoming.state == {"body": NO_TEXT}
    assert check_incoming(incoming) == []


@pytest.mark.parametrize("text", ["milk and cheese\n" * 100_000, "ä\n" * 600_000, '"\\\t' * 500_000])
def test_the_head_of_a_long_text_is_read_and_the_rest_kept(text: str) -> None:
    raw = f"Subject: x\nContent-Type: text/plain; charset=utf-8\n\n{text}".encode()
    incoming = mail_to_incoming(parse_mail(raw), workflow=workflow())
    assert check_incoming(incoming) == []
    assert incoming.repairs[-1].startswith("The text was too long: the model reads the first ")
    assert incoming.mail is not None
    assert len("".join(part["text"] for part in incoming.mail.parts)) >= len(text.strip()) - 1
    assert len(incoming.text.encode()) > limits.MAX_STATE_BYTES // 3


SCRAPS = [
    *(
        b"\n",
        b"\n\n",
        b"--",
        b"--B\n",
        b"--B--\n",
        b"text",
        b"From: a@b.example\n",
        b"Subject: =?utf-8?B?w6Q=?=",
        b"=?",
    ),
    *(
        b"Content-Type: multipart/mixed; boundary=B\n\n",
        b"Content-Type: message/rfc822\n\n",
        b"; charset=\xff",
    ),
    *(
        b"Content-Type: text/html\n\n<p>",
        b"Content-Transfer-Encoding: base64\n",
        b"Content-Transfer-Encoding: \xfe\n",
    ),
    *(
        b"\x00",
        b"\xed\xa0\x80",
        b'"',
        b"(",
        b"<",
        b"Date: Mon, 99\n",
        b"Content-Disposition: attachment; filename*0*=",
    ),
]


@given(st.lists(st.sampled_from(SCRAPS), max_size=25))
def test_whatever_is_read_can_be_stored(scraps: list[bytes]) -> None:
    try:
        incoming = mail_to_incoming(parse_mail(b"Subject: x" + b"".join(scraps)), workflow=workflow())
    except NotMail:
        return
    assert check_incoming(incoming) == []
    assert incoming.mail is not None
    shown = [
        *(list(incoming.repairs), list(map(list, incoming.mail.headers)), incoming.mail.html),
        *([dict(part) for part in incoming.mail.parts], [each.name for each in incoming.attachments]),
    ]
    assert list(unstorable_paths(shown, "mail")) == []
