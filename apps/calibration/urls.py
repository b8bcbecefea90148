from django.urls import path

from apps.calibration import (
    urls_planner,
    views,
    views_calibration,
    views_promise,
    views_recalibrate,
)
from apps.calibration.replay import urls as urls_replay
from apps.calibration.trials import urls as urls_trials
from apps.calibration.watching import urls as urls_watching

app_name = "calibration"
urlpatterns = [
    path("w/<slug:slug>/calibration/", views_calibration.overview, name="overview"),
    *urls_planner.urlpatterns,
    *urls_replay.urlpatterns,
    *urls_trials.urlpatterns,
    *urls_watching.urlpatterns,
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
