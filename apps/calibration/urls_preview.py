from django.urls import path

from apps.calibration import views_preview

urlpatterns = [
    path("w/<slug:slug>/policy/<int:version>/preview/", views_preview.preview, name="policy_preview"),
    path(
        "w/<slug:slug>/policy/<int:version>/preview/<slug:cell>/",
        views_preview.preview_items,
        name="policy_preview_items",
    ),
]
