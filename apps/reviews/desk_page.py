"""What the desk's templates need besides the item itself."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.template.loader import render_to_string
from django.urls import reverse

from apps.core.errors import FieldProblem
from apps.reviews.chances import shown_chances, shown_suggestions
from apps.reviews.forms import CANNOT_TELL_REASONS, SKIP_REASONS, AnswerForm, asked_questions
from apps.reviews.forms_queue import told_filter
from apps.reviews.queue import QueueFilter
from apps.reviews.queue_page import events_of
from apps.reviews.selectors import DeskTask
from apps.workflows.models import Workflow


def desk_address(workflow: Workflow, wanted: QueueFilter) -> str:
    return _filtered_address("reviews:desk", workflow, wanted)


def _filtered_address(name: str, workflow: Workflow, wanted: QueueFilter) -> str:
    address = reverse(name, args=[workflow.slug])
    return f"{address}?{wanted.query}" if wanted else address


def with_filter(workflow: Workflow, wanted: QueueFilter) -> dict[str, Any]:
    """What is carried from item to item, and how it is told."""
    return {
        "wanted": wanted,
        "wanted_told": told_filter(wanted, workflow),
        "here": desk_address(workflow, wanted),
        "queue_address": _filtered_address("reviews:queue", workflow, wanted),
        "filter_field": render_to_string("reviews/_filter_fields.html", {"wanted": wanted}) if wanted else "",
    }


def around(
    desk: DeskTask, wanted: QueueFilter, form: AnswerForm | None, problems: tuple[FieldProblem, ...]
) -> dict[str, Any]:
    """The item's questions and what can be done with it."""
    slug, token = desk.task.workflow.slug, str(desk.lease.token)
    is_one = len(desk.asked) == 1
    passed_on = {"lease": token} | ({"filter": wanted.query} if wanted else {})
    return {
        "lease_token": token,
        "desk_keys": desk.keys,
        "asked": asked_questions(desk.asked, form, problems),
        "unasked": asked_questions(desk.unasked, form, problems),
        "has_unasked": bool(desk.unasked),
        "is_one": is_one,
        "question_template": "reviews/_question_one.html" if is_one else "reviews/_question.html",
        "chances": shown_chances(desk),
        "suggested": shown_suggestions(desk),
        "can_accept": all(question.suggestion for question in desk.asked),
        "cannot_tell_reasons": CANNOT_TELL_REASONS,
        "skip_reasons": SKIP_REASONS,
        "submit_address": reverse("reviews:task_submit", args=[slug]),
        "hand_over_address": f"{reverse('reviews:hand_over', args=[slug])}?{urlencode(passed_on)}",
        "events": events_of(desk.task) if desk.has_events else [],
        "can_escalate": desk.can_escalate,
    }
