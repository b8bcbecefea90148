from __future__ import annotations

from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from apps.accounts.forms import SignInForm
from apps.accounts.http import PersonRequest


class SignInView(LoginView):
    """Django's own: it rotates the session's key and follows `next` only within this site."""

    form_class = SignInForm
    template_name = "accounts/sign_in.html"
    redirect_authenticated_user = True

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        response = super().form_invalid(form)
        response.status_code = 429 if form.has_error("__all__", code="throttled") else 422
        return response


@require_safe
def home(request: PersonRequest) -> HttpResponse:
    """Sends each to where their work is: managers to figures, reviewers to the desk, operators to the machine."""
    memberships = list(request.user.memberships.select_related("workflow").order_by("workflow__name"))
    managed = [mine for mine in memberships if mine.role == "manager"]
    if managed:
        return redirect("insights:overview", managed[0].workflow.slug)
    if memberships:
        return redirect("reviews:desk", memberships[0].workflow.slug)
    if request.user.is_operator:
        return redirect("insights:operate")
    return render(request, "accounts/nobody.html")
