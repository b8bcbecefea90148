from django.urls import path

from apps.insights import (
    views_items,
    views_labels,
    views_operate,
    views_overview,
    views_settings,
    views_subscriptions,
)

app_name = "insights"
urlpatterns = [
    path("operate/", views_operate.operate, name="operate"),
    path("w/<slug:slug>/insights/", views_overview.overview, name="overview"),
    path("w/<slug:slug>/labels/", views_labels.labels, name="labels"),
    path("w/<slug:slug>/labels/export/", views_labels.labels_export, name="labels_export"),
    path("w/<slug:slug>/items/", views_items.items, name="items"),
    path("w/<slug:slug>/items/<int:item_id>/", views_items.item, name="item"),
    path("w/<slug:slug>/settings/", views_settings.settings, name="settings"),
    path("w/<slug:slug>/settings/people/", views_settings.member_add, name="member_add"),
    path(
        "w/<slug:slug>/settings/people/<int:user_id>/remove/",
        views_settings.member_remove,
        name="member_remove",
    ),
    path("w/<slug:slug>/settings/tokens/", views_settings.token_create, name="token_create"),
    path(
        "w/<slug:slug>/settings/tokens/<int:token_id>/revoke/",
        views_settings.token_revoke,
        name="token_revoke",
    ),
    path("w/<slug:slug>/settings/limits/", views_settings.limits_update, name="limits_update"),
    path("w/<slug:slug>/settings/reading/", views_settings.reading_update, name="reading_update"),
    path("w/<slug:slug>/settings/top-fields/", views_settings.top_fields_update, name="top_fields_update"),
    path(
        "w/<slug:slug>/settings/subscriptions/<int:subscription_id>/",
        views_subscriptions.subscription,
        name="subscription",
    ),
    path(
        "w/<slug:slug>/settings/subscriptions/<int:subscription_id>/pause/",
        views_subscriptions.subscription_pause,
        name="subscription_pause",
    ),
    path(
        "w/<slug:slug>/settings/subscriptions/<int:subscription_id>/resume/",
        views_subscriptions.subscription_resume,
        name="subscription_resume",
    ),
    path(
        "w/<slug:slug>/settings/sendings/<int:sending_id>/again/",
        views_subscriptions.sending_again,
        name="sending_again",
    ),
]
