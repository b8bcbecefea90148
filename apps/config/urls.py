from django.urls import include, path

urlpatterns = [
    path("", include("apps.api.urls")),
    path("", include("apps.accounts.urls")),
    path("", include("apps.reviews.urls")),
    path("", include("apps.sources.urls")),
    path("", include("apps.calibration.urls")),
    path("", include("apps.insights.urls")),
]

handler400 = "apps.core.errors_pages.bad_request"
handler403 = "apps.core.errors_pages.forbidden"
handler404 = "apps.core.errors_pages.not_found"
handler500 = "apps.core.errors_pages.server_error"
