from django.urls import path

from apps.calibration import views_planner

urlpatterns = [path("w/<slug:slug>/policy/planner/", views_planner.planner, name="planner")]
