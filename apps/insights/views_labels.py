from __future__ import annotations

from django.http import HttpResponse, HttpResponseBase, QueryDict, StreamingHttpResponse
from django.views.decorators.http import require_GET, require_safe

from apps.accounts.http import PersonRequest
from apps.core.errors import InvalidInput
from apps.core.htmx import render
from apps.insights.forms_labels import PLACES, LabelFilter
from apps.insights.selectors import LabelPage, label_page
from apps.reviews.exports import check_format, export_labels
from apps.workflows.access import get_workflow_for
from apps.workflows.models import Role, Workflow


@require_safe
def labels(request: PersonRequest, slug: str) -> HttpResponse:
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    form = LabelFilter(request.GET, workflow=workflow)
    return _show(request, workflow, form)


def _show(request: PersonRequest, workflow: Workflow, form: LabelFilter) -> HttpResponse:
    page = None
    if form.is_valid():
        places = {name: form.cleaned_data[name] for name in PLACES}
        page = label_page(user=request.user, workflow=workflow, query=form.query, **places)
    filters = _filters(request.GET)
    context = {
        "workflow": workflow,
        "form": form,
        "page": page,
        "query": filters.urlencode(),
        "is_filtered": bool(filters),
        "newer": _address(filters, "after", page, "newer"),
        "older": _address(filters, "before", page, "older"),
    }
    status = 200 if page else 422
    return render(
        request, "insights/labels.html", context, fragment="insights/_labels_found.html", status=status
    )


@require_GET
def labels_export(request: PersonRequest, slug: str) -> HttpResponseBase:
    """The file of the page's query string; what is wrong with it is told on the page."""
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.MANAGER)
    form = LabelFilter(request.GET, workflow=workflow)
    name = request.GET.get("format", "jsonl")
    try:
        chosen = check_format(name)
        if not form.is_valid():
            return _show(request, workflow, form)
        export = export_labels(workflow=workflow, query=form.query, format=name)
    except InvalidInput as wrong:
        form.add_error(None, "; ".join(f"{problem.path} {problem.message}" for problem in wrong.problems))
        return _show(request, workflow, form)
    disposition = f'attachment; filename="{workflow.slug}-labels.{chosen.ending}"'
    return StreamingHttpResponse(
        export, content_type=chosen.content_type, headers={"Content-Disposition": disposition}
    )


def _filters(asked: QueryDict) -> QueryDict:
    """What was filtered by, without the place and the format: the query string that exports share."""
    filters = QueryDict(mutable=True)
    for name, text in asked.items():
        if text and name not in (*PLACES, "format", "bom"):
            filters[name] = str(text)
    return filters


def _address(filters: QueryDict, place: str, page: LabelPage | None, end: str) -> str:
    label_id = getattr(page, end, None)
    if label_id is None:
        return ""
    address = filters.copy()
    address[place] = str(label_id)
    return f"?{address.urlencode()}"
