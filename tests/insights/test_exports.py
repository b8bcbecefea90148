from __future__ import annotations

import csv
import io
import json
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.accounts.models import User
from apps.core.errors import InvalidInput
from apps.items.models import ItemContent
from apps.reviews import exports
from apps.reviews.exports import LabelQuery, export_labels, parse_label_query
from apps.reviews.exports_formats import CSV_COLUMNS
from apps.reviews.models import Label
from apps.reviews.services import undo_last_review
from apps.workflows.models import Workflow
from tests.factories import NOW, make_task
from tests.insights.answered import answer, cannot_tell, make_label, make_labels

storable = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\x00"))


def content(workflow: Workflow, format: str = "jsonl", **query: Any) -> bytes:
    return b"".join(export_labels(workflow=workflow, query=LabelQuery(**query), format=format))


def records(workflow: Workflow, format: str = "jsonl", **query: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in content(workflow, format, **query).split(b"\n")[:-1]]


def rows(workflow: Workflow, **query: Any) -> list[dict[str, str]]:
    text = content(workflow, "csv", **query).decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text, newline="")))


def rewrite(label: Label, text: str) -> None:
    ItemContent.objects.filter(pk=label.item_id).update(state=text, text=text)


def test_it_works(workflow: Workflow, rosa: User) -> None:
    label = make_label(workflow, rosa, "lead")
    (record,) = records(workflow)
    model = {key: record[key] for key in ("model", "model_value", "model_p", "route")}
    assert (record["label_id"], record["value"], record["answer"]) == (label.pk, "lead", "correct")
    assert (record["reviewer"], record["reviewed_at"]) == ("rosa", "2026-11-30T09:00:00Z")
    assert model == {"model": "standin-ngram-1", "model_value": "spam", "model_p": 0.7, "route": "review"}
    assert (record["state"], record["probabilities"]["spam"]) == ("Hello", 0.7)


def test_both_formats_say_the_same(workflow: Workflow, rosa: User) -> None:
    make_labels(workflow, rosa, "spam", None, "lead")
    exact = records(workflow)
    assert [list(row) for row in rows(workflow)] == [list(CSV_COLUMNS)] * 3
    assert [row["label_id"] for row in rows(workflow)] == [str(record["label_id"]) for record in exact]
    assert [float(row["model_p"]) for row in rows(workflow)] == [record["model_p"] for record in exact]


def test_an_audit_carries_its_inclusion_probability(workflow: Workflow, rosa: User) -> None:
    make_label(workflow, rosa, kind="audit")
    (record,) = records(workflow)
    assert (record["inclusion_probability"], record["blind"], record["route"]) == (0.1, True, "automatic")


def test_an_imported_label_has_no_person_and_no_model(workflow: Workflow) -> None:
    task = make_task(workflow)
    common = {"question_set": task.question_set, "question": task.question_set.questions.get(key="intent")}
    Label.objects.create(
        workflow=workflow,
        item=task.item,
        value="lead",
        source="import",
        blind=True,
        pi=1,
        created_at=NOW,
        **common,
    )
    (record,) = records(workflow)
    assert [record[key] for key in ("reviewer", "answer", "model", "model_value", "probabilities")] == [
        None
    ] * 5


def test_only_labels_in_force_and_of_this_workflow(
    workflow: Workflow, other_workflow: Workflow, rosa: User
) -> None:
    make_label(other_workflow, rosa)
    kept, _ = make_labels(workflow, rosa, "lead", "customer")
    undo_last_review(user=rosa, workflow=workflow, now=NOW)
    assert [record["label_id"] for record in records(workflow)] == [kept.pk]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"question": "intent"}, 2),
        ({"question": "money"}, 0),
        ({"value": "lead"}, 1),
        ({"source": "consensus"}, 0),
        ({"blind": "true"}, 1),
        ({"blind": "no"}, 1),
        ({"since": "2026-11-30"}, 2),
        ({"since": "2026-12-01"}, 1),
        ({"until": "2026-11-30"}, 1),
        ({"until": "2026-11-30T09:00:00Z"}, 0),
        ({"until": "2026-11-30T10:00:01+01:00"}, 1),
        ({"value": "", "format": "csv"}, 2),
    ],
)
def test_filters(workflow: Workflow, rosa: User, query: dict[str, str], found: int) -> None:
    make_label(workflow, rosa, "lead")
    make_label(workflow, rosa, "spam", kind="audit", at=NOW + timedelta(days=1))
    labels = b"".join(export_labels(workflow=workflow, query=parse_label_query(query), format="jsonl"))
    assert labels.count(b"\n") == found


def test_a_day_is_one_of_the_workflow(workflow: Workflow, rosa: User) -> None:
    workflow.time_zone = "Pacific/Auckland"
    workflow.save()
    make_label(workflow, rosa, at=NOW.replace(hour=11, minute=30))  # half past midnight there, of 1 December
    assert records(workflow, until=parse_label_query({"until": "2026-11-30"}).until) == []
    assert len(records(workflow, since=parse_label_query({"since": "2026-12-01"}).since)) == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("sinse", "2026-11-30"),
        ("since", "yesterday"),
        ("since", "2026-11-30T09:00:00"),
        ("since", "0001-01-01"),
        ("until", "9999-12-31"),
        ("until", "20261130"),
        ("blind", "maybe"),
        ("source", "model"),
        ("bom", "2"),
        ("value", "a\x00"),
        ("question", "x" * 201),
    ],
)
def test_a_wrong_parameter_is_named(name: str, text: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        parse_label_query({name: text})
    assert [problem.path for problem in refusal.value.problems] == [name]


@pytest.mark.parametrize("format", ["parquet", "xml", ""])
def test_a_format_that_is_not_written_is_refused_at_once(workflow: Workflow, format: str) -> None:
    with pytest.raises(InvalidInput, match="format"):
        export_labels(workflow=workflow, query=LabelQuery(), format=format)


def test_a_byte_order_mark_is_for_csv(workflow: Workflow, rosa: User) -> None:
    make_label(workflow, rosa)
    assert content(workflow, "csv", bom=True) == b"\xef\xbb\xbf" + content(workflow, "csv")
    with pytest.raises(InvalidInput, match="bom"):
        content(workflow, bom=True)


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"])
def test_a_formula_is_neutralised_in_csv_alone(workflow: Workflow, rosa: User, start: str) -> None:
    text = f'{start}cmd|" /C calc"!A0'
    rewrite(make_label(workflow, rosa), text)
    assert rows(workflow)[0]["text"] == f"'{text}"
    assert records(workflow)[0]["state"] == text


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(storable, min_size=1, max_size=3))
def test_any_text_comes_back_as_it_was(labels_of_three: list[Label], texts: list[str]) -> None:
    workflow, wanted = labels_of_three[0].workflow, [*texts, *["\u2028</script>\u202e\n\r", ",\"';", ""]][:3]
    for label, text in zip(labels_of_three, wanted, strict=True):
        rewrite(label, text)
    assert [record["state"] for record in records(workflow)] == wanted
    neutral = [row["text"][1:] if row["text"][:1] == "'" else row["text"] for row in rows(workflow)]
    assert neutral == [text[1:] if text[:1] == "'" else text for text in wanted]


@pytest.fixture
def labels_of_three(workflow: Workflow, rosa: User) -> list[Label]:
    return make_labels(workflow, rosa, "lead", "spam", "customer")


def test_json_state_stays_json(workflow: Workflow, rosa: User) -> None:
    label, state = make_label(workflow, rosa), {"mail": {"subject": "عرض سعر", "lines": [1, 2.5, None, True]}}
    ItemContent.objects.filter(pk=label.item_id).update(state=state)
    assert records(workflow)[0]["state"] == state
    assert "عرض سعر".encode() in content(workflow)


def test_many_labels_are_read_in_chunks(
    workflow: Workflow, rosa: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels = make_labels(workflow, rosa, *["spam"] * 5)
    with CaptureQueriesContext(
        connection,
    ) as asked:
        export = export_labels(workflow=workflow, query=LabelQuery(), format="jsonl", chunk=2)
        chunks = list(export)
    assert [chunk.count(b"\n") for chunk in chunks] == [2, 2, 1]
    assert (export.rows, len(asked)) == (5, 1 + 3 * 2 + 1)
    assert [json.loads(line)["label_id"] for line in b"".join(chunks).splitlines()] == [
        each.pk for each in labels
    ]


def test_training_records_hold_an_item_each(workflow: Workflow, rosa: User) -> None:
    label = make_label(workflow, rosa, "lead", kind="audit")
    make_label(workflow, rosa, None, asked=["money"])
    (record,) = records(workflow, "systemone")
    assert record["id"] == f"leads/{label.item_id}/v1"
    assert record["answers"] == {"intent": "lead"}
    assert list(record["questions"]["intent"]["criteria"]) == ["lead", "customer", "spam", "other"]
    assert record["meta"]["inclusion_probability"] == 0.1
    assert "soft_labels" not in record


def test_training_records_say_where_people_disagreed(
    workflow: Workflow, rosa: User, ravi: User, mara: User
) -> None:
    task = make_task(workflow, reviews_wanted=2)
    for person, value in ((rosa, "lead"), (ravi, "spam"), (mara, "spam")):
        answer(person, task, value)
    (record,) = records(workflow, "systemone")
    assert record["soft_labels"] == {"intent": {"lead": 1 / 3, "customer": 0.0, "spam": 2 / 3, "other": 0.0}}


def test_an_empty_export_says_which_filter_removed_how_many(workflow: Workflow, rosa: User) -> None:
    make_labels(workflow, rosa, "lead", "spam", "spam")
    query = parse_label_query({"value": "spam", "blind": "true"})
    assert exports.why_empty(workflow=workflow, query=query) == (
        "Of 3 settled labels, value = spam removed 1 and left 2; blind = true removed 2 and left 0."
    )
    assert content(workflow, "csv", value="spam", blind=True).count(b"\r\n") == 1


def test_what_could_be_answered_anew_and_not_blind_is_not_in_it_yet(workflow: Workflow, rosa: User) -> None:
    make_label(workflow, rosa, kind="audit", at=timezone.now())
    assert [content(workflow, format) for format in ("jsonl", "systemone")] == [b"", b""]
    assert rows(workflow) == []
    assert "can be taken back" in exports.why_empty(workflow=workflow, query=LabelQuery())
    Workflow.objects.update(undo_s=0)
    workflow.refresh_from_db()
    assert len(records(workflow)) == 1


def test_what_was_answered_in_the_open_is_in_it_at_once(workflow: Workflow, rosa: User) -> None:
    make_label(workflow, rosa, at=timezone.now())
    assert len(records(workflow)) == 1


def test_cannot_tell_is_no_vote(workflow: Workflow, mara: User, ravi: User) -> None:
    task = make_task(workflow, blind=True)
    cannot_tell(ravi, task)
    answer(mara, task, "spam")
    assert "soft_labels" not in records(workflow, "systemone")[0]
