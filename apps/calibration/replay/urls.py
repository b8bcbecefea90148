from django.urls import path

from apps.calibration.replay import views

urlpatterns = [
    path("w/<slug:slug>/policy/<int:version>/preview/", views.preview, name="policy_preview"),
    path(
        "w/<slug:slug>/policy/<int:version>/preview/<slug:cell>/",
        views.preview_items,
        name="policy_preview_items",
    ),
]
