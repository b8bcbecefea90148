"""The form of the rules of opinions. What they must be is said in `reviews.rules`; this only reads what was typed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.forms import BoundField

from apps.core.errors import InvalidInput
from apps.reviews.models import ReviewRules
from apps.reviews.models_rules import MOST_OPINIONS
from apps.reviews.rules import RulesChange

_LABEL = "label:"


def _people(label: str, help_text: str = "", **more: Any) -> forms.IntegerField:
    return forms.IntegerField(min_value=1, max_value=MOST_OPINIONS, label=label, help_text=help_text, **more)


class RulesForm(forms.Form):
    """A field for each of `labels`, which are names by id; what people typed is in per cent where rules have shares."""

    wanted = _people("People for every item", "Each answers without seeing the others or the model.")
    second_share = forms.FloatField(
        min_value=0,
        max_value=100,
        label="Share with two people, per cent",
        help_text="Of items that need only one, drawn at random: how well people agree is known from these.",
    )
    consensus = forms.ChoiceField(choices=ReviewRules.Consensus, label="When they differ")
    most = _people(
        "People at most",
        "While more than half do not agree, one more is asked up to this many; then a senior decides.",
    )

    def __init__(self, *args: Any, labels: Mapping[str, str], **more: Any) -> None:
        super().__init__(*args, **more)
        self._labels = labels
        for label, name in labels.items():
            self.fields[f"{_LABEL}{label}"] = _people(name, required=False)

    @classmethod
    def of(cls, rules: ReviewRules, labels: Mapping[str, str]) -> RulesForm:
        """Filled in with the rules as they are."""
        values: dict[str, Any] = {name: getattr(rules, name) for name in ("wanted", "most", "consensus")}
        values["second_share"] = f"{round(rules.second_share * 100, 6):g}"
        values |= {f"{_LABEL}{label}": wanted for label, wanted in rules.wanted_by_label.items()}
        return cls(labels=labels, initial=values)

    @property
    def by_label(self) -> list[tuple[str, BoundField]]:
        return [(name, self[f"{_LABEL}{label}"]) for label, name in self._labels.items()]

    @property
    def change(self) -> RulesChange:
        """Of a valid form."""
        values = self.cleaned_data
        by_label = {label: values[f"{_LABEL}{label}"] for label in self._labels}
        return RulesChange(
            wanted=values["wanted"],
            wanted_by_label={label: wanted for label, wanted in by_label.items() if wanted},
            second_share=values["second_share"] / 100,
            most=values["most"],
            consensus=values["consensus"],
        )

    def add_problems(self, wrong: InvalidInput) -> None:
        """What the service refused, beside the field it names."""
        for problem in wrong.problems:
            name = problem.path.replace("wanted_by_label.", _LABEL, 1)
            self.add_error(name if name in self.fields else None, problem.message)
