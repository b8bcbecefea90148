"""The sample workflow `support` and its mailbox: mails as mail programs write them, each with its true answers."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from email import message_from_bytes, policy
from email.message import EmailMessage
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from apps import demo
from apps.clef.client import ClefClient
from apps.clef.local.server import StandIn
from apps.clef.types import EndpointSettings, ModelRequest
from apps.pipeline.setup import read_workflow_file
from apps.workflows.definitions import to_clef_question

FOLDER = Path(demo.__file__).parent / "samples" / "support"
FILE = read_workflow_file(FOLDER / "support.toml")
QUESTIONS = {question.key: question for question in FILE.definition.to_questions()}
PATHS = {path.name: path for path in sorted(FOLDER.glob("*.eml"))}
LABELS = [*csv.DictReader((FOLDER / "labels.csv").read_text(encoding="utf-8").splitlines())]


@cache
def mail(name: str) -> EmailMessage:
    return message_from_bytes(PATHS[name].read_bytes(), policy=policy.default)


def body(message: EmailMessage) -> str:
    part = message.get_body(("plain", "html"))
    assert part is not None
    text = part.get_content()
    assert isinstance(text, str)
    return re.sub("<[^>]+>", " ", text) if part.get_content_type() == "text/html" else text


def texts(message: EmailMessage) -> list[str]:
    """Every text in the mail, decoded, headers included."""
    parts = [part for part in message.walk() if part.get_content_maintype() == "text"]
    return [str(value) for value in message.values()] + [str(part.get_content()) for part in parts]


def override(name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(each for each in FILE.rules["overrides"] if each["id"] == name)
    return found


def runs_of_words(text: str, length: int) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", text.casefold())
    return {tuple(words[start : start + length]) for start in range(len(words) - length + 1)}


def test_it_works() -> None:
    assert FILE.definition.workflow.slug == "support"
    assert {key: question.kind for key, question in QUESTIONS.items()} == {
        "team": "choice",
        "urgent": "noul",
        "severity": "score",
    }
    assert [row["file"] for row in LABELS] == list(PATHS)


def test_true_answers_are_options() -> None:
    for row in LABELS:
        for key, question in QUESTIONS.items():
            assert row[key] in question.option_ids, row


def test_every_answer_occurs() -> None:
    for key, question in QUESTIONS.items():
        counts = Counter(row[key] for row in LABELS)
        assert min(counts[option] for option in question.option_ids) >= 4, key


def test_files_are_small() -> None:
    sizes = [path.stat().st_size for path in PATHS.values()]
    assert max(sizes) < 20_000
    assert sum(sizes) < 150_000


def test_mails_are_whole() -> None:
    for name in PATHS:
        assert mail(name)["From"].addresses[0].addr_spec, name
        assert mail(name)["Date"].datetime.year == 2026, name
        assert not mail(name).defects, name
        assert len(body(mail(name))) > 40, name


def test_one_mail_alone_hides_its_charset_and_id() -> None:
    assert [name for name in PATHS if "\ufffd" in body(mail(name))] == ["44-nightly-export.eml"]
    assert [name for name in PATHS if mail(name)["Message-ID"] is None] == ["44-nightly-export.eml"]
    assert "prüfen" in PATHS["44-nightly-export.eml"].read_text(encoding="utf-8")


def test_every_domain_is_reserved_for_examples() -> None:
    for name in PATHS:
        for domain in re.findall(r"(?:@|https?://)([\w-]+(?:\.[\w-]+)+)", "\n".join(texts(mail(name)))):
            assert domain.endswith((".example", ".test")), (name, domain)


def test_forms_that_mail_programs_write_are_among_them() -> None:
    parts = [part for name in PATHS for part in mail(name).walk()]
    types = {part.get_content_type() for part in parts}
    assert types >= {
        "text/calendar",
        "image/png",
        "application/pdf",
        "message/rfc822",
        "message/delivery-status",
    }
    assert types >= {"multipart/related", "multipart/report", "multipart/mixed", "multipart/alternative"}
    encodings = {str(part["Content-Transfer-Encoding"]) for part in parts}
    assert encodings >= {"base64", "quoted-printable", "7bit", "8bit"}
    charsets = {part.get_content_charset() for part in parts}
    assert charsets >= {"utf-8", "us-ascii", "iso-8859-1", "windows-1252", "windows-1255", "windows-1256"}


def test_some_lines_end_as_on_unix_and_most_as_in_mail() -> None:
    ends = Counter(b"\r\n" in path.read_bytes() for path in PATHS.values())
    assert ends[False] >= 3
    assert ends[True] >= 30


def test_threads() -> None:
    threads = Counter[str]()
    for name in PATHS:
        references = str(mail(name).get("References", "")).split()
        threads[references[0] if references else str(mail(name)["Message-ID"])] += 1
    assert sorted(size for size in threads.values() if size > 1) == [2, 2, 3, 3, 3]


def test_overrides_on_headers_meet_a_mail() -> None:
    assert any(mail(name)["Auto-Submitted"] for name in PATHS)
    assert any(mail(name)["List-Id"] for name in PATHS)
    domains = {mail(name)["From"].addresses[0].domain for name in PATHS}
    assert set(override("key-accounts")["value"]) <= domains
    fields = {each["field"] for each in FILE.rules["overrides"] if each["kind"] == "metadata"}
    assert fields == {"auto_reply", "list_id", "from_domain", "attachment_count"}


def test_no_mail_is_an_example() -> None:
    examples = [
        text for question in QUESTIONS.values() for each in question.options for text in each["examples"]
    ]
    shown = set().union(*(runs_of_words(text, 7) for text in examples))
    assert len(examples) > 100
    for name in PATHS:
        assert not shown & runs_of_words(body(mail(name)), 7), name


@pytest.fixture(scope="module")
def answered() -> dict[str, int]:
    """How many mails the stand-in answers right, by question: subject and whole body, as they came."""
    questions = tuple(map(to_clef_question, QUESTIONS.values()))
    right = Counter[str]()
    with StandIn() as standin, ClefClient(EndpointSettings("systemone", standin.url, "any")) as client:
        for row in LABELS:
            message = mail(row["file"])
            state = {"subject": str(message["Subject"]), "body": body(message)}
            answers = client.decide(ModelRequest(state, questions)).answers
            right.update(key for key in QUESTIONS if answers[key].top == row[key])
    return right


def test_the_stand_in_is_worth_asking(answered: dict[str, int]) -> None:
    assert answered["team"] / len(LABELS) >= 0.7, json.dumps(answered)
    assert answered["urgent"] / len(LABELS) >= 0.7, json.dumps(answered)
    assert answered["severity"] / len(LABELS) >= 0.5, json.dumps(answered)


def test_and_leaves_something_to_review(answered: dict[str, int]) -> None:
    assert all(right < len(LABELS) for right in answered.values())
