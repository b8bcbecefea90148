"""Stops asking an endpoint that is in trouble, and lets one question through to see whether it is over."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Literal

from .errors import ClefError

CircuitState = Literal["closed", "open", "half-open"]


class CircuitBreaker:
    """Thread-safe; one for each endpoint and process.

    Opens after `failures` failures in a row that a retry may cure, and at once on one that it cannot
    (a refused key, a used-up allowance). After `pause_s` seconds by `clock`, or longer when the server
    asked for it, one probe is let through: its success closes the circuit, its failure opens it again.
    """

    def __init__(
        self, *, failures: int = 5, pause_s: float = 30.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._limit = failures
        self._pause_s = pause_s
        self._clock = clock
        self._lock = threading.Lock()
        self._in_a_row = 0
        self._opens_at: float | None = None
        self._probe_until: float | None = None

    @property
    def state(self) -> CircuitState:
        with self._lock:
            if self._opens_at is None:
                return "closed"
            return "open" if self._clock() < self._opens_at else "half-open"

    def admits(self) -> bool:
        """Whether to ask now. Whoever is let through reports back with succeeded() or failed()."""
        with self._lock:
            if self._opens_at is None:
                return True
            now = self._clock()
            if now < self._opens_at or (self._probe_until is not None and now < self._probe_until):
                return False
            # A probe whose thread died never reports; after another pause the next one is let through.
            self._probe_until = now + self._pause_s
            return True

    def succeeded(self) -> None:
        with self._lock:
            # An answer to a question from before the trouble says nothing about now.
            if self._opens_at is not None and self._probe_until is None:
                return
            self._close()

    def failed(self, error: ClefError) -> None:
        with self._lock:
            if error.scope == "item" and not error.retry:
                self._judge_refusal(error)
                return
            self._in_a_row += 1
            hopeless = not error.retry
            if hopeless or self._probe_until is not None or self._in_a_row >= self._limit:
                pause_s = max(self._pause_s, error.retry_after_s or 0.0)
                self._opens_at = self._clock() + pause_s
                self._probe_until = None

    def _judge_refusal(self, error: ClefError) -> None:
        """A server that refuses one item is well; a refusal of our own, before sending, proves nothing."""
        if error.http_status is None:
            self._probe_until = None
        elif self._opens_at is None or self._probe_until is not None:
            self._close()

    def _close(self) -> None:
        self._in_a_row = 0
        self._opens_at = None
        self._probe_until = None
