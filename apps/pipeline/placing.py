"""Where a task stands in the queue among those of equal priority: by when it is due, sooner by what a mistake costs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from apps.pipeline.rulebook import Rulebook
from apps.routing.types import Gate


def place_of(book: Rulebook, *, is_blind: bool, gates: Sequence[Gate], due_at: datetime) -> datetime:
    """`due_at`, sooner by an hour for each time that acting on the answer is expected to cost a review.

    At most `due_hours` sooner; not at all where the policy prices nothing. What is answered blind stands by its due
    time: its place would say what the model expects of it.
    """
    cost = next((gate for gate in gates if gate.name == "cost"), None)
    if cost is None or is_blind or not book.rules.costs:
        return due_at
    expected, review = (float(str(cost.numbers[name])) for name in ("expected_cost", "review_cost"))
    most = float(book.workflow.due_hours)
    if expected <= 0:
        return due_at
    return due_at - timedelta(hours=min(expected / review, most) if review > 0 else most)
