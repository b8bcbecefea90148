from __future__ import annotations

from datetime import UTC, datetime, time

from django import forms

from apps.core.errors import InvalidInput
from apps.workflows.models import Role, Scope


class _Form(forms.Form):
    def add_problems(self, wrong: InvalidInput) -> None:
        """What a service refused, beside the field it names."""
        for problem in wrong.problems:
            self.add_error(problem.path if problem.path in self.fields else None, problem.message)


class MemberForm(_Form):
    prefix = "member"
    username = forms.CharField(
        max_length=80,
        label="User name",
        help_text="Somebody who can already sign in. A name that is listed gets the new role.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "dir": "auto"}),
    )
    role = forms.ChoiceField(choices=Role.choices)


class TokenForm(_Form):
    prefix = "token"
    name = forms.CharField(
        max_length=80,
        help_text="What will use it",
        widget=forms.TextInput(attrs={"autocomplete": "off", "dir": "auto"}),
    )
    scopes = forms.MultipleChoiceField(choices=Scope.choices, widget=forms.CheckboxSelectMultiple)
    expires_on = forms.DateField(
        required=False,
        label="Last day",
        help_text="Valid to the end of this day, UTC. Empty: until it is revoked.",
        widget=forms.DateInput(attrs={"type": "date"}),
    )

    def expires_at(self) -> datetime | None:
        day = self.cleaned_data["expires_on"]
        return None if day is None else datetime.combine(day, time.max, tzinfo=UTC)

    def clean_expires_on(self) -> object:
        day = self.cleaned_data["expires_on"]
        if day is not None and day < datetime.now(UTC).date():
            raise forms.ValidationError("This day is over.")
        return day


class LimitsForm(_Form):
    """The bounds are the model's; the service checks them again."""

    prefix = "limits"
    lease_s = forms.IntegerField(
        min_value=30,
        max_value=86_400,
        label="Item stays on a desk, seconds",
        help_text="30 to 86 400; renewed while the page is in use",
    )
    undo_s = forms.IntegerField(
        min_value=0,
        max_value=3_600,
        label="Answer can be taken back for, seconds",
        help_text="0 to 3 600; its action starts after that",
    )
    due_hours = forms.IntegerField(
        min_value=1,
        max_value=8_760,
        label="Item may wait, hours",
        help_text="1 to 8 760; then people decide what the model could not",
    )


class ReadingForm(_Form):
    prefix = "reading"
    reads_quoted = forms.BooleanField(
        required=False,
        label="Quoted history of mail",
        help_text="What a reply repeats of earlier mails. For mail that comes from now on.",
    )
    reads_signature = forms.BooleanField(
        required=False, label="Signatures of mail", help_text="For mail that comes from now on."
    )
    reads_images = forms.BooleanField(
        required=False,
        label="Images",
        help_text="And the first pages of PDFs. Switched off, the model reads the text alone, and items of images "
        "alone go to people.",
    )
    fits_images = forms.BooleanField(
        required=False,
        label="Scale images down where they do not fit",
        help_text="Switched off, items whose images are too large for a request go to people.",
    )


class TopFieldsForm(_Form):
    prefix = "top"
    top_fields = forms.CharField(
        required=False,
        max_length=3_000,
        label="Shown first",
        help_text="One name a line, in this order; order.total is a field inside another. For items that are JSON "
        "objects: everything else follows below.",
        widget=forms.Textarea(attrs={"rows": 4, "dir": "auto", "spellcheck": "false"}),
    )

    def clean_top_fields(self) -> list[str]:
        lines = self.cleaned_data["top_fields"].splitlines()
        return [line.strip() for line in lines if line.strip()]
