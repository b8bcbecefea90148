"""What several people's answers come to: pure, from the reviews in force alone, so that an answer taken back leaves
no trace and nothing has to be counted up or down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

Votes: TypeAlias = Mapping[str, str | None]
"""A value for each question that was answered; None is "none of these". "Cannot tell" is no vote: no entry."""


class Rule(StrEnum):
    """How opinions become one; `Terms.most` is about `majority` alone."""

    UNANIMOUS = "unanimous"
    MAJORITY = "majority"
    SENIOR = "senior"


class Stage(StrEnum):
    REVIEW = "review"
    ESCALATED = "escalated"
    ADJUDICATION = "adjudication"


@dataclass(frozen=True, slots=True)
class Opinion:
    """A review in force. `decides`: given by who was called to decide, so nobody else's counts beside it."""

    votes: Votes
    is_senior: bool = False
    decides: bool = False


@dataclass(frozen=True, slots=True)
class Terms:
    """What a task asks of people: `wanted` independent opinions on the questions `asked`, at most `most`."""

    asked: tuple[str, ...]
    wanted: int = 1
    most: int = 3
    rule: Rule = Rule.MAJORITY
    is_escalated: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """`values` are settled answers by question, of a task that is done; one that is not in it nobody could tell.

    `needed` opinions close the task as things stand, those given included.
    """

    is_done: bool
    stage: Stage
    needed: int
    values: Votes = field(default_factory=dict)


class _Open(StrEnum):
    MORE = "more"
    DISPUTED = "disputed"


_Settled: TypeAlias = tuple[str | None]


def verdict_on(terms: Terms, opinions: Sequence[Opinion]) -> Verdict:
    """Whether the task is done and with which answers, else who must look next. `opinions` in any order."""
    deciding = [each for each in opinions if each.decides]
    given, needed = len(opinions), max(terms.wanted, len(opinions))
    stage = Stage.ESCALATED if terms.is_escalated else Stage.REVIEW
    if deciding:
        votes = [vote for each in deciding for vote in each.votes.items()]
        return Verdict(True, Stage.ADJUDICATION, needed, dict(votes))
    if given < terms.wanted or (terms.is_escalated and terms.wanted > 1):
        return Verdict(False, stage, max(terms.wanted, given + (1 if terms.is_escalated else 0)))
    if terms.wanted == 1 and given == 1 and opinions[0].is_senior:
        # A senior's "cannot tell" is the last word: there is nobody above to ask.
        return Verdict(True, stage, 1, _asked_of(opinions[0].votes, terms) | _unasked(terms, opinions))
    found = {key: _on_question(terms, opinions, key) for key in terms.asked}
    if _Open.DISPUTED in found.values():
        return Verdict(False, Stage.ADJUDICATION, given + 1)
    if _Open.MORE in found.values():
        return Verdict(False, stage, given + 1)
    settled = {key: each[0] for key, each in found.items() if isinstance(each, tuple)}
    return Verdict(True, stage, needed, settled | _unasked(terms, opinions))


def _on_question(terms: Terms, opinions: Sequence[Opinion], key: str) -> _Settled | _Open:
    votes = [each.votes[key] for each in opinions if key in each.votes]
    same = _same(votes) if len(votes) == len(opinions) else None
    match terms.rule:
        case Rule.UNANIMOUS:
            return same or _Open.DISPUTED
        case Rule.SENIOR:
            return _same(each.votes[key] for each in opinions if each.is_senior and key in each.votes) or (
                same or _Open.DISPUTED
            )
        case Rule.MAJORITY:
            return _majority(votes, len(opinions), terms)


def _majority(votes: Sequence[str | None], given: int, terms: Terms) -> _Settled | _Open:
    """One more person is asked only while that many more could still bring more than half together."""
    value, most_votes = Counter(votes).most_common(1)[0] if votes else (None, 0)
    if 2 * most_votes > given:
        return (value,)
    left = terms.most - given
    can_still_win = left > 0 and 2 * (most_votes + left) > terms.most
    return _Open.MORE if can_still_win and terms.wanted > 1 else _Open.DISPUTED


def _same(votes: Iterable[str | None]) -> _Settled | None:
    values = set(votes)
    return (values.pop(),) if len(values) == 1 else None


def _asked_of(votes: Votes, terms: Terms) -> dict[str, str | None]:
    return {key: value for key, value in votes.items() if key in terms.asked}


def _unasked(terms: Terms, opinions: Sequence[Opinion]) -> dict[str, str | None]:
    """Questions answered though nobody asked: settled where all who did said the same."""
    keys = {key for each in opinions for key in each.votes} - set(terms.asked)
    found = {key: _same(each.votes[key] for each in opinions if key in each.votes) for key in sorted(keys)}
    return {key: value[0] for key, value in found.items() if value is not None}
