from django.urls import path

from apps.calibration.watching import views

urlpatterns = [
    path("w/<slug:slug>/calibration/incidents/", views.incidents, name="incidents"),
    path("w/<slug:slug>/calibration/incidents/<int:incident_id>/", views.incident, name="incident"),
    path(
        "w/<slug:slug>/calibration/incidents/<int:incident_id>/close/",
        views.incident_close,
        name="incident_close",
    ),
]
