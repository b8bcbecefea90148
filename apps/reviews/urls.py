from django.urls import path

from apps.reviews import views, views_content, views_preferences

app_name = "reviews"
urlpatterns = [
    path("account/desk/", views_preferences.preferences, name="preferences"),
    path("w/<slug:slug>/review/", views.desk, name="desk"),
    path("w/<slug:slug>/review/submit/", views.task_submit, name="task_submit"),
    path("w/<slug:slug>/review/skip/", views.task_skip, name="task_skip"),
    path("w/<slug:slug>/review/undo/", views.task_undo, name="task_undo"),
    path("w/<slug:slug>/review/renew/", views.lease_renew, name="lease_renew"),
    path("w/<slug:slug>/review/release/", views.lease_release, name="lease_release"),
    path("w/<slug:slug>/items/<int:item_id>/mail/", views_content.mail_sent, name="mail_sent"),
    path("w/<slug:slug>/items/<int:item_id>/mail/frame/", views_content.mail_frame, name="mail_frame"),
    path("w/<slug:slug>/items/<int:item_id>/text/", views_content.item_text, name="item_text"),
    path("w/<slug:slug>/items/<int:item_id>/rest/", views_content.item_rest, name="item_rest"),
    path(
        "w/<slug:slug>/items/<int:item_id>/images/<int:attachment_id>/", views_content.picture, name="picture"
    ),
    path(
        "w/<slug:slug>/items/<int:item_id>/images/<int:attachment_id>/thumbnail/",
        views_content.thumbnail,
        name="thumbnail",
    ),
]
