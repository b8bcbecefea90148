"""How many people look at a task, and how their answers become one: the rules in force, and changing them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, Q, QuerySet

from apps.accounts.models import User
from apps.core.errors import FieldProblem, InvalidInput
from apps.policies.models import Policy
from apps.reviews.drawing import Drawn, draw_opinions
from apps.reviews.models import ReviewRules, ReviewTask, TaskEvent
from apps.reviews.models_rules import MOST_OPINIONS
from apps.routing.draw import draws_for, second_draw
from apps.workflows.models import Question, Workflow

CHUNK = 500
"""Open tasks changed in one transaction, so that nobody's next item waits for all of them."""


@dataclass(frozen=True, slots=True)
class RulesChange:
    """As ReviewRules has them; `second_share` in [0, 1]. Labels that want one opinion need no entry."""

    wanted: int
    wanted_by_label: Mapping[str, int]
    second_share: float
    most: int
    consensus: str


def rules_in_force(workflow: Workflow) -> ReviewRules:
    """The newest; where there never were any, one opinion as an unsaved row."""
    newest = ReviewRules.objects.filter(workflow=workflow).order_by("-id").first()
    return newest or ReviewRules(workflow=workflow)


def change_rules(*, workflow: Workflow, user: User, change: RulesChange, now: datetime) -> ReviewRules:
    """Puts the rules in force for new tasks, and for open ones that nobody has ever had on a desk.

    The open ones follow in transactions of their own; the row says how many changed and how many were left alone.
    Raises InvalidInput naming each number out of bounds.
    """
    _check(workflow, change)
    rules = ReviewRules.objects.create(
        workflow=workflow,
        wanted=change.wanted,
        wanted_by_label={label: n for label, n in change.wanted_by_label.items() if n > 1},
        second_share=change.second_share,
        most=change.most,
        consensus=change.consensus,
        created_by=user,
        created_at=now,
    )
    shares = dict(
        Policy.objects.filter(workflow=workflow).values_list("pk", "rules__blind_share"),
    )
    for ids in _chunks(_unseen(workflow)):
        _redraw(rules, ids, shares, user, now)
    still_open = ReviewTask.objects.filter(workflow=workflow, status=ReviewTask.Status.OPEN)
    rules.left_alone = still_open.exclude(_UNSEEN).count()
    rules.save(update_fields=["left_alone"])
    rules.refresh_from_db()
    return rules


def _check(workflow: Workflow, change: RulesChange) -> None:
    problems = []
    if not 1 <= change.most <= MOST_OPINIONS:
        problems.append(FieldProblem("most", f"must be from 1 to {MOST_OPINIONS}"))
    if not 1 <= change.wanted <= change.most:
        problems.append(FieldProblem("wanted", f"must be from 1 to {change.most}, the most there may be"))
    if not 0 <= change.second_share <= 1:
        problems.append(FieldProblem("second_share", "must be from 0 to 100 %"))
    if change.second_share > 0 and change.most < 2:
        problems.append(FieldProblem("second_share", "needs two opinions at most, or more"))
    if change.consensus not in ReviewRules.Consensus.values:
        problems.append(
            FieldProblem("consensus", f"must be one of {', '.join(ReviewRules.Consensus.values)}")
        )
    known = routing_labels(workflow)
    for label, wanted in change.wanted_by_label.items():
        if label not in known:
            problems.append(FieldProblem(f"wanted_by_label.{label}", "is not a label"))
        elif not 1 <= wanted <= change.most:
            problems.append(FieldProblem(f"wanted_by_label.{label}", f"must be from 1 to {change.most}"))
    if problems:
        raise InvalidInput(*problems)


def routing_labels(workflow: Workflow) -> dict[str, str]:
    """Names by id of what the question that picks the action may be answered with now."""
    question = Question.objects.filter(
        question_set__workflow=workflow, question_set__is_current=True, is_routing=True
    ).first()
    return question.option_names if question else {}


_UNSEEN = Q(stage=ReviewTask.Stage.REVIEW, times_opened=0, reviews_done=0)


def _unseen(workflow: Workflow) -> QuerySet[ReviewTask]:
    return ReviewTask.objects.filter(_UNSEEN, workflow=workflow, status=ReviewTask.Status.OPEN)


def _chunks(tasks: QuerySet[ReviewTask]) -> Iterator[list[int]]:
    last = 0
    while ids := list(tasks.filter(pk__gt=last).order_by("pk").values_list("pk", flat=True)[:CHUNK]):
        yield ids
        last = ids[-1]


class _Row(NamedTuple):
    pk: int
    kind: str
    wanted: int
    blind: bool
    blind_pi: float
    external_id: str
    label: str | None
    decision_id: int | None
    policy_id: int


_COLUMNS = (
    "pk", "kind", "reviews_wanted", "blind", "blind_pi", "item__external_id", "route__label", "route__decision",
    "route__policy",
)  # fmt: skip
_TELL = """
INSERT INTO reviews_taskevent (task_id, kind, user_id, note, created_at)
SELECT unnest(%s::bigint[]), %s, %s, %s, %s
"""


@transaction.atomic
def _redraw(
    rules: ReviewRules, ids: list[int], shares: Mapping[int, float], user: User, now: datetime
) -> None:
    # Whoever is taking one up this moment has it as it is.
    tasks = _unseen(rules.workflow).filter(pk__in=ids).select_for_update(of=("self",), skip_locked=True)
    alike: dict[tuple[Drawn, int], list[int]] = defaultdict(list)
    for row in map(_Row._make, tasks.values_list(*_COLUMNS)):
        drawn = _drawn(rules, row, shares)
        if drawn != (row.wanted, row.blind, row.blind_pi):
            alike[drawn, row.wanted].append(row.pk)
    for (drawn, before), same in alike.items():
        ReviewTask.objects.filter(pk__in=same).update(
            reviews_wanted=drawn.wanted,
            reviews_needed=drawn.wanted,
            blind=drawn.blind,
            blind_pi=drawn.blind_pi,
        )
        if drawn.wanted != before:
            _tell(
                same,
                f"{drawn.wanted} {'answer' if drawn.wanted == 1 else 'answers'} instead of {before}",
                user,
                now,
            )
    changed = sum(len(same) for (drawn, before), same in alike.items() if drawn.wanted != before)
    ReviewRules.objects.filter(pk=rules.pk).update(changed_open=F("changed_open") + changed)


def _tell(task_ids: list[int], note: str, user: User, now: datetime) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_TELL, [task_ids, TaskEvent.Kind.MORE_OPINIONS, user.pk, note, now])


def _drawn(rules: ReviewRules, row: _Row, shares: Mapping[int, float]) -> Drawn:
    key, slug = settings.SECRET_KEY.encode(), rules.workflow.slug
    # As routing read it when it made the task; where the model could not answer there was nothing to hide.
    share = 0.0 if row.decision_id is None else shares[row.policy_id]
    return draw_opinions(
        rules,
        label=row.label,
        blind_share=share if row.kind == ReviewTask.Kind.ROUTINE else 1.0,
        blind=draws_for(key, slug, row.external_id).blind,
        second=second_draw(key, slug, row.external_id),
    )
