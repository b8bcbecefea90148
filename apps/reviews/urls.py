from django.urls import path

from apps.reviews import views

app_name = "reviews"
urlpatterns = [
    path("w/<slug:slug>/review/", views.desk, name="desk"),
    path("w/<slug:slug>/review/submit/", views.task_submit, name="task_submit"),
    path("w/<slug:slug>/review/skip/", views.task_skip, name="task_skip"),
    path("w/<slug:slug>/review/undo/", views.task_undo, name="task_undo"),
    path("w/<slug:slug>/review/renew/", views.lease_renew, name="lease_renew"),
    path("w/<slug:slug>/review/release/", views.lease_release, name="lease_release"),
]
