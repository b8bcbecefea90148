from __future__ import annotations

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from apps.accounts.models import User
from tests.conftest import SignIn


def test_it_works(client: Client) -> None:
    response = client.get("/healthz")
    assert response.headers["Cache-Control"] == "no-store"
    assert "camera=()" in response.headers["Permissions-Policy"]


@pytest.mark.django_db
def test_everything_is_behind_sign_in_unless_it_says_otherwise(client: Client) -> None:
    assert client.get("/w/leads/review/").headers["Location"].startswith("/sign-in/?next=")


def test_a_health_check_asks_no_database(
    rosa: User, signed_in: SignIn, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    browser = signed_in(rosa)
    assert Session.objects.exists()
    with django_assert_num_queries(0):
        assert browser.get("/healthz").status_code == 200


@pytest.mark.parametrize("address", ["/sign-in/%00", "/sign-in/?next=%00", "/sign-in/?%00=1"])
def test_a_nul_is_refused(client: Client, address: str) -> None:
    response = client.get(address)
    assert (response.status_code, response["Content-Type"]) == (400, "text/plain")


@pytest.mark.parametrize("address", ["/api/v1/items/%00", "/hooks/%00", "/hooks/?hub.mode=%00"])
def test_a_nul_is_refused_in_the_apis_own_form(client: Client, address: str) -> None:
    assert client.get(address).json()["error"]["code"] == "bad_request"
