"""Looks at mailboxes: what is new becomes items, each mail once, whatever breaks off in between.

How far a folder is read is committed together with the mails. A look ends after `SLICE_S`, and the next one goes on;
within a look a lost connection is made anew as long as each one brings something.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog
from django.db import transaction

from apps.core.errors import FermataError
from apps.core.secrets import secret
from apps.pipeline import limits
from apps.sources.mailbox.claims import Claim, ClaimLost, claim_mailbox, fail, finish, keep
from apps.sources.mailbox.connection import Mailbox
from apps.sources.mailbox.cursors import Cursor, Place
from apps.sources.mailbox.errors import ConnectionLost, MailboxError
from apps.sources.mailbox.settings import ImapSettings, imap_settings
from apps.sources.mailbox.taking import Batch, Refusal, read_batch, take, too_large

log = structlog.get_logger()
SLICE_S = 20.0
POLL = timedelta(seconds=60)
"""Until settings that cannot be read are looked at again, at first."""
WINDOW = 50_000
"""UIDs searched at once: their list is one line of the reply, which may have a million bytes."""
BATCH_MAILS = 50
BATCH_BYTES = 4 * 1024 * 1024
CAREFUL_TRIES, MOST_TRIES = 2, 6
"""Mails that were fetched so often in vain are fetched one by one, then the one that it is about is refused."""


def look_at_next_mailbox(
    *, now: Callable[[], datetime], slice_s: float = SLICE_S, clock: Callable[[], float] = time.monotonic
) -> bool:
    """One look, or a slice of it, at the mailbox that is due for longest; False when none is due."""
    claim = claim_mailbox(now=now())
    if claim is None:
        return False
    poll = POLL
    try:
        try:
            settings = imap_settings(claim.source)
            poll = timedelta(seconds=settings.poll_seconds)
            password = secret(settings.password_variable)
            ends = clock() + slice_s
            look = Look(claim, settings, now, lambda: clock() > ends, Cursor.of(claim.source.cursor))
            _look(look, password)
        except ClaimLost:
            raise
        except FermataError as error:
            fail(claim, str(error), now=now(), poll=poll)
        except Exception as error:
            log.exception("mailbox_broke", source=claim.source.pk)
            fail(claim, f"{type(error).__name__} while it was read.", now=now(), poll=poll)
    except ClaimLost:
        log.info("mailbox_claim_lost", source=claim.source.pk)
    return True


def _look(look: Look, password: str) -> None:
    while not look.is_over:
        mailbox = Mailbox(look.settings, password)
        try:
            with mailbox:
                look.go_on(mailbox)
        except ConnectionLost:
            if not mailbox.fetched:
                raise
    if look.problems and len(look.problems) == len(look.settings.folders):
        raise MailboxError(" ".join(look.problems.values()))
    now, poll = look.now(), timedelta(seconds=look.settings.poll_seconds)
    finish(
        look.claim,
        look.cursor.to_json(),
        now=now,
        next_look_at=now + poll if look.is_done else now,
        error=" ".join(look.problems.values()),
    )


@dataclass(slots=True)
class Plan:
    """What is known of a folder before its mails are fetched; it outlives a connection.

    `uids` up to `end` were found, `sized` is the beginning of them with their sizes.
    """

    validity: int
    end: int = 0
    uids: list[int] = field(default_factory=list)
    sized: list[tuple[int, int]] = field(default_factory=list)

    def group(self, *, is_single: bool) -> list[tuple[int, int]]:
        """What is fetched at once: never empty, and a mail that is too large stands alone."""
        size, count = self.sized[0][1], 1
        while not is_single and count < len(self.sized):
            size += self.sized[count][1]
            if size > BATCH_BYTES:
                break
            count += 1
        return self.sized[:count]


@dataclass(slots=True)
class Look:
    claim: Claim
    settings: ImapSettings
    now: Callable[[], datetime]
    is_late: Callable[[], bool]
    cursor: Cursor
    problems: dict[str, str] = field(default_factory=dict)
    _done: set[str] = field(default_factory=set)
    _plans: dict[str, Plan] = field(default_factory=dict)
    _is_paused: bool = False

    @property
    def is_done(self) -> bool:
        return self._done.issuperset(self.settings.folders)

    @property
    def is_over(self) -> bool:
        return self.is_done or self._is_paused or self.is_late()

    def go_on(self, mailbox: Mailbox) -> None:
        """A folder that cannot be read stops no other. Raises ConnectionLost."""
        for folder in dict.fromkeys(self.settings.folders):
            if folder in self._done:
                continue
            try:
                is_read = self._read(mailbox, folder)
            except ConnectionLost:
                raise
            except MailboxError as error:
                self.problems[folder] = str(error)
                is_read = True
            if not is_read:
                return
            self._done.add(folder)

    def _read(self, mailbox: Mailbox, folder: str) -> bool:
        """Whether nothing is left in it, for now."""
        seen = mailbox.examine(folder)
        place = self.cursor.place_in(folder, seen)
        plan = self._plans.get(folder)
        if plan is None or plan.validity != seen.validity:
            plan = self._plans[folder] = Plan(seen.validity)
        while place.uid < seen.newest:
            if plan.sized:
                self._take_group(mailbox, folder, place, plan)
            elif plan.uids:
                self._learn_sizes(mailbox, plan)
            elif place.uid < plan.end:
                place.passed(plan.end)
                self._keep()
            else:
                plan.end = min(place.uid + WINDOW, seen.newest)
                plan.uids = mailbox.uids(place.uid + 1, plan.end, self.settings.since_day)
            if self.is_over:
                break
        return place.uid >= seen.newest

    def _learn_sizes(self, mailbox: Mailbox, plan: Plan) -> None:
        some = plan.uids[:BATCH_MAILS]
        sizes = mailbox.sizes(some)
        plan.sized = [(uid, sizes[uid]) for uid in some if uid in sizes]
        plan.uids = plan.uids[BATCH_MAILS:]

    def _take_group(self, mailbox: Mailbox, folder: str, place: Place, plan: Plan) -> None:
        if place.tries == CAREFUL_TRIES and place.uid >= place.careful_to:
            place.careful_to = plan.sized[-1][0]
        group = plan.group(is_single=place.uid < place.careful_to)
        batch = self._fetched(mailbox, place, group)
        self._commit(folder, place, batch, group[-1][0])
        plan.sized = plan.sized[len(group) :]

    def _fetched(self, mailbox: Mailbox, place: Place, group: list[tuple[int, int]]) -> Batch:
        uid, size = group[0]
        if place.tries >= MOST_TRIES:
            return Batch(refusals=[Refusal(uid, f"could not be read in {MOST_TRIES} tries")])
        # Before it is tried: a worker may die over a mail.
        place.tries += 1
        self._keep()
        if size > limits.MAX_MAIL_BYTES:
            return Batch(refusals=[too_large(uid, size, mailbox.subject(uid))])
        return read_batch(mailbox.bodies([uid for uid, _ in group]), now=self.now())

    @transaction.atomic
    def _commit(self, folder: str, place: Place, batch: Batch, uid: int) -> None:
        source = self.claim.source
        taken = take(source, batch, folder=folder, validity=place.validity, now=self.now())
        self.cursor.read += taken.read
        self.cursor.new += taken.new
        self.cursor.refused += taken.refused
        source.failures_in_a_row = 0  # what fails from here on is the first failure
        place.passed(uid)
        self._keep()

    def _keep(self) -> None:
        self._is_paused = not keep(self.claim, self.cursor.to_json())
