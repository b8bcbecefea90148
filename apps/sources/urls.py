from __future__ import annotations

from django.urls import path

from apps.sources import views_sources
from apps.sources.uploads import views
from apps.sources.webhooks.views import hook

app_name = "sources"
urlpatterns = [
    path("hooks/<uuid:public_id>/", hook, name="hook"),
    path("w/<slug:slug>/sources/", views_sources.overview, name="overview"),
    path("w/<slug:slug>/sources/<int:source_id>/pause/", views_sources.source_pause, name="source_pause"),
    path("w/<slug:slug>/sources/<int:source_id>/resume/", views_sources.source_resume, name="source_resume"),
    path(
        "w/<slug:slug>/sources/deliveries/<int:delivery_id>/again/",
        views_sources.delivery_again,
        name="delivery_again",
    ),
    path("w/<slug:slug>/sources/uploads/", views.uploads, name="uploads"),
    path("w/<slug:slug>/sources/uploads/new/", views.upload_new, name="upload_new"),
    path("w/<slug:slug>/sources/uploads/<int:upload_id>/", views.upload, name="upload"),
    path(
        "w/<slug:slug>/sources/uploads/<int:upload_id>/decide/",
        views.upload_decide,
        name="upload_decide",
    ),
    path(
        "w/<slug:slug>/sources/uploads/<int:upload_id>/import/",
        views.upload_import,
        name="upload_import",
    ),
    path(
        "w/<slug:slug>/sources/uploads/<int:upload_id>/cancel/",
        views.upload_cancel,
        name="upload_cancel",
    ),
    path(
        "w/<slug:slug>/sources/uploads/<int:upload_id>/refused.csv",
        views.upload_refused,
        name="upload_refused",
    ),
]
