"""What goes over the wire, typed: the OpenAPI document is made from these."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from apps.api.paging import DEFAULT_LIMIT, MOST_ROWS
from apps.api.times import MOMENT, Time
from apps.items.models import Item
from apps.pipeline import limits

Status = Literal["received", "deciding", "in_review", "settled"]
Hidden = Annotated[
    Literal["blind"] | None,
    Field(
        description="“blind”: this token's person may still be asked about the item without knowing any answer. "
        "Whatever the model, the policy or colleagues said is left out, and the item counts as in review."
    ),
]


class FieldProblemOut(BaseModel):
    path: str
    message: str


class ErrorDetail(BaseModel):
    code: str
    message: str
    fields: list[FieldProblemOut]


class ErrorOut(BaseModel):
    error: ErrorDetail


class ItemIn(BaseModel):
    """Nothing is converted: a priority of "1" is refused, not read as 1."""

    # For the documents only: `sources.posted` reads what is sent.
    model_config = ConfigDict(extra="forbid")

    external_id: str = Field(
        default="",
        description=f"Yours, unique in the workflow, at most {limits.MAX_EXTERNAL_ID_CHARACTERS} characters. "
        "The same again is the same item. Needed, but for a mail: there it is the Message-ID when left out.",
    )
    state: Any = Field(
        default="",
        json_schema_extra={"type": ["string", "object", "array"]},
        description=f"What the model reads: text or JSON, at most {limits.MAX_STATE_BYTES:,} bytes. "
        "Needed, unless there are images or a mail.",
    )
    images: list[Any] | None = Field(
        default=None,
        json_schema_extra={"maxItems": limits.MAX_IMAGES},
        description=f"At most {limits.MAX_IMAGES}, PNG, JPEG or WebP: each a data URL, or an object of content_type, "
        f"base64 and perhaps name; {limits.MAX_IMAGE_BYTES:,} bytes and {limits.MAX_IMAGE_PIXELS:,} pixels each. "
        "They are written anew: what a camera notes beside the picture is not kept.",
    )
    mail: Any = Field(
        default=None,
        json_schema_extra={"type": ["string", "object"]},
        description="A whole message as it was sent (RFC 5322), instead of state and images: its text, pictures and "
        'PDFs are read, its headers become metadata. As text, or better as {"base64": …}, which keeps all bytes.',
    )
    group: str | None = Field(
        default=None,
        description=f"What it belongs to, such as an order or a chat: at most {limits.MAX_GROUP_CHARACTERS} "
        "characters. Of a mail, its thread when left out.",
    )
    metadata: dict[str, Any] | None = Field(
        default=None,
        description=f"For rules and search: {limits.MAX_METADATA_KEYS} keys, {limits.MAX_METADATA_BYTES:,} bytes. "
        "`language`, a tag such as `pt-BR`, says who can read it; without it, it is in the workflow's language.",
    )
    received_at: Time | None = Field(default=None, description="When it reached you; now when left out.")
    priority: int | None = Field(
        default=None, description=f"Higher is sooner; 0 when left out; within ±{limits.MAX_PRIORITY:,}."
    )


class ItemAdded(BaseModel):
    id: int
    external_id: str
    status: Status
    created: bool = Field(description="False: it was there already, and this is that item.")
    url: str


class BatchAdded(ItemAdded):
    index: int = Field(description="Position in what was sent.")


class RowFailed(BaseModel):
    index: int
    path: str
    message: str


class BatchOut(BaseModel):
    created: int
    existing: int
    failed: list[RowFailed]
    items: list[BatchAdded]


class PageQuery(BaseModel):
    cursor: str | None = Field(default=None, description="`next` of the page before.")
    limit: int = Field(default=DEFAULT_LIMIT, ge=1, le=MOST_ROWS)


class ItemsQuery(PageQuery):
    status: Status | None = None
    route: Literal["automatic", "review"] | None = None
    label: str | None = Field(
        default=None, max_length=120, description="The settled label, or the model's while there is none."
    )
    since: str | None = Field(default=None, description=f"Arrived here from: {MOMENT}.")


class RouteSummary(BaseModel):
    outcome: Literal["automatic", "review"]
    label: str | None
    p: float | None


class ItemHead(BaseModel):
    id: int
    external_id: str
    title: str
    source: str
    status: Status
    settled_by: Literal["policy", "people"] | None
    audit_open: bool
    priority: int
    received_at: datetime
    created_at: datetime
    due_at: datetime
    decided_at: datetime | None
    settled_at: datetime | None
    group: str | None = Field(description="What it belongs to: a thread, a chat, an order.")
    wait_reason: str | None = Field(
        description="Why the model was not asked yet, when something is in the way."
    )
    next_try_at: datetime | None
    hidden: Hidden
    url: str


class ItemRow(ItemHead):
    route: RouteSummary | None
    label: str | None = Field(description="What people settled; null while they have not.")


class ItemPage(BaseModel):
    items: list[ItemRow]
    next: str | None


class LabelOut(BaseModel):
    id: int
    item_id: int
    external_id: str
    question: str
    value: str | None = Field(description="Null: none of these, where no option means that.")
    source: Literal["review", "consensus", "adjudication", "import"]
    blind: bool
    inclusion_probability: float
    is_asked: bool = Field(
        description="False: answered though nobody asked, so chosen by a person and not drawn."
    )
    reviewer: str | None = Field(description="Who gave the answer that settled it.")
    question_set_version: int
    created_at: datetime
    taken_back_at: datetime | None


class LabelPage(BaseModel):
    items: list[LabelOut]
    next: str | None


class LabelsQuery(PageQuery):
    since: str | None = Field(default=None, description=f"Settled from: {MOMENT}.")


def to_head(item: Item, *, is_hidden: bool, url: str) -> dict[str, Any]:
    """The fields of ItemHead. "Settled" would tell that the policy let it through, so hidden is in review."""
    return {
        "id": item.pk,
        "external_id": item.external_id,
        "title": item.title,
        "source": item.source,
        "status": Item.Status.IN_REVIEW.value if is_hidden else item.status,
        "settled_by": None if is_hidden else item.settled_by,
        "audit_open": False if is_hidden else item.audit_open,
        "priority": item.priority,
        "received_at": item.received_at,
        "created_at": item.created_at,
        "due_at": item.due_at,
        "decided_at": item.decided_at,
        "settled_at": None if is_hidden else item.settled_at,
        "group": item.group_key or None,
        "wait_reason": item.wait_reason or None,
        "next_try_at": item.next_try_at,
        "hidden": "blind" if is_hidden else None,
        "url": url,
    }
