"""Two collections of real and of broken mail: what is taken, repaired, refused. Run with -s to see the table."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from apps.items.models import Item, Mail
from apps.sources.mail.adding import add_mails
from apps.sources.mail.parsing import NotMail, ParsedMail, parse_mail
from apps.workflows.models import Workflow

SHARED = Path(__file__).resolve().parents[4] / "shared" / "data"
FOLDERS = {
    "spamassassin": SHARED / "emails-spamassassin" / "eml",
    **{name: SHARED / "emails-mime-fixtures" / name for name in ("mikel-mail", "flanker", "python-email")},
}
NOW = datetime(2026, 11, 30, 9, tzinfo=UTC)
NOT_MAILS = set[tuple[str, str]]()

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not SHARED.is_dir(), reason="the collections are not beside the project"),
]


def files(folder: str) -> Iterator[Path]:
    yield from sorted(FOLDERS[folder].glob("*.eml"))


@pytest.fixture(scope="module")
def read() -> dict[tuple[str, str], ParsedMail | NotMail]:
    found: dict[tuple[str, str], ParsedMail | NotMail] = {}
    for folder in FOLDERS:
        for path in files(folder):
            try:
                found[folder, path.name] = parse_mail(path.read_bytes(), now=NOW)
            except NotMail as error:
                found[folder, path.name] = error
    return found


def test_it_works(read: dict[tuple[str, str], ParsedMail | NotMail]) -> None:
    print(f"\n{'folder':<14}{'mails':>6}{'as they are':>13}{'repaired':>10}{'refused':>9}")  # noqa: T201  the table
    for folder in FOLDERS:
        mails = [mail for (where, _), mail in read.items() if where == folder]
        refused = sum(isinstance(mail, NotMail) for mail in mails)
        repaired = sum(isinstance(mail, ParsedMail) and bool(mail.repairs) for mail in mails)
        print(f"{folder:<14}{len(mails):>6}{len(mails) - refused - repaired:>13}{repaired:>10}{refused:>9}")  # noqa: T201
        sentences = Counter(
            sentence for mail in mails if isinstance(mail, ParsedMail) for sentence in mail.repairs
        )
        for sentence, count in sentences.most_common():
            print(f"{'':<14}{count:>4} × {sentence}")  # noqa: T201
    for where, mail in read.items():
        if isinstance(mail, NotMail):
            print("refused:", *where, mail.reason)  # noqa: T201
    assert len(read) == 551


def test_nothing_is_refused_that_a_mail_program_opens(
    read: dict[tuple[str, str], ParsedMail | NotMail],
) -> None:
    assert {where for where, mail in read.items() if isinstance(mail, NotMail)} == NOT_MAILS


def test_subjects_are_those_the_collection_names(read: dict[tuple[str, str], ParsedMail | NotMail]) -> None:
    with (SHARED / "emails-spamassassin" / "labels.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    differing = []
    for row in rows:
        mail = read["spamassassin", Path(row["file"]).name]
        assert isinstance(mail, ParsedMail)
        if _letters(mail.subject) != _letters(row["subject"]):
            differing.append((row["file"], row["subject"], mail.subject))
    assert not differing


def _letters(text: str) -> str:
    """What its makers could not decode they left as replacement characters or as it stood."""
    return "".join(re.findall(r"[A-Za-z0-9]+", text))[:60]


WORDS = [
    # shift-jis without a word about it
    ("spamassassin", "msg-0158.eml", "132作品"),
    # iso-2022-jp
    ("spamassassin", "msg-0171.eml", "突然のメール失礼いたします"),
    # gb2312, quoted-printable or base64
    ("spamassassin", "msg-0210.eml", "您好"),
    # big5
    ("spamassassin", "msg-0261.eml", "電子郵件"),
    # iso-8859-9 in HTML
    ("spamassassin", "msg-0234.eml", "İNTERNETTE KENDİNİZİ DAHA İYİ"),
    # 8 bits that are said to be 7
    ("spamassassin", "msg-0207.eml", "Hotel Chicago-Northshore"),
    # a boundary that is not the declared one
    ("spamassassin", "msg-0272.eml", "Incredible Deals"),
    ("mikel-mail", "multi_charset_japanese_shift_jis.eml", "今後ともよろしくお願い申し上げます"),
    ("mikel-mail", "plain_emails_raw_email.eml", "대부분의 마찬가지로"),
    ("mikel-mail", "mime_emails_raw_email_with_illegal_boundary.eml", "This is an outlook test"),
    ("flanker", "bilingual-simple.eml", "А эта линия по-русски"),
    ("flanker", "mailgun-pic.eml", "Мейлган"),
    ("python-email", "msg_31.eml", "message 2"),
    ("python-email", "msg_35.eml", "no separating newline here"),
]


@pytest.mark.parametrize(("folder", "name", "words"), WORDS)
def test_texts_hold_their_words(
    read: dict[tuple[str, str], ParsedMail | NotMail], folder: str, name: str, words: str
) -> None:
    mail = read[folder, name]
    assert isinstance(mail, ParsedMail)
    assert words in "".join(piece.text for piece in mail.pieces)


@pytest.mark.django_db
def test_all_can_be_stored_and_a_second_time_changes_nothing(
    workflow: Workflow, read: dict[tuple[str, str], ParsedMail | NotMail]
) -> None:
    mails = [mail for mail in read.values() if isinstance(mail, ParsedMail)]
    first = [add(workflow, mails[start : start + 50]) for start in range(0, len(mails), 50)]
    assert sum(created for created, _ in first) == Item.objects.count() == Mail.objects.count()
    stored = Item.objects.count()
    again = [add(workflow, mails[start : start + 50]) for start in range(0, len(mails), 50)]
    assert (sum(created for created, _ in again), Item.objects.count()) == (0, stored)
    # What was recognised as there already bears the same Message-ID and reads the same.
    assert stored >= len({(mail.external_id, mail.subject, mail.pieces) for mail in mails})


def add(workflow: Workflow, mails: list[ParsedMail]) -> tuple[int, int]:
    intake = add_mails(workflow=workflow, mails=mails, source="mail", now=NOW)
    assert intake.refused == ()
    return intake.created, intake.existing
