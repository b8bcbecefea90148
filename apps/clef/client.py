"""Asks a decision model over HTTP and hands back a checked reply or a named error."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from random import random as uniform_draw
from types import TracebackType
from typing import Self

import httpx

from .errors import ClefError, EndpointBusy, EndpointUnreachable, InvalidReply
from .failures import parse_error_body, request_id, to_error
from .replies import check_reply, is_failure, parse
from .types import EndpointSettings, ModelReply, ModelRequest
from .wire import to_body

MAX_REPLY_BYTES = 4 * 1024 * 1024
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 8.0


@cache
def _trusted_certificates() -> ssl.SSLContext:
    """Loading them takes 40 ms, and once is enough for a process."""
    return httpx.create_ssl_context()


@dataclass(frozen=True, slots=True)
class _Received:
    status: int
    headers: httpx.Headers
    content: bytes
    latency_s: float


class ClefClient:
    """One endpoint, asked over kept-alive connections; may be shared by `pool_size` threads.

    `transport`, `sleep`, `random` (a draw from 0 to 1) and `clock` (seconds, only differences count)
    are there to be replaced in tests.
    """

    def __init__(
        self,
        settings: EndpointSettings,
        *,
        pool_size: int = 32,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
        random: Callable[[], float] = uniform_draw,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._sleep, self._random, self._clock = sleep, random, clock
        headers = {"content-type": "application/json", "accept": "application/json", "user-agent": "fermata"}
        if settings.secret is not None:
            headers["authorization"] = f"Bearer {settings.secret}"
        host = httpx.URL(settings.base_url).host
        self._http = httpx.Client(
            headers=headers,
            timeout=settings.timeout_s,
            limits=httpx.Limits(max_connections=pool_size, max_keepalive_connections=pool_size),
            transport=transport,
            verify=_trusted_certificates(),
            # A proxy named in the environment is for the outside; a server on this machine is asked directly.
            trust_env=host not in ("localhost", "127.0.0.1", "::1"),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def decide(self, request: ModelRequest, *, deadline_s: float | None = None) -> ModelReply:
        """Asks until there is an answer, the error is final, or the budget of attempts is spent.

        Raises a ClefError. `deadline_s` bounds the whole call, pauses included: an attempt that could not
        end in time is not begun. Asking again is safe (nothing changes outside) but is billed again.
        """
        settings = self._settings
        body = to_body(request, model=settings.model_in_body, max_bytes=settings.max_request_bytes)
        started, attempt = self._clock(), 0
        while True:
            attempt += 1
            try:
                return self._ask(request, body, attempt)
            except ClefError as error:
                error.attempts = attempt
                pause_s = self._pause_s(error)
                spent_s = self._clock() - started
                late = deadline_s is not None and spent_s + pause_s + settings.timeout_s > deadline_s
                if late or not self._may_repeat(error):
                    raise
            self._sleep(pause_s)

    def _may_repeat(self, error: ClefError) -> bool:
        budget = self._settings.max_attempts - 1
        if error.worthwhile_retries is not None:
            budget = min(budget, error.worthwhile_retries)
        return error.retry and error.attempts <= budget

    def _pause_s(self, error: ClefError) -> float:
        """What the server asks for, else a full-jitter pause whose upper end doubles up to 8 s."""
        if error.retry_after_s is not None:
            return error.retry_after_s
        return self._random() * min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0**error.attempts)

    def _ask(self, request: ModelRequest, body: bytes, attempt: int) -> ModelReply:
        received = self._exchange(body)
        if not 200 <= received.status < 300:
            document = parse_error_body(received.content)
            raise to_error(
                self._settings.kind, received.status, received.headers, document, state=request.state
            )
        try:
            return self._read(request, received, attempt)
        except InvalidReply as error:
            error.http_status = received.status
            error.request_id = error.request_id or request_id(received.headers)
            raise

    def _read(self, request: ModelRequest, received: _Received, attempt: int) -> ModelReply:
        text = _to_text(received.content)
        document = parse(text)
        kind = self._settings.kind
        if is_failure(document):
            raise to_error(kind, received.status, received.headers, document, state=request.state)
        checked = check_reply(
            document, request.questions, kind=kind, asked_model=self._settings.model_in_body
        )
        return ModelReply(
            model=checked.model,
            answers=checked.answers,
            request_id=request_id(received.headers),
            http_status=received.status,
            latency_s=received.latency_s,
            input_tokens=checked.input_tokens,
            output_tokens=checked.output_tokens,
            body=text,
            warnings=checked.warnings,
            attempts=attempt,
        )

    def _exchange(self, body: bytes) -> _Received:
        started = self._clock()
        error: ClefError
        try:
            with self._http.stream("POST", self._settings.url, content=body) as response:
                content = self._read_bounded(response, started)
                return _Received(response.status_code, response.headers, content, self._clock() - started)
        except httpx.PoolTimeout:
            error = EndpointBusy("no connection of our own pool was free in time", code="pool")
        except httpx.DecodingError:
            error = InvalidReply("the reply's compression is broken", code="not_json")
        except httpx.TransportError as problem:
            error = EndpointUnreachable(str(problem) or type(problem).__name__, code=type(problem).__name__)
        # Raised out here: httpx's exceptions hold the request, and with it the state.
        raise error

    def _read_bounded(self, response: httpx.Response, started: float) -> bytes:
        content = bytearray()
        for chunk in response.iter_bytes():
            content += chunk
            if len(content) > MAX_REPLY_BYTES:
                raise InvalidReply(f"the reply is longer than {MAX_REPLY_BYTES:,} bytes", code="reply_size")
            # httpx bounds the wait for each piece; a server that drips would never reach that bound.
            if self._clock() - started > self._settings.timeout_s:
                raise EndpointUnreachable("the reply did not end in time", code="ReadTimeout")
        return bytes(content)


def _to_text(content: bytes) -> str:
    text = None
    try:
        text = content.decode()
    except UnicodeDecodeError:
        problem = "the reply is not UTF-8"
    if text is None:
        raise InvalidReply(problem, code="not_json")
    return text
