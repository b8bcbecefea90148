"""Exports over the wire. The filters are those of `reviews.exports_query`, which checks them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from apps.api.times import MOMENT
from apps.reviews.exports import FORMATS


class ExportQuery(BaseModel):
    format: str = Field(default="jsonl", description=f"One of {', '.join(FORMATS)}.")
    question: str | None = None
    value: str | None = None
    source: str | None = Field(default=None, description="review, consensus, adjudication or import.")
    since: str | None = Field(default=None, description=f"Settled from: {MOMENT}.")
    until: str | None = Field(default=None, description=f"Settled until, a day included: {MOMENT}.")
    blind: str | None = Field(default=None, description="true or false.")
    bom: str | None = Field(default=None, description="true: a CSV begins with a byte order mark.")


class ExportIn(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    format: str = Field(default="jsonl", description=f"One of {', '.join(FORMATS)}.")
    query: dict[str, str] = Field(
        default_factory=dict,
        description="The parameters of the streamed export, as texts; left out: every settled label.",
    )


class ExportOut(BaseModel):
    id: int
    status: Literal["pending", "running", "done", "failed"]
    format: str
    query: dict[str, str]
    row_count: int | None
    bytes: int | None
    sha256: str | None
    manifest: dict[str, Any] | None
    error: str | None
    created_at: datetime
    finished_at: datetime | None
    url: str
    file_url: str | None = Field(description="Null until it is done.")
