"""What people say is missing among the options, and why they could not tell: for whoever writes the questions."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.db.models import Exists, OuterRef

from apps.accounts.models import User
from apps.items.models import Item
from apps.reviews.models import Answer, ReviewTask
from apps.reviews.selectors import hidden_from
from apps.workflows.models import Workflow

MOST_READ = 2_000
_MOST_ITEMS = 5


@dataclass(slots=True)
class Said:
    """The same words, whatever their case, to one question. `items`: the newest few they were said about."""

    question: str
    text: str
    count: int = 0
    items: list[Item] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Words:
    """The most frequent first. `is_cut`: older answers were not read."""

    proposed: tuple[Said, ...]
    untold: tuple[Said, ...]
    is_cut: bool


def what_people_said(*, user: User, workflow: Workflow) -> Words:
    """Of the newest 2,000 answers that said something, without those `user` may not see yet."""
    hidden = ReviewTask.objects.filter(hidden_from(user), pk=OuterRef("review__task"))
    answers = list(
        Answer.objects.exclude(said="")
        .filter(review__task__workflow=workflow, review__taken_back_at=None)
        .exclude(Exists(hidden))
        .select_related("question", "review__task__item")
        .order_by("-id")[: MOST_READ + 1]
    )
    found: dict[tuple[str, str, str], Said] = {}
    for answer in answers[:MOST_READ]:
        key = (answer.kind, answer.question.key, answer.said.casefold())
        said = found.setdefault(key, Said(answer.question.key, answer.said))
        said.count += 1
        if len(said.items) < _MOST_ITEMS and answer.review.task.item not in said.items:
            said.items.append(answer.review.task.item)
    return Words(
        proposed=_of_kind(found, Answer.Kind.NONE_OF_THESE),
        untold=_of_kind(found, Answer.Kind.CANNOT_TELL),
        is_cut=len(answers) > MOST_READ,
    )


def _of_kind(found: dict[tuple[str, str, str], Said], kind: str) -> tuple[Said, ...]:
    return tuple(
        sorted((said for key, said in found.items() if key[0] == kind), key=lambda said: -said.count)
    )
