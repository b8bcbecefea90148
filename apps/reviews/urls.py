from django.urls import path

from apps.reviews import (
    views,
    views_bar,
    views_content,
    views_guidance,
    views_handing,
    views_preferences,
    views_queue,
    views_rules,
)

app_name = "reviews"
urlpatterns = [
    path("account/desk/", views_preferences.preferences, name="preferences"),
    path("w/<slug:slug>/review/", views.desk, name="desk"),
    path("w/<slug:slug>/review/submit/", views.task_submit, name="task_submit"),
    path("w/<slug:slug>/review/skip/", views.task_skip, name="task_skip"),
    path("w/<slug:slug>/review/undo/", views.task_undo, name="task_undo"),
    path("w/<slug:slug>/review/bar/", views_bar.bar, name="bar"),
    path("w/<slug:slug>/review/renew/", views.lease_renew, name="lease_renew"),
    path("w/<slug:slug>/review/release/", views.lease_release, name="lease_release"),
    path(
        "w/<slug:slug>/review/guidelines/<int:version>/",
        views_guidance.guidelines_panel,
        name="guidelines_panel",
    ),
    path("w/<slug:slug>/settings/guidelines/", views_guidance.guidelines, name="guidelines"),
    path("w/<slug:slug>/settings/guidelines/file/", views_guidance.guidelines_file, name="guidelines_file"),
    path("w/<slug:slug>/settings/guidelines/text/", views_guidance.guideline_edit, name="guideline_edit"),
    path(
        "w/<slug:slug>/settings/guidelines/preview/",
        views_guidance.guideline_preview,
        name="guideline_preview",
    ),
    path(
        "w/<slug:slug>/settings/guidelines/examples/<int:example_id>/remove/",
        views_guidance.example_remove,
        name="example_remove",
    ),
    path("w/<slug:slug>/items/<int:item_id>/example/", views_guidance.example_add, name="example_add"),
    path("w/<slug:slug>/review/hand-over/", views_handing.hand_over, name="hand_over"),
    path("w/<slug:slug>/review/hand-over/send/", views_handing.task_hand_over, name="task_hand_over"),
    path("w/<slug:slug>/review/escalate/", views_handing.task_escalate, name="task_escalate"),
    path("w/<slug:slug>/review/give-back/", views_handing.task_give_back, name="task_give_back"),
    path("w/<slug:slug>/review/queue/", views_queue.queue, name="queue"),
    path("w/<slug:slug>/review/queue/<int:task_id>/", views_queue.queue_task, name="queue_task"),
    path("w/<slug:slug>/review/queue/<int:task_id>/take/", views_queue.task_take, name="task_take"),
    path(
        "w/<slug:slug>/review/queue/<int:task_id>/hand-over/",
        views_queue.queue_hand_over,
        name="queue_hand_over",
    ),
    path(
        "w/<slug:slug>/review/queue/<int:task_id>/priority/",
        views_queue.queue_prioritise,
        name="queue_prioritise",
    ),
    path("w/<slug:slug>/settings/opinions/", views_rules.opinions, name="opinions"),
    path("w/<slug:slug>/settings/opinions/change/", views_rules.opinions_change, name="opinions_change"),
    path(
        "w/<slug:slug>/settings/opinions/seniors/<int:user_id>/",
        views_rules.senior_change,
        name="senior_change",
    ),
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
