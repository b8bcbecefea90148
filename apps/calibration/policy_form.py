"""All the forms of one policy as one: filled from rules, read back into rules, each refusal beside its field."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.text import slugify

from apps.calibration.forms import (
    AnswerRules,
    CostsForm,
    HoldForm,
    LabelForm,
    MetadataRules,
    NumbersForm,
    TextRules,
    answer_value,
    value_text,
)
from apps.core.errors import InvalidInput
from apps.policies.readable import MATRIX_LIMIT
from apps.policies.rules import read_rules
from apps.routing.types import UNKNOWN_LABEL
from apps.workflows.models import Question

# What the form calls by another name than the file.
_FIELDS = {"question": "answer", "option": "answer"}


class PolicyForm:
    """`rules` are those it starts from; `data` is what was sent, None to show what is there.

    Above MATRIX_LIMIT labels `costs` is None and the costs of `rules` stay: they are edited in a file.
    `questions` are those the fields stand for: of what was sent, those of the version that was shown.
    """

    def __init__(
        self,
        *,
        questions: Sequence[Question],
        rules: Mapping[str, Any],
        note: str = "",
        data: QueryDict | None = None,
    ) -> None:
        self._rules = rules
        self._names = next((each.option_names for each in questions if each.is_routing), {})
        self.numbers = NumbersForm(data, initial={**rules, "note": note}, prefix="numbers")
        self.labels = [
            LabelForm(data, name=name, initial=self._label(label), prefix=f"label-{at}")
            for at, (label, name) in enumerate(self._names.items())
        ]
        self.costs = self._costs(data) if len(self._names) <= MATRIX_LIMIT else None
        # What was sent says itself which rows there are: the draft may have others by now.
        rows = {kind: [] if data else [*self._rows(kind)] for kind in ("text", "metadata", "answer")}
        self.texts = TextRules(data, initial=rows["text"], prefix="text")
        self.metadata = MetadataRules(data, initial=rows["metadata"], prefix="metadata")
        self.answers = AnswerRules(
            data, initial=rows["answer"], prefix="answer", form_kwargs={"questions": questions}
        )
        held = {hold["question"]: hold for hold in rules["holds"]}
        self.holds = [
            HoldForm(data, question=question, initial=held.get(question.key), prefix=f"hold-{at}")
            for at, question in enumerate(questions)
            if not question.is_routing or question.key in held
        ]
        self._places: dict[str, tuple[forms.Form, str]] = {}

    @property
    def named_labels(self) -> list[tuple[str, LabelForm]]:
        return list(zip(self._names.values(), self.labels, strict=True))

    @property
    def note(self) -> str:
        note: str = self.numbers.cleaned_data["note"]
        return note

    def is_valid(self, questions: Sequence[Question]) -> bool:
        """Whether every field can be read, and the policy they make can be obeyed with these questions."""
        every: list[forms.Form] = [self.numbers, *self.labels, *self.holds]
        if self.costs is not None:
            every.append(self.costs)
        # Lists, not generators: all are asked, so that all errors show at once.
        rows = [each.is_valid() for each in (self.texts, self.metadata, self.answers)]
        if not all([*rows, *[form.is_valid() for form in every]]):
            return False
        try:
            read_rules(self.to_rules(), questions)
        except InvalidInput as error:
            self.show(error)
            return False
        return True

    def to_rules(self) -> dict[str, Any]:
        """What was typed, in the form that `read_rules` checks; for forms that could be read."""
        self._places = {}
        typed = {name: value for name, value in self.numbers.cleaned_data.items() if name != "note"}
        labels, critical = {}, {}
        for label, form in zip(self._names, self.labels, strict=True):
            labels[label] = {
                name: form.cleaned_data[name] for name in ("threshold", "autonomy", "target_error")
            }
            if form.cleaned_data["critical"] is not None:
                critical[label] = form.cleaned_data["critical"]
            self._places |= {f"labels.{label}": (form, ""), f"critical.{label}": (form, "critical")}
        return {
            **typed,
            "labels": labels,
            "critical": critical,
            "costs": self._typed_costs(),
            "overrides": self._typed_overrides(),
            "holds": self._typed_holds(),
            # Fitted, never typed: a version without it is proposed where it was proposed with it.
            "maps": self._rules.get("maps", {}),
        }

    def show(self, error: InvalidInput) -> None:
        """Each problem beside the field it is about, or above the form it belongs to."""
        for problem in error.problems:
            place = max((each for each in self._places if _leads_to(each, problem.path)), key=len, default="")
            form, field = self._places.get(place, (self.numbers, ""))
            word = re.match(r"\w+", problem.path.removeprefix(place).lstrip("."))
            name = field or (_FIELDS.get(word[0], word[0]) if word else "")
            if name in form.fields and not form.fields[name].widget.is_hidden:
                form.add_error(name, f"{problem.message[:1].upper()}{problem.message[1:]}.")
            else:
                form.add_error(None, f"{problem.path}: {problem.message}.")

    def _label(self, label: str) -> dict[str, Any]:
        rule = self._rules["labels"].get(label, {})
        return {
            "threshold": rule.get("threshold", UNKNOWN_LABEL.threshold),
            "autonomy": rule.get("autonomy", UNKNOWN_LABEL.autonomy.value),
            "target_error": rule.get("target_error", UNKNOWN_LABEL.target_error),
            "critical": self._rules["critical"].get(label),
        }

    def _costs(self, data: QueryDict | None) -> CostsForm:
        initial = {
            f"cost-{i}-{j}": self._rules["costs"].get(predicted, {}).get(true)
            for i, predicted in enumerate(self._names)
            for j, true in enumerate(self._names)
        }
        return CostsForm(data, names=list(self._names.values()), initial=initial, prefix="costs")

    def _rows(self, kind: str) -> Iterator[dict[str, Any]]:
        for override in self._rules["overrides"]:
            if override["kind"] != kind:
                continue
            row = dict(override)
            if kind == "text":
                row["words"] = "\n".join(override["words"])
            elif kind == "metadata":
                row["value"] = value_text(override.get("value"))
            else:
                row["answer"] = answer_value(override["question"], override.get("option"))
            yield row

    def _typed_costs(self) -> dict[str, dict[str, float]]:
        if self.costs is None:
            costs: dict[str, dict[str, float]] = self._rules["costs"]
            return costs
        typed: dict[str, dict[str, float]] = {}
        for i, predicted in enumerate(self._names):
            for j, true in enumerate(self._names):
                cost = self.costs.cleaned_data.get(f"cost-{i}-{j}")
                if cost is not None:
                    typed.setdefault(predicted, {})[true] = cost
                self._places[f"costs.{predicted}.{true}"] = (self.costs, f"cost-{i}-{j}")
        return typed

    def _typed_overrides(self) -> list[dict[str, Any]]:
        overrides: list[dict[str, Any]] = []
        for kind, rows in (("text", self.texts), ("metadata", self.metadata), ("answer", self.answers)):
            for form in rows.forms:
                if not form.cleaned_data or form.cleaned_data["DELETE"]:
                    continue
                self._places[f"overrides[{len(overrides)}]"] = (form, "")
                overrides.append(_override(kind, form.cleaned_data))
        taken = {override["id"] for override in overrides}
        for override in overrides:
            if not override["id"]:
                override["id"] = _free_id(override["name"], taken)
                taken.add(override["id"])
        return overrides

    def _typed_holds(self) -> list[dict[str, Any]]:
        holds: list[dict[str, Any]] = []
        for form in self.holds:
            typed = {name: value for name, value in form.cleaned_data.items() if value is not None}
            if typed:
                self._places[f"holds[{len(holds)}]"] = (form, "")
                holds.append({"question": form.question.key, **typed})
        return holds


def _override(kind: str, typed: Mapping[str, Any]) -> dict[str, Any]:
    override = {"kind": kind, "id": typed["id"], "name": typed["name"]}
    if kind == "text":
        return override | {"words": typed["words"]}
    if kind == "metadata":
        return override | {"field": typed["field"], "op": typed["op"], "value": typed["value"]}
    question, option = typed["answer"]
    return override | {"question": question, "option": option, "at_least": typed["at_least"]}


def _free_id(name: str, taken: set[str]) -> str:
    base = slugify(name)[:50] or "rule"
    return next(each for each in (base, *(f"{base}-{n}" for n in range(2, 1_000))) if each not in taken)


def _leads_to(place: str, path: str) -> bool:
    return path == place or path.startswith((f"{place}.", f"{place}["))
