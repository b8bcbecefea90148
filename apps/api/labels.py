"""Settled labels: read page by page, streamed, or made into a file by a worker."""

from __future__ import annotations

import base64
from typing import Any

from django.http import Http404, HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.urls import reverse
from django.utils import timezone
from ninja import Query, Router
from ninja.responses import Status
from pydantic import ValidationError

from apps.api.docs import described, json_body
from apps.api.door import token_of, workflow_of
from apps.api.errors import ApiError, invalid, problems_of
from apps.api.exporting import content_of, request_export
from apps.api.models import Export
from apps.api.paging import page_of, place_of, refuse_unknown
from apps.api.reading import read_json
from apps.api.selectors import listed_labels
from apps.api.shapes import LabelOut, LabelPage, LabelsQuery
from apps.api.shapes_exports import ExportIn, ExportOut, ExportQuery
from apps.api.story import to_label
from apps.reviews.exports import check_format, export_labels, parse_label_query
from apps.workflows.models import Scope, Workflow

router = Router(tags=["labels"])
FILE: dict[str, Any] = {"content": {"application/x-ndjson": {}, "text/csv": {}}}


@router.get(
    "/workflows/{str:slug}/labels",
    **described("Settled labels", Scope.READ, {200: LabelPage}, refusals=(404, 422)),
)
def labels_list(request: HttpRequest, slug: str, query: Query[LabelsQuery]) -> LabelPage:
    """In the order in which they were settled, with where each came from."""
    token = token_of(request, Scope.READ)
    workflow = workflow_of(request, slug, Scope.READ)
    refuse_unknown(request.GET, tuple(LabelsQuery.model_fields))
    place = place_of(query.cursor, "labels", workflow.pk, query.since)
    found = list(listed_labels(user=token.user, workflow=workflow, query=query, place=place))
    page, following = page_of(found, query.limit, place)
    return LabelPage(items=[LabelOut.model_validate(to_label(label)) for label in page], next=following)


@router.get(
    "/workflows/{str:slug}/labels/export",
    **described(
        "Stream labels as a file",
        Scope.EXPORT,
        {200: None},
        refusals=(404, 422),
        answers={200: FILE},
    ),
)
def labels_export(request: HttpRequest, slug: str, query: Query[ExportQuery]) -> HttpResponseBase:
    """The very bytes of the labels page and of `manage.py export_labels` for the same query string."""
    workflow = workflow_of(request, slug, Scope.EXPORT)
    refuse_unknown(request.GET, tuple(ExportQuery.model_fields))
    params = request.GET.dict()
    format = params.get("format") or "jsonl"
    content = export_labels(workflow=workflow, query=parse_label_query(params), format=format)
    return _file(content, workflow, format)


@router.post(
    "/workflows/{str:slug}/exports",
    **described(
        "Have a large export made",
        Scope.EXPORT,
        {202: ExportOut},
        refusals=(400, 404, 411, 413, 415, 422),
        body=json_body(ExportIn),
    ),
)
def exports_add(request: HttpRequest, slug: str) -> Status[ExportOut]:
    """Answers at once; a worker makes the file. Ask `url` until `status` is `done`, then read `file_url`."""
    workflow = workflow_of(request, slug, Scope.EXPORT)
    try:
        sent = ExportIn.model_validate(read_json(request))
    except ValidationError as error:
        raise invalid(*problems_of(error)) from None
    export = request_export(
        workflow=workflow,
        user=token_of(request, Scope.EXPORT).user,
        format=sent.format,
        query=sent.query,
        now=timezone.now(),
    )
    return Status(202, _to_export(request, export))


@router.get(
    "/exports/{int:export_id}",
    **described("How an export stands", Scope.EXPORT, {200: ExportOut}, refusals=(404,)),
)
def export_show(request: HttpRequest, export_id: int) -> ExportOut:
    """`manifest` has the row count, the SHA-256 of the file, and the versions of questions and policy in it."""
    return _to_export(request, _export_of(request, export_id))


@router.get(
    "/exports/{int:export_id}/file",
    **described(
        "The file of an export",
        Scope.EXPORT,
        {200: None},
        refusals=(404, 409),
        answers={200: FILE},
    ),
)
def export_file(request: HttpRequest, export_id: int) -> HttpResponseBase:
    """409 with Retry-After while it is being made."""
    export = _export_of(request, export_id)
    if export.status == Export.Status.FAILED:
        raise ApiError(409, "export_failed", export.error)
    if export.status != Export.Status.DONE:
        raise ApiError(409, "not_ready", "It is still being made.", headers={"Retry-After": "2"})
    response = _file(content_of(export), export.workflow, export.format)
    digest = base64.b64encode(bytes.fromhex(export.sha256)).decode()
    response.headers["Content-Length"] = str(export.byte_count)
    response.headers["Repr-Digest"] = f"sha-256=:{digest}:"
    return response


def _export_of(request: HttpRequest, export_id: int) -> Export:
    token = token_of(request, Scope.EXPORT)
    found = Export.objects.select_related("workflow").filter(workflow=token.workflow, pk=export_id).first()
    if found is None:
        raise Http404
    return found


def _file(content: Any, workflow: Workflow, format: str) -> StreamingHttpResponse:
    chosen = check_format(format)
    name = f"{workflow.slug}-labels.{chosen.ending}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingHttpResponse(content, content_type=chosen.content_type, headers=headers)


def _to_export(request: HttpRequest, export: Export) -> ExportOut:
    url = request.build_absolute_uri(reverse("api:export_show", args=[export.pk]))
    is_done = export.status == Export.Status.DONE
    return ExportOut.model_validate(
        {
            "id": export.pk,
            "status": export.status,
            "format": export.format,
            "query": export.query,
            "row_count": export.row_count,
            "bytes": export.byte_count,
            "sha256": export.sha256 or None,
            "manifest": export.manifest,
            "error": export.error or None,
            "created_at": export.created_at,
            "finished_at": export.finished_at,
            "url": url,
            "file_url": f"{url}/file" if is_done else None,
        }
    )
