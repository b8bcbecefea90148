"""One item's whole story over the wire."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

from apps.api.shapes import ItemHead, LabelOut, RouteSummary


class AnswerOut(BaseModel):
    kind: Literal["choice", "noul", "score"]
    probabilities: dict[str, float]
    confidence: float | None = Field(
        description="As the model gave it: how concentrated it is, not how right."
    )


class SentImageOut(BaseModel):
    """`sha256` is that of the picture as kept; the rest as sent, perhaps scaled down to fit the request."""

    sha256: str
    width: int
    height: int
    size: int = Field(description="Bytes.")


class DecisionOut(BaseModel):
    id: int
    is_primary: bool
    question_set_version: int
    endpoint: str
    model: str
    model_requested: str
    request_id: str
    http_status: int
    latency_s: float
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    warnings: list[Any]
    answers: dict[str, AnswerOut]
    images: list[SentImageOut] = Field(description="What the model was sent of its pictures.")
    created_at: datetime


class ReasonOut(BaseModel):
    code: str
    numbers: dict[str, Any]
    sentence: str


class GateOut(BaseModel):
    name: str
    is_open: bool
    numbers: dict[str, Any]


class RouteOut(RouteSummary):
    id: int
    decision_id: int | None
    policy_version: int
    question_set_version: int
    reasons: list[ReasonOut]
    sentences: list[str] = Field(description="Why it went there, in words.")
    gates: list[GateOut]
    pi: float = Field(description="The chance, known before the draw, that people are asked.")
    drawn: bool
    created_at: datetime
    superseded_at: datetime | None


class TaskEventOut(BaseModel):
    kind: Literal["handed_over", "escalated", "prioritised", "more_opinions", "saw_answers"]
    user: str | None = Field(description="Null: followed from the answers given.")
    to_user: str | None
    note: str
    created_at: datetime


class TaskOut(BaseModel):
    id: int
    kind: Literal["routine", "shadow", "audit"] | None = Field(description="Null while hidden.")
    status: Literal["open", "done", "cancelled"]
    stage: Literal["review", "escalated", "adjudication"] | None = Field(
        description="Who may take it: the later two are for seniors and managers. Null while hidden."
    )
    blind: bool
    asked: list[str]
    reviews_wanted: int = Field(
        description="Opinions asked for at first; disagreement raises what is needed."
    )
    reviews_needed: int
    reviews_done: int
    due_at: datetime
    created_at: datetime
    closed_at: datetime | None
    events: list[TaskEventOut] = Field(
        description="What people did with it besides answering. Empty while hidden."
    )


class GivenAnswerOut(BaseModel):
    question: str
    kind: Literal["accept", "correct", "none_of_these", "cannot_tell"]
    value: str | None = Field(description="Null: cannot tell, or none of these where no option means that.")
    model_value: str | None
    said: str = Field(description="None of these: the option proposed; cannot tell: why.")
    is_asked: bool = Field(description="False: answered though nobody asked.")


class ReviewOut(BaseModel):
    id: int
    task_id: int
    reviewer: str
    revision: int
    blind: bool
    seconds: float | None
    note: str
    is_adjudication: bool = Field(description="Given in sight of the others' answers, and decides.")
    answers: list[GivenAnswerOut]
    created_at: datetime
    taken_back_at: datetime | None


class ActionRunOut(BaseModel):
    id: int
    action: str
    label: str
    settings: dict[str, Any]
    started_by: Literal["policy", "people"]
    status: Literal["pending", "running", "applied", "verified", "unknown", "failed", "cancelled"]
    attempts: int
    not_before: datetime
    read_back: Any
    error: str
    created_at: datetime
    finished_at: datetime | None


class QuestionOut(BaseModel):
    key: str
    kind: Literal["choice", "noul", "score"]
    is_routing: bool
    instructions: str
    options: list[dict[str, Any]]
    none_of_these: str | None


class QuestionSetOut(BaseModel):
    version: int
    questions: list[QuestionOut]


class KeptImageOut(BaseModel):
    """A picture as kept: written anew, upright."""

    sha256: str
    content_type: Literal["image/png", "image/jpeg", "image/webp"]
    width: int
    height: int
    size: int = Field(description="Bytes.")


class AttachmentOut(BaseModel):
    """A file that came with the item, or a page of a PDF. `size` and `sha256` are of the file as it came."""

    name: str
    content_type: str
    size: int
    sha256: str
    page: int | None = Field(description="Of a PDF, from 1.")
    is_for_model: bool
    note: str = Field(description="What was done to it, or why it is not kept.")
    image: KeptImageOut | None


class MailPartOut(BaseModel):
    kind: Literal["body", "quoted", "signature"]
    text: str


class MailOut(BaseModel):
    """A mail as people read it. `size` and `sha256` are of the message as it came."""

    headers: list[tuple[str, str]]
    parts: list[MailPartOut]
    size: int
    sha256: str


class StoryOut(ItemHead):
    """The whole story: `route` is the one in force, `superseded_routes` those before it."""

    state: Any
    metadata: dict[str, Any]
    repairs: list[str] = Field(description="What had to be changed for it to be stored or read.")
    attachments: list[AttachmentOut]
    mail: MailOut | None = Field(description="Of an item that came as a mail.")
    question_sets: list[QuestionSetOut]
    policy_version: int | None
    decisions: list[DecisionOut]
    route: RouteOut | None
    superseded_routes: list[RouteOut]
    tasks: list[TaskOut]
    reviews: list[ReviewOut]
    label: LabelOut | None = Field(description="Of the routing question, in force.")
    labels: list[LabelOut] = Field(description="Of every question; those taken back too.")
    action_runs: list[ActionRunOut]
