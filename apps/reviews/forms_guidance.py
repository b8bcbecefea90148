"""What managers send of guidelines and examples."""

from __future__ import annotations

from collections.abc import Sequence

from django import forms
from django.http import QueryDict

from apps.core.errors import InvalidInput
from apps.reviews.guidance_examples import LONGEST_NOTE, Showable
from apps.workflows.parts import LONGEST_GUIDELINE

_GOOD, _BAD = "good", "bad"


class GuidelineForm(forms.Form):
    text = forms.CharField(
        required=False,
        max_length=LONGEST_GUIDELINE,
        label="What people should know",
        help_text="Markdown: # heading, **strong**, - list, [link](https://…), tables. Empty takes it away.",
        widget=forms.Textarea(attrs={"rows": 16, "dir": "auto"}),
    )

    def add_problems(self, wrong: InvalidInput) -> None:
        for problem in wrong.problems:
            self.add_error(problem.path if problem.path in self.fields else None, problem.message)


class ExampleForm(forms.Form):
    """`shows` is "good:<question>:<option>" or "bad:…"; a question's key holds no colon."""

    note = forms.CharField(
        required=False,
        max_length=LONGEST_NOTE,
        label="Why",
        widget=forms.TextInput(attrs={"dir": "auto", "autocomplete": "off"}),
    )

    def __init__(self, sent: QueryDict | None = None, *, showable: Sequence[Showable]) -> None:
        super().__init__(sent)
        self.fields["shows"] = forms.ChoiceField(label="It shows", choices=_choices(showable))
        self.order_fields(["shows", "note"])

    @property
    def is_good(self) -> bool:
        return str(self.cleaned_data["shows"]).startswith(f"{_GOOD}:")

    @property
    def question_key(self) -> str:
        return str(self.cleaned_data["shows"]).split(":", 2)[1]

    @property
    def option(self) -> str:
        return str(self.cleaned_data["shows"]).split(":", 2)[2]


def _choices(showable: Sequence[Showable]) -> list[tuple[str, list[tuple[str, str]]]]:
    """What it is of each question, and all that it is not, for which it may still be taken."""
    good, bad = [], []
    for each in showable:
        key = each.question.key
        for option, name in each.question.option_names.items():
            told = f"{key.replace('_', ' ')}: {name}"
            if option == each.settled:
                good.append((f"{_GOOD}:{key}:{option}", told))
            else:
                bad.append((f"{_BAD}:{key}:{option}", told))
    return [("What this is", good), ("What this is not, though it looks like it", bad)]
