"""How far a mailbox was read: `Source.cursor`, as Python has it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from apps.sources.mailbox.connection import Examined


@dataclass(slots=True)
class Place:
    """In one folder: all up to `uid` is read, as long as the folder has this `validity`.

    `tries` counts how often the mails that come next were fetched without their being taken; up to `careful_to`
    they are fetched one by one. `mails` is how many were in the folder at the last look.
    """

    validity: int
    uid: int = 0
    mails: int = 0
    tries: int = 0
    careful_to: int = 0

    def passed(self, uid: int) -> None:
        self.uid = uid
        self.tries = 0


@dataclass(slots=True)
class Cursor:
    """`read` = `new` + `refused` + those that were there already."""

    read: int = 0
    new: int = 0
    refused: int = 0
    folders: dict[str, Place] = field(default_factory=dict)

    @classmethod
    def of(cls, written: dict[str, Any]) -> Cursor:
        folders = {name: Place(**place) for name, place in written.get("folders", {}).items()}
        return cls(**(written | {"folders": folders}))

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def place_in(self, folder: str, seen: Examined) -> Place:
        """Where to go on. With another `validity` the UIDs mean other mails: from the start, then."""
        place = self.folders.get(folder)
        if place is None or place.validity != seen.validity:
            place = self.folders[folder] = Place(seen.validity)
        place.mails = seen.mails
        return place
