from __future__ import annotations

from django.urls import path

from apps.sources.webhooks.views import hook

app_name = "sources"
urlpatterns = [
    path("hooks/<uuid:public_id>/", hook, name="hook"),
]
