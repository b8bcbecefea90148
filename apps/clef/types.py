"""What is asked of a decision model and what it answers, without a word about HTTP."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal
from urllib.parse import urlsplit

from .errors import EndpointMisconfigured

Kind = Literal["choice", "noul", "score"]
EndpointKind = Literal["workers-ai", "systemone"]
Description = str | dict[str, Any] | list[Any] | None
State = str | dict[str, Any] | list[Any]
MAX_REQUEST_BYTES = 256_000


@dataclass(frozen=True, slots=True)
class ChoiceQuestion:
    """One of several options; `options` maps option id to description, in the order ties are broken."""

    kind: ClassVar[Kind] = "choice"
    id: str
    instructions: str
    options: Mapping[str, Description]

    @property
    def option_ids(self) -> tuple[str, ...]:
        return tuple(self.options)


@dataclass(frozen=True, slots=True)
class NoulQuestion:
    """Yes or no; the answer's options are "true" and "false"."""

    kind: ClassVar[Kind] = "noul"
    id: str
    instructions: str
    yes: Description = None
    no: Description = None

    @property
    def option_ids(self) -> tuple[str, ...]:
        return ("true", "false")


@dataclass(frozen=True, slots=True)
class ScoreQuestion:
    """Ordered levels, lowest first; the answer's options are "0" to "n-1"."""

    kind: ClassVar[Kind] = "score"
    id: str
    instructions: str
    levels: tuple[Description, ...]

    @property
    def option_ids(self) -> tuple[str, ...]:
        return tuple(str(level) for level in range(len(self.levels)))


Question = ChoiceQuestion | NoulQuestion | ScoreQuestion


@dataclass(frozen=True, slots=True)
class Image:
    """A picture as it was received; `content_type` is image/png, image/jpeg or image/webp."""

    content_type: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One state and the questions about it. Clef reads ids, wording and order, so all three matter."""

    state: State = field(repr=False)
    questions: tuple[Question, ...]
    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """The distribution over one question's options.

    `probabilities` sum to 1 and stand in declared order. `raw_confidence` is what the server called
    confidence; its definition differs between servers (see confidence.py), so nothing is decided on it.
    """

    question_id: str
    kind: Kind
    probabilities: tuple[tuple[str, float], ...]
    raw_confidence: float | None = None

    @property
    def top(self) -> str:
        """The most probable option; of equals the first in declared order, whoever answered."""
        return max(self.probabilities, key=lambda pair: pair[1])[0]

    @property
    def p_top(self) -> float:
        return max(p for _, p in self.probabilities)

    def p(self, option_id: str) -> float:
        return dict(self.probabilities)[option_id]


@dataclass(frozen=True, slots=True)
class ModelReply:
    """One checked reply.

    `model` is the name the server gave itself, `latency_s` the time of the attempt that answered,
    `body` the reply's text unchanged, `warnings` what was tolerated in it, `attempts` how often was asked.
    """

    model: str
    answers: Mapping[str, Answer]
    request_id: str | None
    http_status: int
    latency_s: float
    input_tokens: int | None
    output_tokens: int | None
    body: str = field(repr=False)
    warnings: tuple[str, ...] = ()
    attempts: int = 1


@dataclass(frozen=True, slots=True)
class EndpointSettings:
    """Where a model is asked. Raises EndpointMisconfigured, whose code is `settings.<field>`.

    `base_url` is the part before `/accounts/…` for workers-ai, and the server's address with or without
    `/v1` for systemone. `model` may carry `@cf/cloudflare/` in front. `timeout_s` bounds one attempt as
    a whole, `max_request_bytes` the body: hosted endpoints refuse or cut what is longer.
    """

    kind: EndpointKind
    base_url: str
    model: str
    secret: str | None = field(default=None, repr=False)
    account_id: str | None = None
    timeout_s: float = 10.0
    max_attempts: int = 3
    max_request_bytes: int = MAX_REQUEST_BYTES

    def __post_init__(self) -> None:
        if self.kind not in ("workers-ai", "systemone"):
            raise _invalid("kind", "must be workers-ai or systemone")
        _check_base_url(self.base_url)
        _check_model(self.kind, self.model)
        # The secret becomes a header: anything but visible ASCII would break out of it or be refused.
        if self.secret is not None and not re.fullmatch(r"[!-~]+", self.secret):
            raise _invalid("secret", "must be visible ASCII without spaces")
        if self.kind == "workers-ai" and self.secret is None:
            raise _invalid("secret", "is needed for workers-ai")
        # The account id becomes part of the path.
        if self.kind == "workers-ai" and not re.fullmatch(r"[0-9A-Za-z]+", self.account_id or ""):
            raise _invalid("account_id", "must be letters and digits only")
        for name, value in (
            ("timeout_s", self.timeout_s),
            ("max_attempts", self.max_attempts),
            ("max_request_bytes", self.max_request_bytes),
        ):
            if not value > 0:
                raise _invalid(name, "must be above zero")

    @property
    def url(self) -> str:
        """The address decisions are posted to."""
        base = self.base_url.rstrip("/")
        if self.kind == "workers-ai":
            return f"{base}/accounts/{self.account_id}/ai/run/@cf/cloudflare/{self.model_in_body}"
        return f"{base}/systemone" if base.endswith("/v1") else f"{base}/v1/systemone"

    @property
    def model_in_body(self) -> str:
        return self.model.removeprefix("@cf/cloudflare/") if self.kind == "workers-ai" else self.model


def _check_base_url(base_url: str) -> None:
    try:
        parts = urlsplit(base_url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host, parts = None, urlsplit("")
    if parts.scheme not in ("http", "https") or not host:
        raise _invalid("base_url", "must be an http or https address")
    if "@" in parts.netloc:
        raise _invalid("base_url", "must not carry a name or password")
    if parts.query or parts.fragment or not re.fullmatch(r"[!-~]+", base_url):
        raise _invalid("base_url", "must be a plain address without query, fragment or spaces")


def _check_model(kind: EndpointKind, model: str) -> None:
    if kind == "workers-ai" and not re.fullmatch(r"(@cf/cloudflare/)?[a-z0-9][a-z0-9.-]*", model):
        raise _invalid("model", "must be a name such as clef or @cf/cloudflare/clef")
    if not model.strip() or not model.isprintable():
        raise _invalid("model", "must not be empty")


def _invalid(name: str, what: str) -> EndpointMisconfigured:
    # Never the value: it may be a secret pasted into the wrong field.
    return EndpointMisconfigured(f"{name} {what}", code=f"settings.{name}")
