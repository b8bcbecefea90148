"""The fields of the policy page. What a policy must be is said in `policies.rules`; these only read what was typed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from django import forms
from django.utils.functional import cached_property

from apps.core.templatetags.fermata import words
from apps.policies.rules import HOLD_FIELDS
from apps.routing.types import Autonomy, MetadataOp
from apps.workflows.models import Question

EXTRA_ROWS = 2
"""Blank rows after the rules there are: adding one needs no script."""

_AUTONOMY = [
    (Autonomy.SHADOW, "Shadow: people answer without seeing the model"),
    (Autonomy.SUGGEST, "Suggest: people confirm each"),
    (Autonomy.AUDITED, "Audited: automatic, a share is checked"),
    (Autonomy.AUTOMATIC, "Automatic: the least share is checked"),
]
_HOLD_LABELS = {
    "low": "Held when yes is over",
    "high": "and under",
    "threshold": "Held when no option reaches",
    "min_share": "Held when no level reaches",
}


class NumberInput(forms.NumberInput):
    def format_value(self, value: Any) -> str | None:
        """2.0 as "2"; what was typed stays as it was typed."""
        return repr(value).removesuffix(".0") if isinstance(value, float) else super().format_value(value)


def number(
    label: str, *, high: float | None = 1, required: bool = True, attrs: Mapping[str, str] | None = None
) -> forms.FloatField:
    widget = NumberInput(attrs={"step": "any", "inputmode": "decimal", **(attrs or {})})
    return forms.FloatField(label=label, min_value=0, max_value=high, required=required, widget=widget)


class NumbersForm(forms.Form):
    review_cost = number("Cost of a review", high=None)
    margin = number("Margin between the top two")
    audit_rate = number("Audit share, step audited")
    automatic_audit_rate = number("Audit share, step automatic")
    blind_share = number("Share of blind reviews")
    note = forms.CharField(label="Why this change", max_length=300, required=False)


class LabelForm(forms.Form):
    threshold = number("Threshold")
    autonomy = forms.ChoiceField(label="Autonomy", choices=_AUTONOMY)
    target_error = number("Target error")
    critical = number("Always looked at from", required=False)

    def __init__(self, *args: Any, name: str, **more: Any) -> None:
        super().__init__(*args, **more)
        for field in self.fields.values():
            field.widget.attrs["aria-label"] = f"{name}: {field.label}"


class CostsForm(forms.Form):
    """`cost-<i>-<j>`: acting on the i-th label when the truth is the j-th. Blank is the usual 1."""

    def __init__(self, *args: Any, names: Sequence[str], **more: Any) -> None:
        super().__init__(*args, **more)
        self._names = names
        for i, predicted in enumerate(names):
            for j, true in enumerate(names):
                if i != j:
                    label = f"Cost of acting on {predicted} when it is {true}"
                    attributes = {"aria-label": label, "placeholder": "1"}
                    self.fields[f"cost-{i}-{j}"] = number(label, high=None, required=False, attrs=attributes)

    @cached_property
    def rows(self) -> list[tuple[str, list[forms.BoundField | None]]]:
        return [
            (name, [None if i == j else self[f"cost-{i}-{j}"] for j in range(len(self._names))])
            for i, name in enumerate(self._names)
        ]


class _RuleForm(forms.Form):
    id = forms.CharField(widget=forms.HiddenInput, required=False)
    name = forms.CharField(label="Name", max_length=120)


class TextRuleForm(_RuleForm):
    words = forms.CharField(
        label="Words, one a line",
        widget=forms.Textarea(attrs={"rows": 3, "dir": "auto"}),
    )

    def clean_words(self) -> list[str]:
        return [line.strip() for line in self.cleaned_data["words"].splitlines() if line.strip()]


class MetadataRuleForm(_RuleForm):
    field = forms.CharField(label="Field", max_length=200)
    op = forms.ChoiceField(label="Is", choices=[("", "—"), *((op, op) for op in get_args(MetadataOp))])
    value = forms.CharField(
        label="Value",
        required=False,
    )

    def clean(self) -> dict[str, Any]:
        op, value = self.cleaned_data.get("op"), self.cleaned_data.get("value", "")
        if op in ("in", "not in"):
            self.cleaned_data["value"] = _to_list(value)
        elif op in ("missing", "present") and not value:
            self.cleaned_data["value"] = None
        else:
            self.cleaned_data["value"] = _to_scalar(value)
        return self.cleaned_data


class AnswerRuleForm(_RuleForm):
    answer = forms.ChoiceField(label="Answer")
    at_least = number("At least")

    def __init__(self, *args: Any, questions: Sequence[Question], **more: Any) -> None:
        super().__init__(*args, **more)
        answer = self.fields["answer"]
        assert isinstance(answer, forms.ChoiceField)  # noqa: S101 - tells the type checker what stands above
        answer.choices = [("", "—"), *answer_choices(questions)]

    def clean_answer(self) -> tuple[str, str | None]:
        question, option = json.loads(self.cleaned_data["answer"])
        return question, option


class HoldForm(forms.Form):
    """Both fields of a noul, or the one of a choice or a score; left blank, the question holds nothing."""

    def __init__(self, *args: Any, question: Question, **more: Any) -> None:
        super().__init__(*args, **more)
        self.question = question
        for name in HOLD_FIELDS[question.kind]:
            label = _HOLD_LABELS[name]
            attributes = {"aria-label": f"{words(question.key)}: {label}"}
            self.fields[name] = number(label, required=False, attrs=attributes)


TextRules = forms.formset_factory(TextRuleForm, extra=EXTRA_ROWS, max_num=200, can_delete=True)
MetadataRules = forms.formset_factory(MetadataRuleForm, extra=EXTRA_ROWS, max_num=200, can_delete=True)
AnswerRules = forms.formset_factory(AnswerRuleForm, extra=EXTRA_ROWS, max_num=200, can_delete=True)


def answer_choices(questions: Sequence[Question]) -> list[tuple[str, str]]:
    """Every answer a rule can speak of: the value is the question and the option as JSON."""
    choices = []
    for question in questions:
        if question.kind == Question.Kind.NOUL:
            choices.append((answer_value(question.key, None), f"{words(question.key)}: yes"))
            continue
        pattern = "{} or above" if question.kind == Question.Kind.SCORE else "{}"
        for option, name in question.option_names.items():
            choices.append(
                (answer_value(question.key, option), f"{words(question.key)}: {pattern.format(name)}")
            )
    return choices


def answer_value(question: str, option: str | None) -> str:
    return json.dumps([question, option])


def value_text(value: Any) -> str:
    """A rule's value as one would type it, so that it is read back the same."""
    if isinstance(value, list):
        texts = [value_text(each) for each in value]
        return (
            json.dumps(value, ensure_ascii=False) if any("," in text for text in texts) else ", ".join(texts)
        )
    if isinstance(value, str):
        return value if _to_scalar(value) == value else json.dumps(value, ensure_ascii=False)
    return "" if value is None else json.dumps(value)


def _to_scalar(text: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, bool | int | float | str) else text


def _to_list(text: str) -> list[Any]:
    if text.startswith("["):
        try:
            values = json.loads(text)
        except (ValueError, RecursionError):
            values = None
        if isinstance(values, list):
            return values
    return [_to_scalar(part.strip()) for part in text.split(",") if part.strip()]
