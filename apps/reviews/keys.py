"""What can be done on the desk by one key, with the usual key; a person may choose other keys for themselves.

The page's markup, the list behind "?" and the page where keys are chosen all come from this table.
"""

from __future__ import annotations

import json
import string
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from apps.accounts.models import User
from apps.core.db import fetch

MOST_OPTIONS = 9
KEYS = ("Enter", "Space", *string.ascii_lowercase, *string.digits, *"/?+-.,;'[]=")
"""What static/app.js calls the keys it knows. An empty text is no key at all."""

_SHOWN = {"Enter": "Enter", "Space": "Space", "-": "−"}
_FOR_SCREEN_READERS = {"+": "plus", "Enter": "Enter", "Space": "Space"}


@dataclass(frozen=True, slots=True)
class Action:
    id: str
    key: str
    says: str


ACTIONS = {
    "Answer": (
        Action("accept", "Enter", "Accept what is suggested. Where something is chosen already, save that"),
        *(Action(f"option_{n}", str(n), f"Option {n}") for n in range(1, MOST_OPTIONS + 1)),
        Action("none", "n", "None of these: then type which option is missing, or just Enter"),
        Action("cannot_tell", "x", "Cannot tell from this item: then a reason, or just Enter"),
        Action("not_for_us", "o", "Not for us: then Enter"),
        Action("filter_options", "/", "Filter the options, when there are more than nine"),
        Action("unasked", "u", "The questions that are not asked here"),
        Action("note", "c", "Write a note; Esc leaves it"),
        Action("undo", "z", "Undo your last answer"),
    ),
    "Pass it on": (
        Action("skip", "s", "Skip"),
        Action("hand_over", "h", "Hand over to a colleague"),
        Action("escalate", "e", "Escalate to a senior"),
        Action("queue", "q", "The queue: pick an item, or filter"),
    ),
    "Look": (
        Action("guidelines", "g", "What the options mean"),
        Action("as_sent", "v", "A mail as its sender laid it out, and back to its text"),
        Action("conversation", "t", "The conversation"),
        Action("larger", "+", "A picture larger; so does the wheel with Ctrl"),
        Action("smaller", "-", "A picture smaller"),
        Action("fit", "0", "A picture as wide as there is room"),
        Action("rotate", "r", "Rotate the picture"),
        Action("next_picture", "p", "The next picture"),
        Action("keys", "?", "This list; Esc closes it"),
    ),
}
BY_ID = {action.id: action for group in ACTIONS.values() for action in group}


class Keys(Mapping[str, str]):
    """{action: key}, the usual ones but for those a person chose. No key stands for two things. Equal keys are found
    equal, so that markup with them can be kept."""

    def __init__(self, chosen: Mapping[str, str]) -> None:
        self._keys = with_usual(chosen)
        self._hash = hash(tuple(self._keys.items()))

    def __getitem__(self, action: str) -> str:
        return self._keys[action]

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Keys) and self._keys == other._keys


def keys_of(user: User) -> Keys:
    """This person's own, else the usual ones."""
    chosen = fetch("SELECT keys FROM reviews_deskpreferences WHERE user_id = %(user)s", {"user": user.pk})
    return keys_from(chosen[0][0] if chosen else None)


def keys_from(chosen: str | None) -> Keys:
    """Of the JSON in `DeskPreferences.keys`; the usual ones for who has chosen nothing."""
    return Keys(json.loads(chosen)) if chosen else USUAL


def with_usual(chosen: Mapping[str, str]) -> dict[str, str]:
    """What was chosen before an action existed keeps its key: the new action then has none."""
    own = {action: key for action, key in chosen.items() if action in BY_ID}
    taken = set(own.values())
    return {
        action.id: own.get(action.id, "" if action.key in taken else action.key) for action in BY_ID.values()
    }


USUAL = Keys({})


def shown(key: str) -> str:
    return _SHOWN.get(key, key.upper())


def for_screen_readers(key: str) -> str:
    """As `aria-keyshortcuts` names it."""
    return _FOR_SCREEN_READERS.get(key, key.upper())
