"""Which fault the next decision meets, and what `POST /faults` may say about it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import cycle
from typing import Any

from .faults import LONGEST_S, Fault, read_fault


class Misbehaviour:
    """Faults in turn, one a decision; None among them is an ordinary answer. `clock` counts seconds."""

    def __init__(
        self, faults: Iterable[str | None] = (), *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._faults = iter(faults)
        self._until: float | None = None

    def set(self, faults: Sequence[str | None], *, repeat: bool = False, for_s: float | None = None) -> None:
        """In place of what was set before; `for_s` repeats them until so many seconds have passed.

        Raises ValueError for a fault or a time that means nothing.
        """
        if for_s is not None and not 0 < for_s <= LONGEST_S:
            raise ValueError(f"the time must be more than 0 and at most {LONGEST_S:.0f} seconds")
        for name in faults:
            read_fault(name)
        with self._lock:
            self._faults = cycle(faults) if repeat or for_s is not None else iter(faults)
            self._until = None if for_s is None else self._clock() + for_s

    def next(self) -> Fault | None:
        with self._lock:
            if self._until is not None and self._clock() >= self._until:
                self._faults, self._until = iter(()), None
            return read_fault(next(self._faults, None))

    def set_from(self, document: Any) -> None:
        """As a body of `POST /faults` says. Raises ValueError naming what is wrong with it."""
        faults = document.get("faults") if isinstance(document, dict) else None
        if not isinstance(faults, list):
            raise ValueError("faults must be a list of names")
        for_s = document.get("for_seconds")
        if for_s is not None and (isinstance(for_s, bool) or not isinstance(for_s, int | float)):
            raise ValueError("for_seconds must be a number")
        self.set(faults, repeat=bool(document.get("repeat")), for_s=for_s)
