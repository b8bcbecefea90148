from __future__ import annotations

from django.http import HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from apps.accounts.http import PersonRequest
from apps.core.htmx import render
from apps.insights.operate import health
from apps.workflows.access import check_operator


@require_safe
def operate(request: PersonRequest) -> HttpResponse:
    check_operator(request.user)
    context = {"health": health(now=timezone.now())}
    return render(request, "insights/operate.html", context, fragment="insights/_operate_live.html")
