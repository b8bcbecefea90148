"""How a person likes their desk: own keys, and the languages they read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from django import forms
from django.db import transaction

from apps.accounts.models import User
from apps.core.languages import NAMES, language_name, tag_typed
from apps.reviews.handing import give_back_unread
from apps.reviews.keys import ACTIONS, BY_ID, KEYS, Action, with_usual
from apps.reviews.models import DeskPreferences
from apps.workflows.models import Workflow

MOST_LANGUAGES = 40

_LANGUAGES = {tag.split("-")[0] for tag in NAMES}
_KEY_NAMES = {key.casefold(): key for key in KEYS} | {" ": "Space"}


class KeysForm(forms.Form):
    """A field a key. The same key for two actions is refused at both, each naming the other."""

    def __init__(self, data: Any = None, *, keys: dict[str, str]) -> None:
        super().__init__(data)
        for action in BY_ID.values():
            self.fields[f"key-{action.id}"] = forms.CharField(
                label=action.says,
                required=False,
                strip=False,
                max_length=10,
                initial=keys[action.id],
                widget=forms.TextInput(
                    attrs={
                        "class": "short",
                        "data-takes-key": "",
                        "autocomplete": "off",
                        "autocapitalize": "none",
                        "spellcheck": "false",
                        "size": "6",
                    }
                ),
            )

    def groups(self) -> list[tuple[str, list[forms.BoundField]]]:
        return [
            (group, [self[f"key-{action.id}"] for action in actions]) for group, actions in ACTIONS.items()
        ]

    def clean(self) -> dict[str, Any]:
        chosen: dict[str, str] = {}
        for action in BY_ID.values():
            typed = str(self.cleaned_data.get(f"key-{action.id}", ""))
            key = _KEY_NAMES.get(typed.casefold() if typed == " " else typed.strip().casefold(), "")
            if typed.strip() and not key:
                self.add_error(f"key-{action.id}", f"“{typed.strip()}” is not a key that can be used here.")
            chosen[action.id] = key
        counted = Counter(key for key in chosen.values() if key)
        for action in BY_ID.values():
            if counted[chosen[action.id]] > 1:
                others = ", ".join(
                    _said(BY_ID[other]) for other in chosen if _clash(chosen, action.id, other)
                )
                self.add_error(f"key-{action.id}", f"Also chosen for: {others}.")
        return {"keys": chosen}


def _clash(chosen: dict[str, str], one: str, other: str) -> bool:
    return one != other and chosen[one] == chosen[other]


def _said(action: Action) -> str:
    return action.says.split(":")[0].split(".")[0]


class LanguagesForm(forms.Form):
    """Those of the person's workflows and those chosen before to tick; more by name or tag."""

    languages = forms.MultipleChoiceField(
        required=False, widget=forms.CheckboxSelectMultiple, label="Languages you read"
    )
    more = forms.CharField(
        required=False,
        max_length=500,
        label="Others",
        help_text="Names or tags, with commas between: German, pt-BR",
        widget=forms.TextInput(attrs={"list": "languages", "autocomplete": "off"}),
    )

    def __init__(self, data: Any = None, *, user: User, chosen: Sequence[str]) -> None:
        super().__init__(data, initial={"languages": chosen})
        theirs = Workflow.objects.filter(memberships__user=user).values_list("content_language", flat=True)
        offered = sorted({*theirs, *chosen}, key=language_name)
        self.fields["languages"].choices = [(tag, language_name(tag)) for tag in offered]  # type: ignore[attr-defined]  # a field that has choices

    def clean_more(self) -> list[str]:
        typed = [part.strip() for part in re.split("[,;]", self.cleaned_data["more"]) if part.strip()]
        unknown = [part for part in typed if _known(part) is None]
        if unknown:
            raise forms.ValidationError(f"Not known as a language: {', '.join(unknown)}.")
        return [tag for part in typed if (tag := _known(part))]

    def clean(self) -> dict[str, Any]:
        chosen = list(
            dict.fromkeys([*self.cleaned_data.get("languages", []), *self.cleaned_data.get("more", [])])
        )
        if len(chosen) > MOST_LANGUAGES:
            raise forms.ValidationError(f"At most {MOST_LANGUAGES} languages.")
        return {"languages": chosen}


def _known(typed: str) -> str | None:
    """Its tag; None also for a language that nobody has heard of: it would keep all items from the person."""
    tag = tag_typed(typed)
    return tag if tag and tag.split("-")[0] in _LANGUAGES else None


def preferences_of(user: User) -> DeskPreferences:
    """Those in force; not saved where the person has chosen nothing yet."""
    return DeskPreferences.objects.filter(user=user).first() or DeskPreferences(user=user)


@transaction.atomic
def save_preferences(*, user: User, keys: dict[str, str], languages: Sequence[str]) -> None:
    """Keeps only the keys that are not the usual ones."""
    usual = with_usual({})
    own = {action: key for action, key in keys.items() if key != usual[action]}
    DeskPreferences.objects.update_or_create(user=user, defaults={"keys": own, "languages": list(languages)})
    give_back_unread(user=user, languages=languages)
