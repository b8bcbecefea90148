"""Do two people say the same, and do people follow the model? Of the answers to one question, as they were given."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection

from apps.accounts.models import User
from apps.calibration.counting.judged import ROUTES, Stretch
from apps.stats.agreement import Alpha, Kappa, answer_table, human_agreement, kappa, krippendorff_alpha
from apps.stats.anchoring import MIN_ANSWERS, Anchoring, anchoring, holm
from apps.stats.rates import Rate, unknown
from apps.workflows.models import Question

ONE_ANSWER = "no item was answered by two people"
_NONE = ""
_MOST_ITEMS = 20_000
_FEW_DAYS = 7


@dataclass(frozen=True, slots=True)
class PeopleAgree:
    """Section 1.2, over items that two people or more answered: raw agreement first, as kappa is low where one label
    is nearly always right. `kappa` compares an item's first two answers, with quadratic weights for a score; `alpha`
    takes all of them, as ordered for a score. Without such items all three are unknown."""

    items: int
    agreement: Rate
    kappa: Kappa
    alpha: Alpha


@dataclass(frozen=True, slots=True)
class PersonFollows:
    """One reviewer with at least 50 answers of each kind; `p` is adjusted for having looked at all of them (Holm)."""

    username: str
    anchoring: Anchoring
    p: float


@dataclass(frozen=True, slots=True)
class Following:
    """Section 1.6. Only reviews whose mode was drawn are compared: checks, shadow reviews and labels that always want
    several opinions are blind by rule.

    Medians are of visible answers, None where nothing was timed. `is_quick`: to accept takes under a third of the time
    of a correction, a second sign.
    """

    anchoring: Anchoring
    people: tuple[PersonFollows, ...]
    accept_s: float | None
    correct_s: float | None

    @property
    def is_quick(self) -> bool:
        return self.accept_s is not None and self.correct_s is not None and self.accept_s < self.correct_s / 3


_ANSWERS = f"""
FROM reviews_answer answer
JOIN reviews_review review ON review.id = answer.review_id AND review.taken_back_at IS NULL
JOIN reviews_reviewtask task ON task.id = review.task_id
JOIN items_routecolumns columns ON columns.route_id = task.route_id
WHERE {ROUTES} AND answer.question_id = %(question)s AND answer.kind <> 'cannot_tell'
    AND answer.is_asked AND NOT review.is_adjudication
"""
# The same of a few days: from what people did in them, each by its key, so that nothing else is read, however the
# planner judges the tables. Neither a task nor a review is older than its route.
_SINCE = "each.created_at >= (%(start_on)s::date::timestamp AT TIME ZONE %(zone)s)"
_IN_FORCE = "each.taken_back_at IS NULL AND NOT each.is_adjudication"
_BY_KEY = f"""
CROSS JOIN LATERAL (
    SELECT * FROM items_routecolumns each WHERE each.route_id = task.route_id OFFSET 0
) columns
CROSS JOIN LATERAL (
    SELECT * FROM reviews_answer each WHERE each.review_id = review.id AND each.question_id = %(question)s
        AND each.kind <> 'cannot_tell' AND each.is_asked OFFSET 0
) answer
WHERE {ROUTES}
"""  # noqa: S608 - put together from constants; what comes from outside are parameters
_ANSWERS_OF_DAYS = f"""
FROM accounts_user person
CROSS JOIN LATERAL (
    SELECT * FROM reviews_review each WHERE each.user_id = person.id AND {_SINCE} AND {_IN_FORCE} OFFSET 0
) review
CROSS JOIN LATERAL (
    SELECT * FROM reviews_reviewtask each
    WHERE each.id = review.task_id AND each.workflow_id = %(workflow)s OFFSET 0
) task {_BY_KEY}
"""  # noqa: S608 - as above
_SEVERAL_OF_DAYS = f"""
FROM (
    SELECT * FROM reviews_reviewtask each
    WHERE each.workflow_id = %(workflow)s AND each.reviews_done > 1 AND {_SINCE} OFFSET 0
) task
CROSS JOIN LATERAL (
    SELECT * FROM reviews_review each WHERE each.task_id = task.id AND {_IN_FORCE} OFFSET 0
) review {_BY_KEY}
"""  # noqa: S608 - as above
_TWICE = """
SELECT array_agg(coalesce(answer.value, '') ORDER BY review.id) {answers} AND task.reviews_done > 1
GROUP BY task.id HAVING count(*) > 1 ORDER BY task.id DESC LIMIT %(most)s
"""
_DRAWN = "task.kind = 'routine' AND (task.reviews_wanted = 1 OR task.blind_pi < 1)"
# Medians are in the last row, which is of all. One statement: to find the answers is what takes its time.
_FOLLOWED = f"""
SELECT review.user_id, review.blind, count(*) FILTER (WHERE {_DRAWN}),
       count(*) FILTER (WHERE {_DRAWN} AND answer.value IS NOT DISTINCT FROM answer.model_value),
       percentile_cont(0.5) WITHIN GROUP (ORDER BY review.seconds) FILTER (
           WHERE NOT review.blind AND answer.value = answer.model_value),
       percentile_cont(0.5) WITHIN GROUP (ORDER BY review.seconds) FILTER (
           WHERE NOT review.blind AND answer.value IS DISTINCT FROM answer.model_value)
{{answers}} AND answer.model_value IS NOT NULL
GROUP BY GROUPING SETS ((review.user_id, review.blind), ()) ORDER BY review.user_id NULLS LAST
"""  # noqa: S608 - put together from constants; what comes from outside are parameters


def _is_of_few_days(stretch: Stretch) -> bool:
    return (stretch.end_on - stretch.start_on).days < _FEW_DAYS


def people_agree(stretch: Stretch) -> PeopleAgree:
    """Of the newest 20,000 items that two people answered."""
    with connection.cursor() as cursor:
        answers = _SEVERAL_OF_DAYS if _is_of_few_days(stretch) else _ANSWERS
        cursor.execute(_TWICE.format(answers=answers), stretch.to_sql() | {"most": _MOST_ITEMS})
        items: list[list[str]] = [row[0] for row in cursor.fetchall()]
    return compare(items, stretch.question)


def compare(items: Sequence[Sequence[str]], question: Question) -> PeopleAgree:
    """Each item's answers, in the order they were given; "" is "none of these", which has no place among scores."""
    is_score = question.kind == Question.Kind.SCORE
    several = [answers for answers in items if len(answers) > 1 and not (is_score and _NONE in answers)]
    agreement = human_agreement(several) if several else unknown(ONE_ANSWER)
    if not several:
        return PeopleAgree(
            0, agreement, Kappa(agreement, None, reason=ONE_ANSWER), Alpha(None, 0, reason=ONE_ANSWER)
        )
    table = answer_table(
        [answers[0] for answers in several],
        [answers[1] for answers in several],
        [*question.option_ids, _NONE],
    )
    return PeopleAgree(
        items=len(several),
        agreement=agreement,
        # Without its row of "none of these", which would be one step more on a scale.
        kappa=kappa(table[:-1, :-1] if is_score else table, quadratic=is_score),
        alpha=_alpha(several, is_score=is_score),
    )


def _alpha(several: Sequence[Sequence[str]], *, is_score: bool) -> Alpha:
    places = range(max(len(answers) for answers in several))
    padded = [[answers[at] if at < len(answers) else None for answers in several] for at in places]
    if not is_score:
        return krippendorff_alpha(padded, "nominal")
    return krippendorff_alpha(
        [[None if value is None else float(value) for value in row] for row in padded], "ordinal"
    )


def following(stretch: Stretch) -> Following:
    with connection.cursor() as cursor:
        answers = _ANSWERS_OF_DAYS if _is_of_few_days(stretch) else _ANSWERS
        cursor.execute(_FOLLOWED.format(answers=answers), stretch.to_sql())
        *people, (*_, accept_s, correct_s) = cursor.fetchall()
    rows: list[tuple[int, bool, int, int]] = [row[:4] for row in people]
    return Following(anchoring(*_sums(rows)), _by_person(rows), accept_s, correct_s)


def _sums(rows: Sequence[tuple[int, bool, int, int]]) -> tuple[int, int, int, int]:
    """Agreed and answered where the model's answer was visible, then where it was hidden."""
    seen, hidden = ([row for row in rows if row[1] is blind] for blind in (False, True))
    return (
        sum(row[3] for row in seen),
        sum(row[2] for row in seen),
        sum(row[3] for row in hidden),
        sum(row[2] for row in hidden),
    )


def _by_person(rows: Sequence[tuple[int, bool, int, int]]) -> tuple[PersonFollows, ...]:
    mine: dict[int, list[tuple[int, bool, int, int]]] = defaultdict(list)
    for row in rows:
        mine[row[0]].append(row)
    found = {person: anchoring(*_sums(each)) for person, each in mine.items()}
    enough = {
        person: each
        for person, each in found.items()
        if min(each.visible.denominator, each.blind.denominator) >= MIN_ANSWERS
    }
    names = dict(User.objects.filter(pk__in=enough).values_list("pk", "username"))
    adjusted = holm([each.p if each.p is not None else 1.0 for each in enough.values()])
    people = (
        PersonFollows(names[person], each, p)
        for (person, each), p in zip(enough.items(), adjusted, strict=True)
    )
    return tuple(sorted(people, key=lambda each: each.username))
