from django.urls import path

from apps.calibration.trials import views, views_label

BASE = "w/<slug:slug>/calibration/trials/"
urlpatterns = [
    path(BASE, views.trials, name="trials"),
    path(f"{BASE}new/", views.trial_new, name="trial_new"),
    path(f"{BASE}<int:trial_id>/", views.trial, name="trial"),
    path(f"{BASE}<int:trial_id>/results.csv", views.trial_csv, name="trial_csv"),
    path(f"{BASE}<int:trial_id>/start/", views.trial_start, name="trial_start"),
    path(f"{BASE}<int:trial_id>/again/", views.trial_again, name="trial_again"),
    path(f"{BASE}<int:trial_id>/adopt/", views.trial_adopt, name="trial_adopt"),
    path(f"{BASE}<int:trial_id>/delete/", views.trial_delete, name="trial_delete"),
    path(f"{BASE}<int:trial_id>/label/", views_label.trial_label, name="trial_label"),
    path(f"{BASE}<int:trial_id>/label/undo/", views_label.trial_label_undo, name="trial_label_undo"),
]
