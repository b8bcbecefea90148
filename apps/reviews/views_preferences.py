"""A person's own desk: keys and languages, the same in every workflow."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from apps.accounts.http import PersonRequest
from apps.core.languages import NAMES
from apps.reviews.keys import with_usual
from apps.reviews.preferences import KeysForm, LanguagesForm, preferences_of, save_preferences


@require_http_methods(["GET", "POST"])
def preferences(request: PersonRequest) -> HttpResponse:
    kept = preferences_of(request.user)
    sent = request.POST if request.method == "POST" else None
    if sent is not None and "usual" in sent:
        save_preferences(user=request.user, keys=with_usual({}), languages=kept.languages)
        messages.success(request, "All keys are the usual ones again.")
        return redirect("reviews:preferences")
    keys = KeysForm(sent, keys=with_usual(kept.keys))
    languages = LanguagesForm(sent, user=request.user, chosen=kept.languages)
    if sent is not None and all([keys.is_valid(), languages.is_valid()]):
        save_preferences(
            user=request.user,
            keys=keys.cleaned_data["keys"],
            languages=languages.cleaned_data["languages"],
        )
        messages.success(request, "Saved.")
        return redirect("reviews:preferences")
    context = {"keys": keys, "languages": languages, "names": sorted(NAMES.values())}
    status = 422 if sent is not None else 200
    return render(request, "reviews/preferences.html", context, status=status)
