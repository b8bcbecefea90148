from __future__ import annotations

from typing import Any

from django import forms

from apps.core.errors import InvalidInput
from apps.insights.forms_items import LARGEST_ID
from apps.insights.items import label_names
from apps.insights.selectors import question_names
from apps.reviews.exports import LabelQuery, parse_label_query
from apps.reviews.models import Label
from apps.workflows.models import Workflow

PLACES = ("before", "after")
ANY = ("", "Any")
_TEXT = {"autocomplete": "off", "dir": "auto"}


class LabelFilter(forms.Form):
    """The filters of the labels page. What they mean is decided by `parse_label_query`, as for API and shell."""

    question = forms.CharField(required=False)
    value = forms.CharField(
        required=False, help_text="An option's id", widget=forms.TextInput(attrs=_TEXT | {"list": "values"})
    )
    source = forms.CharField(required=False, widget=forms.Select(choices=[ANY, *Label.Source.choices]))
    since = forms.CharField(required=False, label="From", widget=forms.TextInput(attrs={"type": "date"}))
    until = forms.CharField(
        required=False, label="Up to and with", widget=forms.TextInput(attrs={"type": "date"})
    )
    blind = forms.CharField(
        required=False,
        label="Model's answer",
        widget=forms.Select(choices=[ANY, ("true", "Hidden (blind)"), ("false", "Visible")]),
    )
    before = forms.IntegerField(required=False, min_value=1, max_value=LARGEST_ID, widget=forms.HiddenInput)
    after = forms.IntegerField(required=False, min_value=0, max_value=LARGEST_ID, widget=forms.HiddenInput)

    def __init__(self, *args: Any, workflow: Workflow, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.workflow = workflow
        self.query = LabelQuery()
        # The questions and labels are the workflow's own.
        self.values = label_names(workflow)
        self.fields["question"].widget = forms.Select(choices=[ANY, *question_names(workflow).items()])

    def clean(self) -> dict[str, Any]:
        given = {name: text for name, text in self.data.items() if name not in PLACES}
        try:
            self.query = parse_label_query(given)
        except InvalidInput as wrong:
            for problem in wrong.problems:
                if problem.path in self.fields:
                    self.add_error(problem.path, problem.message)
                else:
                    self.add_error(None, f"{problem.path} {problem.message}")
        return self.cleaned_data
