from __future__ import annotations

import json

import pytest

from apps.core.errors import InvalidInput
from apps.workflows.models import Workflow
from tests.calibration.trials.trialled import examples_of

pytestmark = pytest.mark.django_db


def problems(workflow: Workflow, content: bytes, name: str = "rows.csv") -> str:
    with pytest.raises(InvalidInput) as refused:
        examples_of(workflow, content, name)
    return str(refused.value)


def test_it_works(workflow: Workflow) -> None:
    first, *_, last = examples_of(workflow)
    assert (first.external_id, first.state) == ("1", "I want to buy")
    assert first.truth == {"intent": "lead", "money": "true"}
    assert first.given["present"].values == {"intent": "lead"}
    assert (last.truth, last.is_out_of_scope) == ({"intent": "other", "money": "false"}, True)


def test_names_of_options_and_of_truth_are_understood(workflow: Workflow) -> None:
    content = "id;body;gold\n1;Hallo;qualified LEAD\n2;Hi;None of these\n".encode("cp1252")
    first, second = examples_of(workflow, content)
    assert first.truth == {"intent": "lead"}
    assert (second.truth, second.is_out_of_scope) == ({"intent": "other"}, True)


def test_a_row_without_a_truth_waits_for_a_person(workflow: Workflow) -> None:
    first, second = examples_of(workflow, b"id,text,intent\n1,Hello,spam\n2,Hi,\n")
    assert (first.truth, second.truth) == ({"intent": "spam"}, None)


def test_published_probabilities_come_along(workflow: Workflow) -> None:
    row = {
        "id": "a",
        "text": "Hello",
        "intent": "spam",
        "old:intent": {"lead": 0.1, "customer": 0.1, "spam": 0.7, "other": 0.1},
    }
    (example,) = examples_of(workflow, json.dumps(row).encode(), "rows.jsonl")
    given = example.given["old"]
    assert given.values == {"intent": "spam"}
    assert given.probabilities["intent"][2][0] == "spam"


def test_what_another_solution_says_is_kept_as_it_is(workflow: Workflow) -> None:
    (example,) = examples_of(workflow, b"id,text,intent,present\n1,Hello,spam,Newsletter\n")
    assert example.given["present"].values == {"intent": "Newsletter"}


def test_a_wrong_truth_is_named_with_its_row(workflow: Workflow) -> None:
    why = problems(workflow, b"id,text,intent\n1,Hello,spam\n2,Hi,junk\n")
    assert why == "row 3: intent 'junk' is no option; there are lead, customer, spam, other"


def test_an_id_twice_is_named(workflow: Workflow) -> None:
    assert "row 3: has the id 1 again" in problems(workflow, b"id,text,intent\n1,Hello,spam\n1,Hi,spam\n")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is empty"),
        (b"\x89PNG\r\n\x1a\n", "is image"),
        (b"id,intent\n1,spam\n", "has no column for the text"),
        (b"id,text,old:mood\n1,Hello,good\n", "names no question"),
        (b"id,text,intent\n", "has no rows"),
    ],
)
def test_what_cannot_be_taken_is_refused_as_a_whole(workflow: Workflow, content: bytes, why: str) -> None:
    assert why in problems(workflow, content)


def test_too_many_examples_are_refused(workflow: Workflow) -> None:
    content = b"id,text\n" + b"".join(b"%d,Hello\n" % number for number in range(2_001))
    assert "more than 2,000 examples" in problems(workflow, content)


def test_hostile_rows_cost_nothing_but_themselves(workflow: Workflow) -> None:
    deep = '{"id": 1, "text": "x", "old:intent": ' + "[" * 500 + "]" * 500 + "}\n"
    odd = '{"id": 2, "text": "a\\u0000b", "old:intent": {"lead": 1e400}}\n'
    why = problems(workflow, (deep + odd).encode(), "rows.jsonl")
    assert "row 1" in why


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ('{"lead": -0.1, "customer": 0.4, "spam": 0.4, "other": 0.3}', "from 0 to 1, and lead has -0.1"),
        ('{"lead": 1.5, "customer": 0, "spam": 0, "other": 0}', "from 0 to 1, and lead has 1.5"),
        ('{"lead": NaN, "customer": 0, "spam": 0, "other": 1}', "row"),
        ('{"lead": "much", "customer": 0, "spam": 0, "other": 1}', "from 0 to 1, and lead has much"),
        ('{"lead": 0.9, "customer": 0.9, "spam": 0, "other": 0}', "sum to 1, and they sum to 1.8"),
        ('{"lead": 0.5, "spam": 0.5}', "for each of lead, customer, spam, other and for nothing else"),
    ],
)
def test_impossible_probabilities_are_refused_with_row_and_column(
    workflow: Workflow, given: str, why: str
) -> None:
    right = '{"id": 1, "text": "x", "intent": "spam"}\n'
    wrong = '{"id": 2, "text": "y", "intent": "spam", "old:intent": ' + given + "}\n"
    said = problems(workflow, (right + wrong).encode(), "rows.jsonl")
    assert said.startswith("row 2")
    assert why in said
