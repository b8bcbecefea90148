"""Published answers of Clef-flash and of Jev, as columns of a trial: real outputs load, count right and are shown."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from apps.accounts.models import User
from apps.calibration.trials.results import result_of
from apps.workflows.models import Question, Workflow
from tests.calibration.trials.trialled import answering, make_trial, run
from tests.conftest import SignIn
from tests.factories import YES_NO, option

FOLDER = Path(settings.BASE_DIR).parent / "shared" / "data" / "decision-model-outputs"
pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(not FOLDER.is_dir(), reason="the published answers are not on this machine"),
]
NOBODY = answering(lambda text: "never asked")


def rows_of(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]


def as_lines(records: Mapping[str, Mapping[str, Any]]) -> bytes:
    return "\n".join(json.dumps(each) for each in records.values()).encode()


def set_questions(workflow: Workflow, *questions: tuple[str, str, list[str]]) -> None:
    question_set = workflow.question_sets.get()
    question_set.questions.all().delete()
    for position, (key, kind, values) in enumerate(questions):
        Question.objects.create(
            question_set=question_set,
            key=key,
            position=position,
            kind=kind,
            is_routing=position == 0,
            instructions=f"What is its {key}?",
            options=YES_NO if kind == "noul" else [option(each, each.title()) for each in values],
        )


@pytest.fixture
def tickets(workflow: Workflow) -> bytes:
    rows = rows_of("clef_flash_tickets.jsonl")
    kinds = {row["question"]: (row["type"], sorted(row["probabilities"])) for row in rows}
    set_questions(
        workflow, *((key, *kinds[key]) for key in sorted(kinds, key=lambda key: key != "department"))
    )
    records: dict[str, dict[str, Any]] = defaultdict(dict)
    for row in rows:
        record = records[row["id"]]
        record |= {"id": row["id"], "text": row["text"], row["question"]: row["gold"]}
        record[f"clef-flash:{row['question']}"] = row["probabilities"]
    return as_lines(records)


def test_it_works(workflow: Workflow, tickets: bytes) -> None:
    result = result_of(run(make_trial(workflow, tickets, name="tickets.jsonl"), NOBODY))
    right = [question.models[0].right for question in result.questions]
    assert [each.denominator for each in right] == [15, 15, 15, 15]
    assert sum(each.numerator for each in right) == 51  # the source's own 0.85 of these 60


def test_they_are_shown(workflow: Workflow, tickets: bytes, mara: User, signed_in: SignIn) -> None:
    trial = run(make_trial(workflow, tickets, name="tickets.jsonl"), NOBODY)
    page = signed_in(mara).get(f"/w/leads/calibration/trials/{trial.pk}/").content.decode()
    assert "clef-flash" in page
    assert "there are 15: fewer than the 50" in page
    assert "At most one level off" in page


def test_two_wordings_of_jev_are_compared(workflow: Workflow) -> None:
    set_questions(workflow, ("kind", "choice", ["spam", "ham"]))
    texts = {row["id"]: row for row in rows_of("jev_email_spam_texts.jsonl")}
    records = {key: {"id": key, "text": row["text"], "kind": row["label"]} for key, row in texts.items()}
    for row in rows_of("jev_email_spam.jsonl"):
        records[row["id"]][f"{row['question']}:kind"] = row["probabilities"]
    trial = run(make_trial(workflow, as_lines(records), name="mails.jsonl"), NOBODY)
    (question,) = result_of(trial).questions
    assert sum(each.right.numerator for each in question.models) == 170  # 0.977 of 174
    (pair,) = question.comparisons
    assert pair.pairs.n == 87
    assert "cannot tell them apart" in pair.sentence
