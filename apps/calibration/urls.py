from django.urls import path

from apps.calibration import (
    urls_planner,
    urls_preview,
    urls_trials,
    views,
    views_calibration,
    views_incidents,
    views_promise,
    views_recalibrate,
)

app_name = "calibration"
urlpatterns = [
    path("w/<slug:slug>/calibration/", views_calibration.overview, name="overview"),
    *urls_trials.urlpatterns,
    *urls_planner.urlpatterns,
    *urls_preview.urlpatterns,
    path("w/<slug:slug>/calibration/incidents/", views_incidents.incidents, name="incidents"),
    path("w/<slug:slug>/calibration/incidents/<int:incident_id>/", views_incidents.incident, name="incident"),
    path(
        "w/<slug:slug>/calibration/incidents/<int:incident_id>/close/",
        views_incidents.incident_close,
        name="incident_close",
    ),
    path(
        "w/<slug:slug>/calibration/charts/<slug:name>.<slug:form>",
        views_calibration.chart,
        name="chart",
    ),
    path("w/<slug:slug>/calibration/quality/", views_calibration.measured, name="quality"),
    path("w/<slug:slug>/calibration/recalibrate/", views_recalibrate.recalibrate, name="recalibrate"),
    path("w/<slug:slug>/calibration/holds/propose/", views_recalibrate.hold_propose, name="hold_propose"),
    path("w/<slug:slug>/calibration/promise/", views_promise.promise, name="promise"),
    path("w/<slug:slug>/policy/", views.policy, name="policy"),
    path("w/<slug:slug>/policy/new/", views.policy_new, name="policy_new"),
    path("w/<slug:slug>/policy/back/", views.policy_back, name="policy_back"),
    path("w/<slug:slug>/policy/<int:version>/", views.policy_version, name="policy_version"),
    path("w/<slug:slug>/policy/<int:version>/edit/", views.policy_draft, name="policy_draft"),
    path("w/<slug:slug>/policy/<int:version>/activate/", views.policy_activate, name="policy_activate"),
    path("w/<slug:slug>/policy/<int:version>/discard/", views.policy_discard, name="policy_discard"),
]
