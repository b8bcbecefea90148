"""What the overview and the labels page show, beyond the numbers of `metrics`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from django.db.models import Exists, OuterRef, QuerySet

from apps.accounts.models import User
from apps.actions.models import ActionRun
from apps.calibration.models import Incident
from apps.calibration.watching.incidents import open_incidents
from apps.core.templatetags.fermata import words
from apps.insights import metrics, metrics_flow, metrics_people
from apps.insights.metrics_values import Window, last_days
from apps.reviews.exports import LabelQuery, labels_for, why_empty
from apps.reviews.models import Answer, Label, ReviewTask
from apps.reviews.selectors import hidden_from
from apps.stats.anchoring import Anchoring
from apps.workflows.models import Endpoint, Question, Workflow

MOST_DAYS = 90
"""Days listed one by one, whatever the window."""
MOST_RUNS = 5
MOST_INCIDENTS = 10
PAGE = 50


@dataclass(frozen=True)
class Overview:
    """Each part is read when it is shown: what refreshes itself asks for the tiles and alarms alone.

    `days` None is all time.
    """

    workflow: Workflow
    days: int | None
    now: datetime

    @property
    def window(self) -> Window:
        return Window() if self.days is None else last_days(self.workflow, self.days, self.now)

    @cached_property
    def _tiles(self) -> tuple[metrics.Figures, Anchoring]:
        return metrics.tile_figures(self.workflow, self.window, self.now)

    @property
    def figures(self) -> metrics.Figures:
        return self._tiles[0]

    @property
    def audits_note(self) -> str:
        answered = self.figures["audits_answered"]
        return f"{answered.value or 0:,.0f} answered in this window."

    @property
    def anchoring(self) -> Anchoring:
        return self._tiles[1]

    @cached_property
    def waiting(self) -> list[metrics_flow.Waiting]:
        return [each for each in metrics_flow.waiting(self.workflow) if each.reason]

    @cached_property
    def endpoint(self) -> Endpoint:
        return Endpoint.objects.get(pk=self.workflow.endpoint_id)

    @property
    def is_paused(self) -> bool:
        until = self.endpoint.paused_until
        return until is not None and until > self.now

    @cached_property
    def incidents(self) -> list[Incident]:
        return list(open_incidents(self.workflow)[:MOST_INCIDENTS])

    @cached_property
    def runs(self) -> metrics.Figures:
        return metrics_flow.action_runs(self.workflow, self.window)

    @cached_property
    def broken_runs(self) -> list[ActionRun]:
        """The newest that failed in the window, and all that are unknown still."""
        runs = ActionRun.objects.filter(action__workflow=self.workflow).select_related("item")
        failed = runs.filter(self.window.holds("created_at"), status=ActionRun.Status.FAILED)
        unknown = runs.filter(status=ActionRun.Status.UNKNOWN)
        return list((failed | unknown).order_by("-id")[:MOST_RUNS])

    @cached_property
    def models(self) -> list[str]:
        """Those behind the figures, and the one that is asked now."""
        return sorted({*metrics_flow.models_asked(self.workflow, self.window), self.endpoint.model})

    @cached_property
    def by_label(self) -> list[metrics.Group]:
        return metrics.grouped(self.workflow, self.window, "label")

    @cached_property
    def by_reviewer(self) -> list[metrics.Group]:
        return metrics.grouped(self.workflow, self.window, "reviewer")

    @cached_property
    def by_day(self) -> list[metrics.Group]:
        """Newest first."""
        days = min(self.days or MOST_DAYS, MOST_DAYS)
        return metrics.grouped(self.workflow, last_days(self.workflow, days, self.now), "day")[::-1]

    @cached_property
    def decisions(self) -> metrics.Figures:
        return metrics_flow.decisions(self.workflow, self.window)

    @cached_property
    def people(self) -> metrics.Figures:
        return metrics.review_figures(self.workflow, self.window)

    @cached_property
    def left_out(self) -> metrics.Figures:
        return metrics_people.left_out(self.workflow, self.window)


@dataclass(frozen=True, slots=True)
class LabelRow:
    """`model_value` is None when the model gave no answer or the label was imported.

    A row is hidden when this person is still to answer the item blind: then value and model stay out.
    """

    label: Label
    is_hidden: bool
    value: str
    model_value: str | None

    @property
    def is_override(self) -> bool:
        return self.model_value is not None and self.value != self.model_value


@dataclass(frozen=True, slots=True)
class LabelPage:
    """Newest first. `newer` and `older` are the label ids to page on with; `empty_because` is a sentence."""

    rows: tuple[LabelRow, ...]
    newer: int | None
    older: int | None
    empty_because: str


def label_page(
    *,
    user: User,
    workflow: Workflow,
    query: LabelQuery,
    before: int | None = None,
    after: int | None = None,
) -> LabelPage:
    """One page of settled labels; one row more is fetched instead of counting."""
    hidden = Exists(ReviewTask.objects.filter(hidden_from(user), item=OuterRef("item")))
    labels = labels_for(workflow=workflow, query=query)
    if query.value is not None:
        # To find it by its value would tell the value.
        labels = labels.exclude(hidden)
    found, has_newer, has_older = _one_page(labels.annotate(is_hidden=hidden), before, after)
    return LabelPage(
        rows=tuple(_to_rows(found)),
        newer=found[0].pk if found and has_newer else None,
        older=found[-1].pk if found and has_older else None,
        empty_because="" if found else why_empty(workflow=workflow, query=query),
    )


def _one_page(
    labels: QuerySet[Label], before: int | None, after: int | None
) -> tuple[list[Label], bool, bool]:
    labels = labels.select_related("item", "question", "review__user")
    if after is not None:
        found = list(labels.filter(pk__gt=after).order_by("pk")[: PAGE + 1])
        return found[:PAGE][::-1], len(found) > PAGE, True
    older = labels.order_by("-pk") if before is None else labels.filter(pk__lt=before).order_by("-pk")
    found = list(older[: PAGE + 1])
    return found[:PAGE], before is not None, len(found) > PAGE


def _to_rows(labels: Sequence[Label]) -> list[LabelRow]:
    reviews = [label.review_id for label in labels]
    answers = Answer.objects.filter(review__in=reviews).values_list("review_id", "question_id", "model_value")
    said = {(review, question): value for review, question, value in answers}
    rows = []
    for label in labels:
        names = label.question.option_names
        model = said.get((label.review_id or 0, label.question_id))
        rows.append(
            LabelRow(
                label=label,
                is_hidden=getattr(label, "is_hidden", True),
                value="None of these" if label.value is None else names.get(label.value, label.value),
                model_value=None if model is None else names.get(model, model),
            )
        )
    return rows


def question_names(workflow: Workflow) -> dict[str, str]:
    """Keys of the questions of every version, for a filter: each as it stands and as people read it."""
    keys = Question.objects.filter(question_set__workflow=workflow).values_list("key", flat=True).distinct()
    return {key: words(key) for key in sorted(keys)}


def option_names(workflow: Workflow) -> dict[str, dict[str, str]]:
    """Names of every question's options by id, under the question as people read it; the newest version's count."""
    names: dict[str, dict[str, str]] = {}
    questions = Question.objects.filter(question_set__workflow=workflow)
    for question in questions.order_by("question_set__version", "position"):
        names.setdefault(words(question.key), {}).update(question.option_names)
    return names
