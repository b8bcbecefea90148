from django.contrib.auth.views import LogoutView
from django.urls import include, path

from apps.accounts.views import SignInView, home

_accounts = [
    path("sign-in/", SignInView.as_view(), name="sign_in"),
    path("sign-out/", LogoutView.as_view(), name="sign_out"),
]

urlpatterns = [
    path("", home, name="home"),
    path("", include((_accounts, "accounts"))),
]
