from __future__ import annotations

from typing import Any

from django import forms

from apps.core.errors import InvalidInput
from apps.insights.forms_items import LARGEST_ID, capitalised
from apps.insights.selectors import option_names, question_names
from apps.reviews.exports import LabelQuery, parse_label_query
from apps.reviews.models import Label
from apps.workflows.models import Workflow

PLACES = ("before", "after")
ANY = ("", "Any")


class LabelFilter(forms.Form):
    """The filters of the labels page. What they mean is decided by `parse_label_query`, as for API and shell."""

    question = forms.CharField(required=False)
    value = forms.CharField(required=False, label="Label")
    source = forms.CharField(
        required=False, widget=forms.Select(choices=[ANY, *capitalised(Label.Source.choices)])
    )
    since = forms.CharField(required=False, label="From", widget=forms.TextInput(attrs={"type": "date"}))
    until = forms.CharField(required=False, label="Until", widget=forms.TextInput(attrs={"type": "date"}))
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
        names = option_names(workflow)
        value = str(self.data.get("value", ""))
        if value and not any(value in options for options in names.values()):
            # An address may ask for what no question offers: the filter in force stays in sight.
            names[""] = {value: value}
        groups = [(question, list(options.items())) for question, options in names.items()]
        self.fields["value"].widget = forms.Select(choices=[ANY, *groups])
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
