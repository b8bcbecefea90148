"""A mailbox of a real Dovecot is read: each mail once, whatever happens, and nothing in it is changed."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from apps.items.models import Item
from apps.pipeline import limits
from apps.sources.mailbox.claims import claim_mailbox
from apps.sources.mailbox.looking import BATCH_MAILS, MOST_TRIES, WINDOW, look_at_next_mailbox
from apps.sources.models import Delivery, Source
from apps.workflows.models import Workflow
from tests.factories import NOW
from tests.sources.mailbox.conftest import due, dying_after, mail, make_mailbox
from tests.sources.mailbox.dovecot import MailServerUser

pytestmark = pytest.mark.slow


def look(source: Source) -> Source:
    look_at_next_mailbox(now=lambda: NOW)
    source.refresh_from_db()
    return source


def test_it_works(ann: MailServerUser, desk: Source) -> None:
    ann.put(mail(1), mail(2))
    look(desk)
    items = Item.objects.order_by("external_id")
    assert [(each.external_id, each.source, each.title) for each in items] == [
        ("1@farm.example", "imap", "Order 1"),
        ("2@farm.example", "imap", "Order 2"),
    ]
    assert (desk.looked_at, desk.next_look_at, desk.claim_token) == (NOW, NOW + timedelta(seconds=60), None)
    assert (desk.cursor["read"], desk.cursor["new"], desk.error) == (2, 2, "")


@pytest.mark.slow
def test_three_hundred_once_and_new_ones_later(ann: MailServerUser, desk: Source) -> None:
    ann.put(*(mail(number) for number in range(300)))
    look(desk)
    assert Item.objects.count() == 300
    assert not look_at_next_mailbox(now=lambda: NOW)  # not due
    ann.put(mail(300))
    look(due(desk))
    assert (Item.objects.count(), desk.cursor["read"], desk.cursor["folders"]["INBOX"]["mails"]) == (
        301,
        301,
        301,
    )


def test_nothing_is_marked(ann: MailServerUser, desk: Source) -> None:
    ann.put(mail(1))
    ann.put(mail(2), flags=[b"\\Flagged", b"\\Seen"])
    before = ann.flags()
    look(desk)
    assert ann.flags() == before
    assert before[0] - {b"\\Recent"} == set()
    assert Item.objects.count() == 2


def test_an_empty_folder(desk: Source) -> None:
    assert (look(desk).error, desk.cursor["read"], desk.looked_at) == ("", 0, NOW)


def test_folders_of_any_script(ann: MailServerUser, workflow: Workflow) -> None:
    names = ["INBOX", "Müllabfuhr & Söhne", "بريد"]
    for number, name in enumerate(names):
        if number:
            ann.client.create_folder(name)
        ann.put(mail(number), folder=name)
    desk = look(make_mailbox(workflow, ann, folders=names))
    assert (desk.error, Item.objects.count(), set(desk.cursor["folders"])) == ("", 3, set(names))


def test_older_mail_is_left_where_the_source_says_so(ann: MailServerUser, workflow: Workflow) -> None:
    ann.client.append("INBOX", mail(1), msg_time=NOW - timedelta(days=900))
    ann.client.append("INBOX", mail(2), msg_time=NOW)
    look(make_mailbox(workflow, ann, since="2026-11-01"))
    assert Item.objects.get().external_id == "2@farm.example"


@pytest.mark.slow
def test_in_slices(ann: MailServerUser, desk: Source) -> None:
    ann.put(*(mail(number) for number in range(2 * BATCH_MAILS + 3)))
    for read in (BATCH_MAILS, 2 * BATCH_MAILS):  # a clock by which time passes as mails come in
        look_at_next_mailbox(now=lambda: NOW, slice_s=10, clock=lambda: float(Item.objects.count()))
        desk.refresh_from_db()
        assert (desk.cursor["read"], desk.next_look_at, desk.claim_token) == (read, NOW, None)
    look(desk)
    assert (Item.objects.count(), desk.next_look_at == NOW) == (2 * BATCH_MAILS + 3, False)


def test_numbers_with_large_gaps(ann: MailServerUser, desk: Source) -> None:
    ann.put(mail(1))
    ann.skip_to(3 * WINDOW + 7)
    ann.put(mail(2))
    look(desk)
    assert (desk.cursor["read"], desk.cursor["folders"]["INBOX"]["uid"]) == (2, 3 * WINDOW + 7)


@pytest.mark.slow
def test_a_killed_worker_doubles_nothing(ann: MailServerUser, desk: Source) -> None:
    ann.put(*(mail(number) for number in range(2 * BATCH_MAILS + 20)))
    with pytest.raises(SystemExit):
        look_at_next_mailbox(now=dying_after(4))
    assert 0 < Item.objects.count() < 120
    assert not look_at_next_mailbox(now=lambda: NOW)  # its claim holds still
    Source.objects.update(claimed_until=timezone.now() - timedelta(seconds=1))
    look(desk)
    assert (Item.objects.count(), desk.cursor["read"], desk.cursor["new"]) == (120, 120, 120)


@pytest.mark.parametrize("moment", range(1, 6))
def test_a_mail_that_is_deleted_meanwhile(ann: MailServerUser, desk: Source, moment: int) -> None:
    ann.put(mail(1), mail(2), mail(3))
    moments = iter(range(100))

    def clock() -> float:
        if next(moments) == moment:
            ann.delete(2)
        return 0.0

    look_at_next_mailbox(now=lambda: NOW, clock=clock)
    desk.refresh_from_db()
    assert (desk.error, desk.cursor["folders"]["INBOX"]["uid"]) == ("", 3)
    assert {"1@farm.example", "3@farm.example"} <= set(Item.objects.values_list("external_id", flat=True))


def test_another_uidvalidity_starts_over(ann: MailServerUser, workflow: Workflow) -> None:
    ann.client.create_folder("Orders")
    ann.put(mail(1), mail(2), folder="Orders")
    desk = look(make_mailbox(workflow, ann, folders=["Orders"]))
    ann.client.delete_folder("Orders")
    ann.client.create_folder("Orders")
    ann.put(mail(2), mail(3), folder="Orders")
    before = desk.cursor["folders"]["Orders"]["validity"]
    look(due(desk))
    assert desk.cursor["folders"]["Orders"]["validity"] != before
    assert (Item.objects.count(), desk.cursor["read"], desk.cursor["new"]) == (3, 4, 3)


def test_what_is_no_mail_or_broken_stops_nothing(ann: MailServerUser, desk: Source) -> None:
    broken = mail(2).replace(b"text/plain", b'multipart/mixed; boundary="x"') + b"\r\n--x\r\n\xff\xfe\x00"
    ann.put(mail(1), b"PK\x03\x04" + b"\x07" * 500, broken.replace(b"\x00", b"?"), mail(3))
    look(desk)
    delivery = Delivery.objects.get()
    assert sorted(Item.objects.values_list("external_id", flat=True)) == [
        f"{number}@farm.example" for number in (1, 2, 3)
    ]
    assert (delivery.status, delivery.note.startswith("Mail 2 of INBOX: ")) == ("refused", True)
    assert (desk.cursor["read"], desk.cursor["refused"], desk.error) == (4, 1, "")


@pytest.mark.slow
def test_one_that_is_too_large_is_named_and_not_fetched(ann: MailServerUser, desk: Source) -> None:
    ann.put(mail(1), mail(2, ("x" * 998 + "\r\n") * (limits.MAX_MAIL_BYTES // 999)), mail(3))
    look(desk)
    delivery = Delivery.objects.get()
    assert (Item.objects.count(), desk.cursor["refused"], delivery.sha256) == (2, 1, "")
    assert delivery.note.startswith("Mail 2 of INBOX “Order 2”: has 36,7")


def test_only_one_worker_claims(desk: Source) -> None:
    assert claim_mailbox(now=NOW) is not None
    assert claim_mailbox(now=NOW) is None


def test_a_paused_one_is_not_looked_at(ann: MailServerUser, desk: Source) -> None:
    ann.put(mail(1))
    Source.objects.update(is_paused=True)
    assert not look_at_next_mailbox(now=lambda: NOW)
    Source.objects.update(is_paused=False)
    assert look(desk).cursor["new"] == 1


def test_who_lost_the_claim_writes_nothing(ann: MailServerUser, desk: Source) -> None:
    ann.put(mail(1))

    def now() -> object:
        Source.objects.filter(claim_token__isnull=False).update(claim_token=None)
        return NOW

    look_at_next_mailbox(now=now)  # type: ignore[arg-type]  # any object will do: nothing is written
    desk.refresh_from_db()
    assert (Item.objects.count(), desk.cursor["read"], desk.looked_at) == (0, 0, None)


POISON = """
    CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'broken'; END $$;
    CREATE TRIGGER poison BEFORE INSERT ON items_item FOR EACH ROW WHEN (NEW.external_id LIKE 'poison%%')
    EXECUTE FUNCTION poison();
"""


def test_a_mail_that_breaks_everything_is_refused_in_the_end(ann: MailServerUser, desk: Source) -> None:
    with connection.cursor() as cursor:
        cursor.execute(POISON.replace("%%", "%"))
    ann.put(mail(1), mail(2).replace(b"<2@", b"<poison@"), mail(3))
    for _ in range(MOST_TRIES + 3):
        look(due(desk))
    assert (Item.objects.count(), desk.error, desk.failures_in_a_row) == (2, "", 0)
    assert Delivery.objects.get().note == f"Mail 2 of INBOX: could not be read in {MOST_TRIES} tries"
