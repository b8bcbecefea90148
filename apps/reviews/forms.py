"""The desk's form as browsers send it, with JavaScript and without.

`q:<question>` is what the person picked, `s:<question>` what was suggested on the page they saw; an option is
`o:<id>`, so that no option's id can be mistaken for `none` (none of these) or `cannot_tell`. `said:<question>` is
typed beside either: the option proposed, or why one cannot tell.
"""

from __future__ import annotations

from dataclasses import dataclass

from django import forms
from django.http import QueryDict

from apps.core.errors import FieldProblem
from apps.reviews.selectors import DeskQuestion
from apps.reviews.services import LONGEST_NOTE, SubmittedAnswer

_PICKED, _SUGGESTED, _SAID, _OPTION = "q:", "s:", "said:", "o:"
_NONE, _CANNOT_TELL = "none", "cannot_tell"

CANNOT_TELL_REASONS = ("Not for us", "Unreadable", "Information is missing")
"""Offered beside "cannot tell"; any other may be typed."""

SKIP_REASONS = (
    "I am not sure",
    "It is in a language I do not read",
    "Information is missing",
    "A colleague knows better",
    "Not now",
)


class LeaseForm(forms.Form):
    lease = forms.UUIDField(error_messages={"required": "is missing", "invalid": "is not valid"})

    def problems(self) -> tuple[FieldProblem, ...]:
        return tuple(
            FieldProblem(name, " ".join(str(error) for error in errors))
            for name, errors in self.errors.items()
        )


class SkipForm(LeaseForm):
    reason = forms.ChoiceField(choices=[(reason, reason) for reason in SKIP_REASONS])


class AnswerForm(LeaseForm):
    note = forms.CharField(required=False, max_length=LONGEST_NOTE)

    def __init__(self, sent: QueryDict) -> None:
        super().__init__(sent)
        self._sent = sent

    @property
    def typed_note(self) -> str:
        """As typed, also when it cannot be stored: the person gets it back."""
        return str(self._sent.get("note", ""))

    @property
    def figures(self) -> str:
        """Those that stood above the item (`bar.Bar.carried`)."""
        return str(self._sent.get("figures", ""))

    @property
    def seconds(self) -> float | None:
        """Active seconds by the browser's clock; None where it could not say, which never costs an answer."""
        try:
            seconds = forms.FloatField(min_value=0).clean(self._sent.get("seconds"))
        except forms.ValidationError:
            return None
        return float(seconds)

    def answers(self) -> dict[str, SubmittedAnswer]:
        """What was picked; where "accept" was pressed, what was suggested for the rest."""
        accepted = self._answers(_SUGGESTED) if "accept" in self._sent else {}
        return accepted | self.picked()

    def picked(self) -> dict[str, SubmittedAnswer]:
        return self._answers(_PICKED)

    def _answers(self, prefix: str) -> dict[str, SubmittedAnswer]:
        answers = {}
        for name in (name for name in self._sent if name.startswith(prefix)):
            key, value = name.removeprefix(prefix), str(self._sent[name])
            answers[key] = SubmittedAnswer(
                value=value.removeprefix(_OPTION) if value.startswith(_OPTION) else None,
                none_of_these=value == _NONE,
                cannot_tell=value == _CANNOT_TELL,
                said=self._said(key),
            )
        return answers

    def _said(self, key: str) -> str:
        """Without a script both fields for it are sent: the last that was filled in."""
        typed = [str(text).strip() for text in self._sent.getlist(f"{_SAID}{key}")]
        return next((text for text in reversed(typed) if text), "")


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question as it stands on the page: with what was picked before, when the form came back."""

    question: DeskQuestion
    picked: SubmittedAnswer | None
    problem: str

    @property
    def came_back(self) -> bool:
        """It holds what this person did, and is nobody else's."""
        return self.picked is not None or bool(self.problem)


def asked_questions(
    questions: tuple[DeskQuestion, ...], form: AnswerForm | None, problems: tuple[FieldProblem, ...]
) -> list[AskedQuestion]:
    picked = form.picked() if form else {}
    why = {problem.path.removeprefix("answers."): problem.message for problem in problems}
    return [
        AskedQuestion(question, picked.get(question.key), why.get(question.key, "")) for question in questions
    ]
