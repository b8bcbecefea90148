"""One incoming thing, checked: what can be stored, within the limits, and how it reads to people."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.utils import timezone

from apps.core.errors import FieldProblem
from apps.core.languages import to_tag
from apps.core.text import step, unstorable_paths
from apps.pipeline import limits

State = str | dict[str, Any] | list[Any]


canonical = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode
"""The one way to write a JSON value, so that equal text means equal content."""


@dataclass(frozen=True, slots=True)
class CheckedImage:
    """A picture written anew by us, safe to serve; `thumbnail` is WebP. `content_type` is PNG, JPEG or WebP."""

    content_type: str
    width: int
    height: int
    data: bytes = field(repr=False)
    thumbnail: bytes = field(repr=False)

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True, slots=True)
class IncomingAttachment:
    """A file that came with an item; its bytes are kept only as an image. `sha256` and `size` are of what came."""

    name: str
    content_type: str
    size: int
    sha256: str
    image: CheckedImage | None = None
    page: int | None = None
    content_id: str = ""
    is_for_model: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class IncomingMail:
    """What `items.Mail` stores of a mail."""

    headers: tuple[tuple[str, str], ...]
    parts: tuple[Mapping[str, str], ...]
    html: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Incoming:
    """An item as a source hands it over; not yet checked. An item of images alone has the empty state "".

    `group` says what it belongs to (a thread, a chat); `repairs` are sentences about what was changed.
    """

    external_id: str
    state: State
    metadata: Mapping[str, Any] = field(default_factory=dict)
    received_at: datetime | None = None
    priority: int = 0
    group: str = ""
    attachments: tuple[IncomingAttachment, ...] = ()
    mail: IncomingMail | None = None
    repairs: tuple[str, ...] = ()

    @property
    def content_hash(self) -> str:
        """SHA-256 of what makes it this item: a resend with the same hash is the same item."""
        content: list[Any] = [self.state, self.metadata]
        if self.attachments:
            content.append([each.sha256 for each in self.attachments])
        return hashlib.sha256(canonical(content).encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def language(self) -> str | None:
        """The tag its metadata or its mail names; "" where they say it is of no one language, None where nothing."""
        said = [self.metadata.get("language")]
        if self.mail is not None:
            said += [value for name, value in self.mail.headers if name.lower() == "content-language"]
        return next((tag for tag in map(to_tag, said) if tag is not None), None)

    @property
    def text(self) -> str:
        return self.state if isinstance(self.state, str) else "\n".join(_lines(self.state, ""))

    @property
    def title(self) -> str:
        """The first words, for lists: a subject where there is one."""
        words = self.text
        if isinstance(self.state, dict):
            named = next(
                (self.state[key] for key in ("subject", "title", "message", "text") if self.state.get(key)),
                None,
            )
            words = named if isinstance(named, str) else words
        named = next((each.name for each in self.attachments if each.name), "")
        return " ".join(words[:1000].split())[:200] or named[:200] or "(empty)"


_written = json.JSONEncoder(ensure_ascii=False).encode
# What must be looked for value by value shows in the written JSON, or such a text stands there by chance.
_SUSPICIOUS = re.compile(r"[\x00\ud800-\udfff]|\\u0000|NaN|Infinity")


def check_incoming(incoming: Incoming) -> list[FieldProblem]:
    """Every reason why it cannot be taken, each naming its field; empty when it can."""
    return [
        *_check_external_id(incoming.external_id),
        *_check_state(incoming.state, has_images=any(each.image for each in incoming.attachments)),
        *_check_metadata(incoming.metadata),
        *_check_rest(incoming),
    ]


def _check_external_id(external_id: object) -> Iterator[FieldProblem]:
    if not isinstance(external_id, str) or not external_id.strip():
        yield FieldProblem("external_id", "must be a text that is not empty")
    elif len(external_id) > limits.MAX_EXTERNAL_ID_CHARACTERS:
        yield FieldProblem(
            "external_id",
            f"has {len(external_id):,} characters; the limit is {limits.MAX_EXTERNAL_ID_CHARACTERS}",
        )
    else:
        yield from (FieldProblem(path, why) for path, why in unstorable_paths(external_id, "external_id"))


def _check_state(state: object, *, has_images: bool) -> Iterator[FieldProblem]:
    if not isinstance(state, str | dict | list):
        yield FieldProblem("state", "must be a text, an object or an array")
        return
    if has_images and state == "":
        return
    if not state or (isinstance(state, str) and not state.strip()):
        yield FieldProblem("state", "is empty")
        return
    problems = list(_check_json(state, "state", limits.MAX_STATE_BYTES))
    yield from problems
    if problems or isinstance(state, str):
        return
    # A long key over many values would multiply.
    most = max(limits.SHORT_TEXT_CHARACTERS, limits.TEXT_FACTOR * len(canonical(state)))
    size = 0
    for line in _lines(state, ""):
        size += len(line)
        if size > most:
            why = f"is more than {most:,} characters to read, each value with its path: shorten the keys"
            yield FieldProblem("state", why)
            return
    if not size:
        yield FieldProblem("state", "holds no text, number or true/false")


def _check_metadata(metadata: object) -> Iterator[FieldProblem]:
    if not isinstance(metadata, Mapping):
        yield FieldProblem("metadata", "must be an object")
        return
    if len(metadata) > limits.MAX_METADATA_KEYS:
        yield FieldProblem("metadata", f"has {len(metadata):,} keys; the limit is {limits.MAX_METADATA_KEYS}")
    yield from _check_json(dict(metadata), "metadata", limits.MAX_METADATA_BYTES)


def _check_json(value: Any, path: str, limit: int) -> Iterator[FieldProblem]:
    if _too_deep(value):
        yield FieldProblem(path, f"is nested deeper than {limits.MAX_DEPTH} levels")
        return
    # The size first: what follows takes time by the number of values.
    written = value if isinstance(value, str) else _written(value)
    if len(written) * 4 > limit:  # a character has at most four bytes
        size = len(written.encode("utf-8", "surrogatepass"))
        if size > limit:
            yield FieldProblem(path, f"has {size:,} bytes; the limit is {limit:,}")
            return
    if not _SUSPICIOUS.search(written):
        return
    yield from (FieldProblem(where, why) for where, why in unstorable_paths(value, path))
    yield from (FieldProblem(where, "is not a finite number") for where in _not_finite(value, path))


def _check_rest(incoming: Incoming) -> Iterator[FieldProblem]:
    if not -limits.MAX_PRIORITY <= incoming.priority <= limits.MAX_PRIORITY:
        yield FieldProblem("priority", f"must be within ±{limits.MAX_PRIORITY:,}")
    if incoming.received_at is not None and timezone.is_naive(incoming.received_at):
        yield FieldProblem("received_at", "needs a time zone (RFC 3339, such as 2026-11-30T09:00:00Z)")
    elif (
        incoming.received_at is not None
        and not limits.FIRST_YEAR <= incoming.received_at.year <= limits.LAST_YEAR
    ):
        yield FieldProblem("received_at", f"must be in the years {limits.FIRST_YEAR} to {limits.LAST_YEAR}")
    if len(incoming.group) > limits.MAX_GROUP_CHARACTERS:
        yield FieldProblem(
            "group", f"has {len(incoming.group):,} characters; the limit is {limits.MAX_GROUP_CHARACTERS}"
        )
    if incoming.group:
        yield from (FieldProblem(path, why) for path, why in unstorable_paths(incoming.group, "group"))


def _too_deep(value: Any) -> bool:
    if isinstance(value, str):
        return False
    # Level by level rather than by recursion: a hostile depth must not exhaust the stack.
    level: list[Any] = [value]
    for _ in range(limits.MAX_DEPTH):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return False
    return True


def _not_finite(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, float) and not math.isfinite(value):
        yield path
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _not_finite(inner, f"{path}.{step(key)}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _not_finite(inner, f"{path}[{index}]")


def _lines(value: Any, name: str) -> Iterator[str]:
    """JSON as a person would read it aloud: one line a value, named by its path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _lines(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _lines(inner, f"{name}[{index}]")
    elif value is not None and value != "":
        text = value if isinstance(value, str) else json.dumps(value)
        yield f"{name}: {text}" if name else text
