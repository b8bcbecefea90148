from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms

from apps.insights.items import ItemQuery, label_names, recent_sources
from apps.items.models import Item, Route
from apps.workflows.models import Workflow

LARGEST_ID = 2**63 - 1


def capitalised(choices: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(value, f"{name[:1].upper()}{name[1:]}") for value, name in choices]


class ItemFilter(forms.Form):
    """The filters of the items page, as they stand in its address."""

    text = forms.CharField(
        required=False,
        max_length=200,
        label="Search",
        widget=forms.TextInput(
            attrs={
                "type": "search",
                "dir": "auto",
                "autocomplete": "off",
                "placeholder": "Words, or an external id",
            }
        ),
    )
    status = forms.ChoiceField(required=False, choices=[("", "Any"), *capitalised(Item.Status.choices)])
    outcome = forms.ChoiceField(required=False, label="Route", choices=[("", "Any"), *Route.Outcome.choices])
    label = forms.ChoiceField(required=False)
    source = forms.CharField(
        required=False,
        max_length=40,
        widget=forms.TextInput(attrs={"list": "sources", "autocomplete": "off"}),
    )
    group = forms.CharField(required=False, max_length=200, strip=False, widget=forms.HiddenInput)
    before = forms.IntegerField(required=False, min_value=1, max_value=LARGEST_ID, widget=forms.HiddenInput)
    after = forms.IntegerField(required=False, min_value=0, max_value=LARGEST_ID, widget=forms.HiddenInput)

    def __init__(self, *args: Any, workflow: Workflow, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # The names are the workflow's own.
        self.fields["label"] = forms.ChoiceField(
            required=False, label="Answer", choices=[("", "Any"), *label_names(workflow).items()]
        )
        self.sources = recent_sources(workflow)

    def to_query(self) -> ItemQuery:
        return ItemQuery(**self.cleaned_data)
