"""What came in, served apart: pictures, HTML mail in its sandbox, the text of an item in a conversation."""

from __future__ import annotations

import base64

from django import forms
from django.db.models.functions import Substr
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.utils.cache import get_conditional_response
from django.utils.http import quote_etag
from django.views.decorators.http import require_safe

from apps.accounts.http import PersonRequest
from apps.core.htmx import render
from apps.items.models import Attachment, Item, Mail
from apps.reviews.content import came_in
from apps.reviews.mail_html import MAX_CHARACTERS, CleanMail, clean_mail
from apps.reviews.showing import rest_for
from apps.workflows.access import get_workflow_for
from apps.workflows.models import Role

MAX_EMBEDDED_CHARACTERS = 12_000_000
"""Of a mail's own pictures within its HTML, as text: two of the largest that are kept, or many small ones."""
MOST_EMBEDDED = 50
"""Pictures of its own that a mail may name."""
_SANDBOX = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:{remote}; form-action 'none'; "
    "base-uri 'none'; frame-ancestors 'self'"
)


@require_safe
def picture(request: PersonRequest, slug: str, item_id: int, attachment_id: int) -> HttpResponse:
    return _picture(request, slug, item_id, attachment_id, is_thumbnail=False)


@require_safe
def thumbnail(request: PersonRequest, slug: str, item_id: int, attachment_id: int) -> HttpResponse:
    return _picture(request, slug, item_id, attachment_id, is_thumbnail=True)


def _picture(
    request: PersonRequest, slug: str, item_id: int, attachment_id: int, *, is_thumbnail: bool
) -> HttpResponse:
    """Kept by the browser, yet asked for each time: who was removed meanwhile gets nothing."""
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.REVIEWER)
    pictures = Attachment.objects.filter(item=item_id, item__workflow=workflow, image__isnull=False)
    found = get_object_or_404(pictures, pk=attachment_id)
    etag = quote_etag(f"{found.image_id}{'-thumbnail' if is_thumbnail else ''}")
    response = get_conditional_response(request, etag=etag)
    if response is None:
        column = "image__thumbnail" if is_thumbnail else "image__data"
        kind, data = pictures.values_list("image__content_type", column).get(pk=attachment_id)
        response = HttpResponse(bytes(data), "image/webp" if is_thumbnail else kind)
    response["ETag"] = etag
    response["Cache-Control"] = "private, no-cache"
    response["Content-Security-Policy"] = "default-src 'none'; sandbox"
    return response


@require_safe
def mail_sent(request: PersonRequest, slug: str, item_id: int) -> HttpResponse:
    """The mail as its sender laid it out: what surrounds the frame, and the frame's address."""
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.REVIEWER)
    item = get_object_or_404(Item, pk=item_id, workflow=workflow)
    context = {
        "workflow": workflow,
        "item": item,
        "mail": _cleaned(request, item, is_embedding=False),
        "with_remote": _with_remote(request),
    }
    return render(request, "reviews/mail_sent.html", context, fragment="reviews/_mail_sent.html")


@require_safe
def mail_frame(request: PersonRequest, slug: str, item_id: int) -> HttpResponse:
    """The document in the frame. Its policy is its own: no script, no form, no origin, no load but what was asked."""
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.REVIEWER)
    item = get_object_or_404(Item, pk=item_id, workflow=workflow)
    context = {"workflow": workflow, "mail": _cleaned(request, item, is_embedding=True)}
    response = render(request, "reviews/mail_frame.html", context)
    remote = " https: http:" if _with_remote(request) else ""
    response["Content-Security-Policy"] = _SANDBOX.format(remote=remote)
    response["X-Frame-Options"] = "SAMEORIGIN"
    response["Referrer-Policy"] = "no-referrer"
    response["Cache-Control"] = "private, no-store"
    return response


@require_safe
def item_text(request: PersonRequest, slug: str, item_id: int) -> HttpResponse:
    """What came in, for a line of a conversation that is opened; by itself the item's page tells more."""
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.REVIEWER)
    item = get_object_or_404(Item.objects.select_related("content"), pk=item_id, workflow=workflow)
    if request.headers.get("HX-Request") != "true":
        return redirect("insights:item", slug, item_id)
    return render(
        request, "reviews/_item_text.html", {"workflow": workflow, "came": came_in(item), "is_line": True}
    )


@require_safe
def item_rest(request: PersonRequest, slug: str, item_id: int) -> HttpResponse:
    """The pieces of a long item from `from` on, of its mail's `part`; by itself the item's page shows them all."""
    workflow = get_workflow_for(user=request.user, slug=slug, role=Role.REVIEWER)
    item = get_object_or_404(
        Item.objects.select_related("content", "workflow"), pk=item_id, workflow=workflow
    )
    form = RestForm(request.GET)
    if not form.is_valid():
        return HttpResponse(status=422)
    start, part, searched = form.cleaned_data["from"], form.cleaned_data["part"], form.cleaned_data["q"]
    context = {
        "workflow": workflow,
        "came": {"item": item, "searched": searched},
        "body": rest_for(user=request.user, item=item, part=part, start=start, searched=searched),
        "part": part,
    }
    return render(request, "reviews/_body.html", context)


def _with_remote(request: HttpRequest) -> bool:
    return request.GET.get("remote") == "1"


def _cleaned(request: HttpRequest, item: Item, *, is_embedding: bool) -> CleanMail:
    mails = Mail.objects.filter(item=item).exclude(html="")
    html = get_object_or_404(mails.values_list(Substr("html", 1, MAX_CHARACTERS + 1), flat=True))
    embedded = _Embedded(item if is_embedding else None)
    return clean_mail(html, picture_of=embedded.get, with_remote=_with_remote(request))


class RestForm(forms.Form):
    part = forms.IntegerField(min_value=0, max_value=10_000, required=False)
    q = forms.CharField(max_length=200, required=False)

    def __init__(self, sent: QueryDict) -> None:
        super().__init__(sent)
        self.fields["from"] = forms.IntegerField(min_value=0, max_value=100_000_000)


class _Embedded:
    """The mail's own pictures as data URLs, within `MAX_EMBEDDED_CHARACTERS` however often one is named."""

    def __init__(self, item: Item | None) -> None:
        self._left = MAX_EMBEDDED_CHARACTERS
        self._known: dict[str, str | None] = {}
        self._item = item

    def get(self, content_id: str) -> str | None:
        if content_id not in self._known:
            self._known[content_id] = self._load(content_id)
        url = self._known[content_id]
        if url is None or len(url) > self._left:
            return None
        self._left -= len(url)
        return url

    def _load(self, content_id: str) -> str | None:
        if self._item is None or len(self._known) >= MOST_EMBEDDED:
            return None
        pictures = Attachment.objects.filter(
            item=self._item, content_id=content_id, image__size__lt=self._left * 3 // 4
        )
        found = pictures.values_list("image__content_type", "image__data").order_by("position").first()
        if found is None:
            return None
        kind, data = found
        return f"data:{kind};base64,{base64.b64encode(bytes(data)).decode()}"
