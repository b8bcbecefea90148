from django.urls import path

from apps.calibration import views_bounds, views_planner

urlpatterns = [
    path("w/<slug:slug>/policy/planner/", views_planner.planner, name="planner"),
    path("w/<slug:slug>/calibration/maps/", views_bounds.bounds, name="bounds"),
    path("w/<slug:slug>/calibration/maps/map/", views_bounds.bounds_map, name="bounds_map"),
]
