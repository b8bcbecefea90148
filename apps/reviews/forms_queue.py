"""The queue's filter as it stands in an address, and the forms that pass an item on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from django import forms
from django.http import HttpRequest, QueryDict
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from apps.accounts.models import User
from apps.core.languages import language_name, tag_typed
from apps.items.models import Item
from apps.policies.models import Policy
from apps.reviews.handing import LONGEST_NOTE, MOST_PRIORITY
from apps.reviews.queue import EVERYTHING, QueueFilter
from apps.workflows.models import Question, Workflow

NEWEST = 1_000
LONGEST_WAIT_H = 8_760
REASONS = {
    "low_confidence": "Low confidence",
    "close_call": "Close call",
    "high_cost": "High cost",
    "critical": "Critical label possible",
    "not_automatic": "Not automatic yet",
    "out_of_scope": "Out of scope",
    "model_error": "No answer by the model",
}


class QueueFilterForm(forms.Form):
    q = forms.CharField(
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
    label = forms.ChoiceField(required=False, label="Suggested")
    reason = forms.ChoiceField(required=False)
    language = forms.CharField(
        required=False,
        max_length=35,
        widget=forms.TextInput(attrs={"list": "queue-languages", "autocomplete": "off", "size": "8"}),
    )
    source = forms.CharField(
        required=False,
        max_length=40,
        widget=forms.TextInput(attrs={"list": "queue-sources", "autocomplete": "off"}),
    )
    older_than_h = forms.IntegerField(
        required=False, min_value=1, max_value=LONGEST_WAIT_H, label="Waiting longer than, hours"
    )

    def __init__(self, data: Mapping[str, Any] | None = None, *, workflow: Workflow) -> None:
        super().__init__(data)
        self.fields["label"] = forms.ChoiceField(
            required=False, label="Suggested", choices=[("", "Any"), *label_names(workflow).items()]
        )
        self.fields["reason"] = forms.ChoiceField(
            required=False, choices=[("", "Any"), *reason_names(workflow).items()]
        )

    def clean_language(self) -> str:
        typed = self.cleaned_data["language"]
        tag = tag_typed(typed)
        if typed and not tag:
            raise forms.ValidationError("Not known as a language. Write it as in “German”, “de” or “pt-BR”.")
        return tag or ""

    def to_filter(self) -> QueueFilter:
        given = self.cleaned_data
        return QueueFilter(
            label=given["label"],
            reason=given["reason"],
            language=given["language"],
            source=given["source"],
            older_than_h=given["older_than_h"],
            text=given["q"],
        )


def filter_of(query: QueryDict, workflow: Workflow) -> QueueFilter | None:
    """None when it cannot be read: what was asked for must not quietly become everything."""
    if not any(query.get(name) for name in QueueFilterForm.base_fields):
        return EVERYTHING
    form = QueueFilterForm(query, workflow=workflow)
    return form.to_filter() if form.is_valid() else None


def carried_filter(request: HttpRequest, workflow: Workflow) -> QueueFilter:
    """The filter that the desk's forms carry in one field, as it stands in the address."""
    carried = str(request.POST.get("filter", ""))
    return (filter_of(QueryDict(carried), workflow) if carried else None) or EVERYTHING


def told_filter(wanted: QueueFilter, workflow: Workflow) -> list[tuple[str, str]]:
    """The filter in words: what, and which."""
    if not wanted:
        return []
    told = [
        ("Suggested", label_names(workflow).get(wanted.label, wanted.label)),
        ("Reason", reason_names(workflow).get(wanted.reason, wanted.reason)),
        ("Language", language_name(wanted.language)),
        ("Source", wanted.source),
        ("Waiting", f"longer than {wanted.older_than_h} h" if wanted.older_than_h else ""),
        ("Search", wanted.text),
    ]
    return [(what, which) for what, which in told if which]


def label_names(workflow: Workflow) -> dict[str, str]:
    """Names of the routing question's options by id, those of all versions; the newest version's name counts."""
    names: dict[str, str] = {}
    questions = Question.objects.filter(question_set__workflow=workflow, is_routing=True)
    for question in questions.order_by("question_set__version"):
        names |= question.option_names
    return names


def reason_names(workflow: Workflow) -> dict[str, str]:
    """Every reason for which the policy in force can hold an item, by its code."""
    rules = (
        Policy.objects.filter(workflow=workflow, status=Policy.Status.ACTIVE)
        .values_list("rules", flat=True)
        .first()
    ) or {}
    overrides = {f"override:{each['id']}": f"Rule: {each['name']}" for each in rules.get("overrides", [])}
    holds = {
        f"question_held:{each['question']}": f"Doubt about {each['question'].replace('_', ' ')}"
        for each in rules.get("holds", [])
    }
    return REASONS | overrides | holds


def recent_places(workflow: Workflow) -> tuple[list[str], list[str]]:
    """Sources and languages of the newest items; the whole table is not read for a list of suggestions."""
    newest = Item.objects.filter(workflow=workflow).order_by("-pk").values_list("source", "language")[:NEWEST]
    pairs = set(newest)
    return sorted({source for source, _ in pairs}), sorted({tongue for _, tongue in pairs if tongue})


class NoteForm(forms.Form):
    """Why an item is passed on: for the next person's eyes."""

    why = forms.CharField(
        max_length=LONGEST_NOTE,
        label="Note for them",
        widget=forms.Textarea(attrs={"rows": 2, "dir": "auto"}),
        error_messages={"required": "Say in a word why."},
    )


class HandOverForm(NoteForm):
    field_order = ("to", "why")

    def __init__(
        self, data: Mapping[str, Any] | None = None, *, people: Sequence[User], takes_focus: bool = False
    ) -> None:
        super().__init__(data, auto_id="hand-over-%s")
        self.people = {each.username: each for each in people}
        self.fields["to"] = forms.ChoiceField(
            label="To",
            choices=[(name, name) for name in self.people],
            widget=forms.Select(attrs={"autofocus": takes_focus}),
            error_messages={"invalid_choice": "This person cannot take this item (any more)."},
        )
        self.order_fields(self.field_order)

    @property
    def person(self) -> User:
        return self.people[self.cleaned_data["to"]]


class EscalateForm(NoteForm):
    def __init__(self, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(data, auto_id="escalate-%s")


@lru_cache(maxsize=1)
def blank_escalate_field() -> SafeString:
    """The form's field before anything is typed: the same on every desk, and made but once."""
    return render_to_string("_field.html", {"field": EscalateForm()["why"]})


class PriorityForm(forms.Form):
    priority = forms.IntegerField(
        min_value=-MOST_PRIORITY,
        max_value=MOST_PRIORITY,
        help_text="The highest comes first; items have 0 unless their source says otherwise.",
    )
    why = forms.CharField(
        required=False,
        max_length=LONGEST_NOTE,
        label="Note",
        widget=forms.Textarea(attrs={"rows": 2, "dir": "auto"}),
    )
