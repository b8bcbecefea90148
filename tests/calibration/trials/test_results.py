from __future__ import annotations

import pytest

from apps.calibration.trials.confidence import definition_of
from apps.calibration.trials.results import QuestionResult, result_of
from apps.calibration.trials.words import pair_sentence, what_it_cannot_show, wrong_sentence
from apps.stats.paired import Pairs
from apps.workflows.models import Question, Workflow
from tests.calibration.trials.trialled import answering, make_trial, run
from tests.factories import option

pytestmark = pytest.mark.django_db


def on_intent(workflow: Workflow, says: str = "spam", content: bytes | None = None) -> QuestionResult:
    trial = make_trial(workflow, content) if content else make_trial(workflow)
    return result_of(run(trial, answering(lambda text: says), "stand-in")).questions[0]


def test_it_works(workflow: Workflow) -> None:
    present, model = on_intent(workflow).models
    assert (present.model.name, present.right.numerator, present.right.denominator) == ("present", 2, 3)
    assert (model.right.numerator, model.nowhere.numerator, model.nowhere.denominator) == (1, 0, 1)
    kinds = [(each.predicted, each.true, each.count, each.cost) for each in model.disagreements]
    assert kinds == [
        ("Spam", "Existing customer", 1, 1.5),
        ("Spam", "Qualified lead", 1, 1.5),
        ("Spam", "None of these", 1, 1.0),
    ]
    assert model.cost_per_item == 1.0
    assert model.sentence == "2 wrong of 3: the true error could still be up to 98.3%."


def test_what_belongs_nowhere_is_apart(workflow: Workflow) -> None:
    _, model = on_intent(workflow, "other").models
    assert (model.right.numerator, model.right.denominator) == (0, 3)
    assert (model.nowhere.numerator, model.nowhere.denominator) == (1, 1)
    assert model.cost_per_item == 3 / 4  # three reviews at 1.0, of four items


def test_a_question_without_such_an_option_says_so(workflow: Workflow) -> None:
    Question.objects.update(none_of_these="")
    content = b"id,text,intent,out_of_scope\n1,Hello,,yes\n2,Hi,spam,\n"
    (model,) = on_intent(workflow, content=content).models
    assert (model.nowhere.value, model.nowhere.reason) == (None, "the question has no option for it")
    assert model.right.numerator == 1


def test_noul_questions_are_counted_as_well(workflow: Workflow) -> None:
    trial = run(make_trial(workflow), answering(lambda text: "spam"), "stand-in")
    money = result_of(trial).questions[1]
    (model,) = money.models
    assert (model.right.numerator, model.right.denominator, model.cost_per_item) == (2, 4, None)
    assert (model.disagreements[0].predicted, model.disagreements[0].true) == ("No", "Yes")


def test_scores_are_graded(workflow: Workflow) -> None:
    levels = [option(str(level), f"Level {level}") for level in range(4)]
    Question.objects.filter(key="money").update(kind="score", options=levels)
    content = b"id,text,money,old:money\n1,a,0,1\n2,b,3,3\n3,c,3,1\n4,d,Level 2,2\n"
    trial = make_trial(workflow, content)
    result = result_of(run(trial, answering(lambda text: "spam")))
    (old,) = result.questions[1].models
    assert old.within_one is not None
    assert (old.right.numerator, old.within_one.numerator, old.within_one.denominator) == (2, 3, 4)
    assert old.agreement.value is not None


def test_models_are_compared_in_pairs(workflow: Workflow) -> None:
    (pair,) = on_intent(workflow).comparisons
    assert (pair.first, pair.second, pair.pairs) == ("present", "stand-in", Pairs(1, 1, 0, 2))
    assert "so few examples cannot tell them apart (p = 1.0)" in pair.sentence


def test_an_answer_that_is_missing_is_neither_right_nor_wrong(workflow: Workflow) -> None:
    content = b"id,text,intent,present\n1,a,spam,spam\n2,b,spam,\n"
    present, _ = on_intent(workflow, content=content).models
    assert (present.right.denominator, present.unanswered) == (1, 1)


def test_an_answer_outside_the_question_has_no_price(workflow: Workflow) -> None:
    content = b"id,text,intent,present\n1,a,spam,Newsletter\n"
    present, _ = on_intent(workflow, content=content).models
    assert (present.disagreements[0].predicted, present.cost_per_item) == ("Newsletter", None)


@pytest.mark.parametrize(("wrong", "n", "bound"), [(0, 50, "5.8%"), (1, 50, "9.1%"), (0, 59, "5.0%")])
def test_what_fifty_can_show(wrong: int, n: int, bound: str) -> None:
    expected = f"{wrong} wrong of {n}: the true error could still be up to {bound}."
    assert wrong_sentence(wrong, n) == expected


def test_pairs_in_plain_words() -> None:
    assert pair_sentence("A", "B", Pairs(40, 4, 3, 5), 1.0) == (
        "A was right where B was wrong in 4, the reverse in 3 of 52: "
        "so few examples cannot tell them apart (p = 1.0)."
    )
    assert "B does better (p < 0.001)" in pair_sentence("A", "B", Pairs(40, 0, 12, 0), 0.00049)


def test_few_examples_say_what_they_cannot_show() -> None:
    few = " ".join(what_it_cannot_show(20, 2, has_option=True))
    assert "there are 20: fewer than the 50" in few
    assert "59 are needed" in few
    assert "2 of the examples belong nowhere" in few
    fifty = " ".join(what_it_cannot_show(50, 10, has_option=True))
    assert "at least once in 50 with 92% chance, one that happens in 1% with 39%" in fifty


def test_whose_confidence_it_is_is_told() -> None:
    def reply(kind: str, confidence: float, *p: float) -> dict[str, object]:
        pairs = [[str(at), each] for at, each in enumerate(p)]
        return {"q": {"kind": kind, "probabilities": pairs, "raw_confidence": confidence}}

    workers_ai = [
        reply("choice", 0.9126, 0.9664, 0.0135, 0.0058, 0.0143),
        reply("score", 0.4298, 0.0636, 0.7660, 0.1704),
    ]
    assert definition_of(workers_ai) == "choice S2, score S2"
    assert definition_of([reply("score", 0.78, 0.0, 0.0, 0.22, 0.78)]) == "score max or spread"
    assert definition_of([reply("choice", 0.1, 0.9, 0.1)]) == "choice of a definition of its own"
    assert definition_of([]) == ""
