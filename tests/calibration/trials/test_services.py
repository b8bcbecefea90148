from __future__ import annotations

import pytest

from apps.accounts.models import User
from apps.calibration.models import TrialAnswer
from apps.calibration.trials.draws import Draw, draw_labelled, draw_recent
from apps.calibration.trials.services import (
    choices_for,
    create_trial,
    delete_trial,
    label_example,
    start_trial,
    take_label_back,
    unlabelled,
)
from apps.core.errors import Conflict, InvalidInput
from apps.reviews.models import Label
from apps.workflows.models import Workflow
from tests.calibration.trials.trialled import make_trial
from tests.factories import NOW, make_endpoint, make_item

pytestmark = pytest.mark.django_db
OPEN_ROWS = b"id,text,intent\n1,Hello,\n2,Hi,\n"


def answered(workflow: Workflow, external_id: str, value: str, *, blind: bool = True) -> None:
    item = make_item(workflow, external_id, text=f"Text {external_id}", decided_at=NOW)
    question_set = workflow.question_sets.get()
    Label.objects.create(
        workflow=workflow,
        item=item,
        question=question_set.questions.get(key="intent"),
        question_set=question_set,
        value=value,
        source="review",
        blind=blind,
        pi=1.0,
        created_at=NOW,
    )


def test_it_works(workflow: Workflow, mara: User) -> None:
    trial = make_trial(workflow, user=mara)
    assert (trial.status, trial.examples.count()) == ("draft", 4)
    assert trial.costs["costs"] == {"spam": {"lead": 1.5, "customer": 1.5, "other": 1.0}}
    given = trial.models.get()
    assert (given.name, given.endpoint, given.answers.count()) == ("present", None, 4)


def test_a_model_is_an_endpoint_or_one_of_the_workflows_own(workflow: Workflow) -> None:
    other = make_endpoint(name="jev")
    first, second, third = choices_for(workflow, ["jev", "clef-flash", "standin-ngram-1"])
    assert (first.endpoint, first.model) == (other, "")
    assert (second.endpoint, second.model) == (workflow.endpoint, "clef-flash")
    assert (third.endpoint, third.model) == (workflow.endpoint, "")


def test_one_model_twice_is_refused(workflow: Workflow) -> None:
    with pytest.raises(InvalidInput, match="twice"):
        choices_for(workflow, ["clef", "clef"])


def test_it_starts_only_with_every_label(workflow: Workflow, rosa: User) -> None:
    trial = make_trial(workflow, OPEN_ROWS)
    with pytest.raises(Conflict, match="2 of its examples have no label"):
        start_trial(trial=trial, models=choices_for(workflow, ["m"]))
    for example in unlabelled(trial):
        label_example(trial=trial, example_id=example.pk, values={"intent": None}, user=rosa)
    start_trial(trial=trial, models=choices_for(workflow, ["m"]))
    with pytest.raises(Conflict, match="started already"):
        start_trial(trial=trial, models=choices_for(workflow, ["m"]))


def test_none_of_these_is_out_of_scope(workflow: Workflow, rosa: User) -> None:
    trial = make_trial(workflow, OPEN_ROWS)
    first = unlabelled(trial)[0]
    labelled = label_example(trial=trial, example_id=first.pk, values={"intent": None}, user=rosa)
    assert (labelled.truth, labelled.is_out_of_scope) == ({"intent": "other"}, True)


def test_the_second_to_label_an_example_is_told(workflow: Workflow, rosa: User, ravi: User) -> None:
    trial = make_trial(workflow, OPEN_ROWS)
    pk = unlabelled(trial)[0].pk
    label_example(trial=trial, example_id=pk, values={"intent": "spam"}, user=rosa)
    with pytest.raises(Conflict, match="label already"):
        label_example(trial=trial, example_id=pk, values={"intent": "lead"}, user=ravi)
    assert trial.examples.get(pk=pk).truth == {"intent": "spam"}


def test_a_label_can_be_taken_back_by_its_author(workflow: Workflow, rosa: User, ravi: User) -> None:
    trial = make_trial(workflow, OPEN_ROWS)
    pk = unlabelled(trial)[0].pk
    label_example(trial=trial, example_id=pk, values={"intent": "spam"}, user=rosa)
    with pytest.raises(Conflict):
        take_label_back(trial=trial, user=ravi)
    take_label_back(trial=trial, user=rosa)
    assert unlabelled(trial)[0].pk == pk


def test_labels_must_be_options(workflow: Workflow, rosa: User) -> None:
    trial = make_trial(workflow, OPEN_ROWS)
    pk = unlabelled(trial)[0].pk
    with pytest.raises(InvalidInput, match="not one of the options"):
        label_example(trial=trial, example_id=pk, values={"intent": "junk"}, user=rosa)


def test_the_same_seed_draws_the_same_items(workflow: Workflow) -> None:
    for number in range(20):
        answered(workflow, f"i{number}", "spam" if number % 2 else "other")
    drawn = [
        [each.external_id for each in draw_labelled(workflow=workflow, draw=Draw(size=5, seed=seed))]
        for seed in (1, 1, 2)
    ]
    assert drawn[0] == drawn[1] != drawn[2]


def test_drawn_items_bring_their_truth(workflow: Workflow) -> None:
    answered(workflow, "a", "spam")
    answered(workflow, "b", "other")
    answered(workflow, "c", "spam", blind=False)
    drawn = {each.external_id: each for each in draw_labelled(workflow=workflow, draw=Draw())}
    assert set(drawn) == {"a", "b"}
    assert (drawn["a"].truth, drawn["b"].is_out_of_scope) == ({"intent": "spam"}, True)
    trial = create_trial(workflow=workflow, name="", examples=[*drawn.values()], user=None, now=NOW)
    assert trial.name == "Trial of 2026-11-30"


def test_nothing_to_draw_is_said(workflow: Workflow) -> None:
    with pytest.raises(InvalidInput, match="there are none"):
        draw_labelled(workflow=workflow, draw=Draw(label="spam"))


def test_the_newest_items_come_without_an_answer(workflow: Workflow) -> None:
    answered(workflow, "a", "spam")
    (drawn,) = draw_recent(workflow=workflow, draw=Draw())
    assert (drawn.external_id, drawn.truth, drawn.given) == ("a", None, {})


def test_another_workflows_items_are_not_drawn(workflow: Workflow, other_workflow: Workflow) -> None:
    answered(other_workflow, "a", "spam")
    with pytest.raises(InvalidInput):
        draw_recent(workflow=workflow, draw=Draw())


def test_deleting_takes_texts_and_answers_along(workflow: Workflow) -> None:
    delete_trial(trial=make_trial(workflow))
    assert not TrialAnswer.objects.exists()
