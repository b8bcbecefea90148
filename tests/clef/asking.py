"""A client whose server is a function, whose pauses are noted and whose chance is fixed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from apps.clef.client import ClefClient
from apps.clef.errors import ClefError
from apps.clef.types import EndpointKind, EndpointSettings, ModelReply, ModelRequest

from .recordings import WA1, Recording

Respond = Callable[[httpx.Request], httpx.Response]
SECRET_TEXT = "Dear sirs, my account number is 4711-0815 and I want my money back."


def settings_for(kind: EndpointKind = "workers-ai", **changes: Any) -> EndpointSettings:
    base_url = "https://api.example.test/client/v4" if kind == "workers-ai" else "https://model.example.test"
    fields = {"kind": kind, "base_url": base_url, "model": "clef", "secret": "s3cret", "account_id": "a1b2"}
    return EndpointSettings(**{**fields, **changes})


def request_for(recording: Recording = WA1, state: Any = SECRET_TEXT) -> ModelRequest:
    return ModelRequest(state, recording.questions)


class Asking:
    """Asks once with every reply of `replies` in turn; the last one stays."""

    def __init__(
        self, *replies: httpx.Response | Exception, kind: EndpointKind = "workers-ai", **more: Any
    ) -> None:
        self._replies = list(replies)
        self.requests: list[httpx.Request] = []
        self.pauses: list[float] = []
        self.client = ClefClient(
            settings_for(kind, **more),
            transport=httpx.MockTransport(self._respond),
            sleep=self.pauses.append,
            random=lambda: 1.0,
        )

    def _respond(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        reply = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        if isinstance(reply, Exception):
            raise reply
        # A response can be read once; the recorded one may be needed again.
        return httpx.Response(reply.status_code, headers=reply.headers, content=reply.content)

    def decide(self, recording: Recording = WA1, **more: Any) -> ModelReply:
        with self.client:
            return self.client.decide(request_for(recording), **more)

    def fail(self, recording: Recording = WA1, **more: Any) -> ClefError:
        with self.client, pytest.raises(ClefError) as caught:
            self.client.decide(request_for(recording), **more)
        return caught.value


def ok(recording: Recording = WA1, **headers: str) -> httpx.Response:
    return httpx.Response(200, json=recording.document, headers=headers)
