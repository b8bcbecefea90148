"""How labels are written: rows for JSONL and CSV, records for training (`systemone`)."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from django.db.models import Count, F, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce

from apps.clef.types import ModelRequest
from apps.clef.wire import to_body
from apps.items.models import Item
from apps.reviews.models import Answer, Label, Review
from apps.workflows.definitions import to_clef_questions
from apps.workflows.models import QuestionSet

BOM = b"\xef\xbb\xbf"
# What a spreadsheet may run as a formula, full-width twins included.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
GROUPED_BY = ("group", "thread", "account", "sender")

# Of the answers to a task, the one that says what the label says: with several people the last may have said otherwise.
_SAME = (
    Answer.objects.exclude(kind=Answer.Kind.CANNOT_TELL)
    .alias(given=Coalesce("value", Value("")))
    .filter(
        given=Coalesce(OuterRef("value"), Value("")),
        question=OuterRef("question"),
        review__task=OuterRef("review__task"),
        review__taken_back_at=None,
    )
    .order_by("-review")
)
_GIVEN = Review.objects.filter(task=OuterRef("review__task"), taken_back_at=None).order_by().values("task")

_COLUMNS = {
    "label_id": F("id"),
    "item_id": F("item"),
    "external_id": F("item__external_id"),
    "question": F("question__key"),
    "value": F("value"),
    "answer": Subquery(_SAME.values("kind")[:1]),
    "source": F("source"),
    "blind": F("blind"),
    "inclusion_probability": F("pi"),
    "is_asked": F("is_asked"),
    "opinions": Subquery(_GIVEN.values(n=Count("*"))),
    "said": Subquery(_SAME.values("said")[:1]),
    "reviewer": F("review__user__username"),
    "reviewed_at": F("created_at"),
    "model": F("review__task__route__decision__model"),
    "route": F("review__task__route__outcome"),
    "policy_version": F("review__task__route__policy__version"),
    "question_set_version": F("question_set__version"),
}
_ANSWERS = F("review__task__route__decision__answers")
_BEFORE_MODEL = list(_COLUMNS).index("model")
CSV_COLUMNS = (
    *list(_COLUMNS)[:_BEFORE_MODEL],
    "model_value",
    "model_p",
    *list(_COLUMNS)[_BEFORE_MODEL:],
    "text",
)
"""The columns of a CSV, and the keys of a JSONL record but for its last two: `probabilities` and `state`."""


def to_jsonl(labels: QuerySet[Label]) -> list[bytes]:
    """One record a label: what was decided, by whom, what the model had said, and the item's state as it came."""
    return [_to_line(_with_model(row)) for row in _rows(labels, state=F("item__content__state"))]


def to_csv(labels: QuerySet[Label]) -> list[bytes]:
    rows = _rows(labels, text=F("item__content__text"))
    return [to_csv_row(map(_with_model(row).__getitem__, CSV_COLUMNS)) for row in rows]


def csv_header() -> bytes:
    return to_csv_row(CSV_COLUMNS)


def _rows(labels: QuerySet[Label], **content: F) -> Iterable[dict[str, Any]]:
    # Renamed with a prefix: an annotation may not carry the name of one of the model's own fields.
    columns = {f"x_{name}": column for name, column in ({**_COLUMNS, "answers": _ANSWERS} | content).items()}
    for row in labels.annotate(**columns).values(*columns):
        yield {name.removeprefix("x_"): value for name, value in row.items()}


def _with_model(row: dict[str, Any]) -> dict[str, Any]:
    """The row with the model's answer to this question; all null when it gave none or the label was imported."""
    answer = (row.pop("answers") or {}).get(row["question"])
    chances = [] if answer is None else answer["probabilities"]
    value, p = max(chances, key=lambda pair: pair[1]) if chances else (None, None)
    known = row | {"model_value": value, "model_p": p}
    last = {name: known.pop(name) for name in ("state", "text") if name in known}
    ordered = {name: known[name] for name in CSV_COLUMNS if name in known}
    ordered["reviewed_at"] = to_rfc3339(ordered["reviewed_at"])
    return ordered | {"probabilities": dict(chances) if chances else None} | last


def to_rfc3339(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _to_line(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def to_csv_row(cells: Iterable[Any]) -> bytes:
    """No cell is run as a formula by a spreadsheet."""
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\r\n").writerow([_to_cell(cell) for cell in cells])
    return out.getvalue().encode()


def _to_cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"'{value}" if value.startswith(_FORMULA) else value
    return repr(value) if isinstance(value, float) else str(value)


def to_records(labels: QuerySet[Label]) -> list[bytes]:
    """One record an item and version of the questions, as the training recipes for decision models read them.

    `answers` has only what people settled on an option; an item without such an answer teaches nothing and
    is left out. `soft_labels` stand where reviewers disagreed. Where the labels of an item differ in source,
    `label_source` is "mixed"; where they differ in inclusion probability, the smallest is given.
    """
    by_item: dict[tuple[int, int], list[Label]] = defaultdict(list)
    found = labels.select_related("question", "item__content", "workflow").defer("item__content__text")
    for label in found.order_by("item_id", "id"):
        if label.value is not None:
            by_item[label.item_id, label.question_set_id].append(label)
    votes = _votes({item_id for item_id, _ in by_item})
    questions = _questions({version for _, version in by_item})
    return [
        _to_line(_to_record(group, *questions[version], votes)) for (_, version), group in by_item.items()
    ]


def _to_record(
    labels: Sequence[Label],
    version: int,
    questions: Mapping[str, Any],
    votes: Mapping[tuple[int, int], Counter[str]],
) -> dict[str, Any]:
    first, sources = labels[0], {label.source for label in labels}
    cast = {label.question.key: (label.question, votes[label.item_id, label.question_id]) for label in labels}
    soft = {
        key: _shares(question.option_ids, votes) for key, (question, votes) in cast.items() if len(votes) > 1
    }
    record = {
        "id": f"{first.workflow.slug}/{first.item_id}/v{version}",
        "state": first.item.content.state,
        "questions": questions,
        "answers": {label.question.key: label.value for label in labels},
    }
    meta = {
        "workflow": first.workflow.slug,
        "external_id": first.item.external_id,
        "question_set_version": version,
        "label_source": sources.pop() if len(sources) == 1 else "mixed",
        "inclusion_probability": min(label.pi for label in labels),
        "group": _group(first.item),
        "decided_at": to_rfc3339(max(label.created_at for label in labels)),
    }
    return record | ({"soft_labels": soft} if soft else {}) | {"meta": meta}


def _group(item: Item) -> str:
    """What must not be torn apart when records are split: the first of `GROUPED_BY` in the metadata, or the item."""
    named = next((item.metadata[key] for key in GROUPED_BY if item.metadata.get(key)), item.external_id)
    return named if isinstance(named, str) else json.dumps(named, ensure_ascii=False)


def _shares(options: Sequence[str], votes: Counter[str]) -> dict[str, float]:
    return {option: votes[option] / votes.total() for option in options}


def _votes(item_ids: set[int]) -> dict[tuple[int, int], Counter[str]]:
    """How many people picked which option on their own, by item and question."""
    votes: dict[tuple[int, int], Counter[str]] = defaultdict(Counter)
    answers = Answer.objects.filter(
        review__task__item__in=item_ids,
        review__taken_back_at=None,
        review__is_adjudication=False,
        value__isnull=False,
    ).exclude(kind=Answer.Kind.CANNOT_TELL)
    for item_id, question_id, value in answers.values_list("review__task__item", "question", "value"):
        votes[item_id, question_id][str(value)] += 1
    return votes


def _questions(question_set_ids: set[int]) -> dict[int, tuple[int, dict[str, Any]]]:
    """Version and questions as they go over the wire, by question set."""
    found = QuestionSet.objects.prefetch_related("questions").filter(pk__in=question_set_ids)
    return {question_set.pk: (question_set.version, _on_the_wire(question_set)) for question_set in found}


def _on_the_wire(question_set: QuestionSet) -> dict[str, Any]:
    body = to_body(ModelRequest("", to_clef_questions(question_set)), model="", max_bytes=1 << 30)
    questions: dict[str, Any] = json.loads(body)["questions"]
    return questions
