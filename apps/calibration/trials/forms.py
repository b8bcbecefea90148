"""What a manager says to put a trial together and to start it, and what a person answers on its desk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.http import QueryDict

from apps.calibration.trials.draws import Draw
from apps.calibration.trials.services import ASKED_FOR
from apps.calibration.trials.values import routing_of
from apps.core.text import repaired, whole_number
from apps.pipeline.limits import MAX_TRIAL_EXAMPLES
from apps.workflows.models import Endpoint, Question, Workflow
from apps.workflows.selectors import current_question_set

FILE, LABELLED, RECENT = "file", "labelled", "recent"
_PICKED, _OPTION, _NONE, _CANNOT_TELL = "q:", "o:", "none", "cannot_tell"
_DATE = forms.DateInput(attrs={"type": "date"})


class TrialForm(forms.Form):
    """`origin` says where the examples come from; what belongs to another origin is not looked at."""

    name = forms.CharField(max_length=120, required=False, help_text="for example: March, Clef against rules")
    origin = forms.ChoiceField(
        label="Examples come from",
        choices=[
            (FILE, "A file"),
            (LABELLED, "Items people have answered"),
            (RECENT, "The newest items, to be labelled here blind"),
        ],
        initial=FILE,
        widget=forms.RadioSelect,
    )
    file = forms.FileField(
        required=False,
        widget=forms.FileInput(attrs={"accept": ".csv,.tsv,.txt,.jsonl,.ndjson"}),
        help_text="CSV, TSV or JSONL. A row without a truth is labelled here, blind.",
    )
    size = forms.IntegerField(label="How many", min_value=1, max_value=MAX_TRIAL_EXAMPLES, initial=ASKED_FOR)
    label = forms.ChoiceField(label="Answered as", required=False)
    source = forms.CharField(max_length=40, required=False, help_text="api, file, mail, …")
    since = forms.DateField(required=False, widget=_DATE)
    until = forms.DateField(required=False, widget=_DATE)
    only_blind = forms.BooleanField(
        label="Only answers given blind",
        required=False,
        initial=True,
        help_text="Answers given beside the model's lean towards it, and would flatter it here.",
    )
    seed = forms.IntegerField(
        min_value=0, max_value=10**9, initial=1, help_text="The same number draws the same items again."
    )

    def __init__(self, data: Any = None, files: Any = None, *, workflow: Workflow) -> None:
        super().__init__(data, files)
        routing = routing_of(current_question_set(workflow).questions.all())
        label = self.fields["label"]
        assert isinstance(label, forms.ChoiceField)  # noqa: S101 - tells the type checker what stands above
        label.choices = [("", "Anything"), *(routing.option_names.items() if routing else ())]

    def clean(self) -> dict[str, Any]:
        said = self.cleaned_data
        if said.get("origin") == FILE and not said.get("file") and "file" not in self.errors:
            self.add_error("file", "Choose a file.")
        for name in ("name", "source"):
            said[name] = repaired(said.get(name) or "")[0]
        return said

    def to_draw(self) -> Draw:
        said = self.cleaned_data
        return Draw(**{name: said[name] for name in Draw.__dataclass_fields__})


class StartForm(forms.Form):
    """Endpoints by name, and one more model of the workflow's own endpoint."""

    models = forms.MultipleChoiceField(
        label="Ask", required=False, widget=forms.CheckboxSelectMultiple(attrs={"class": "plain"})
    )
    other = forms.CharField(label="Another model of this workflow's endpoint", max_length=120, required=False)

    def __init__(self, data: Any = None, *, workflow: Workflow) -> None:
        super().__init__(data)
        models = self.fields["models"]
        assert isinstance(models, forms.MultipleChoiceField)  # noqa: S101 - as above
        models.choices = [
            (each.name, f"{each.name}: {each.model} at {each.base_url}")
            for each in Endpoint.objects.order_by("name")
        ]
        models.initial = [workflow.endpoint.name]

    @property
    def names(self) -> list[str]:
        other = self.cleaned_data["other"].strip()
        return [*self.cleaned_data["models"], *([other] if other else [])]


class LabelForm:
    """The desk of a trial asks one question after the other; what was answered so far comes along as hidden fields."""

    def __init__(self, sent: QueryDict, questions: Iterable[Question]) -> None:
        self.values: dict[str, str | None] = {}
        self.cannot_tell: set[str] = set()
        for question in questions:
            given = sent.get(_PICKED + question.key)
            if given == _CANNOT_TELL:
                self.cannot_tell.add(question.key)
            elif given == _NONE:
                self.values[question.key] = None
            elif given is not None and given.startswith(_OPTION):
                self.values[question.key] = given.removeprefix(_OPTION)
        self.example_id = whole_number(sent.get("example")) or 0

    def next_of(self, questions: Iterable[Question]) -> Question | None:
        """The first question without an answer."""
        done = {*self.values, *self.cannot_tell}
        return next((each for each in questions if each.key not in done), None)

    @property
    def hidden(self) -> Mapping[str, str]:
        """Fields that say again what was answered so far."""
        fields = {
            _PICKED + key: _NONE if value is None else _OPTION + value for key, value in self.values.items()
        }
        return fields | {_PICKED + key: _CANNOT_TELL for key in self.cannot_tell}
