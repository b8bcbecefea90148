from django.urls import path

from apps.calibration import views_trials

BASE = "w/<slug:slug>/calibration/trials/"
urlpatterns = [
    path(BASE, views_trials.trials, name="trials"),
    path(f"{BASE}new/", views_trials.trial_new, name="trial_new"),
    path(f"{BASE}<int:trial_id>/", views_trials.trial, name="trial"),
    path(f"{BASE}<int:trial_id>/results.csv", views_trials.trial_csv, name="trial_csv"),
    path(f"{BASE}<int:trial_id>/start/", views_trials.trial_start, name="trial_start"),
    path(f"{BASE}<int:trial_id>/again/", views_trials.trial_again, name="trial_again"),
    path(f"{BASE}<int:trial_id>/adopt/", views_trials.trial_adopt, name="trial_adopt"),
    path(f"{BASE}<int:trial_id>/delete/", views_trials.trial_delete, name="trial_delete"),
    path(f"{BASE}<int:trial_id>/label/", views_trials.trial_label, name="trial_label"),
    path(f"{BASE}<int:trial_id>/label/undo/", views_trials.trial_label_undo, name="trial_label_undo"),
]
