from __future__ import annotations

import gzip
from io import BytesIO

import pytest
from django.contrib.sessions.models import Session
from django.http import FileResponse, HttpResponse
from django.http.response import HttpResponseBase
from django.test import Client, RequestFactory
from pytest_django import DjangoAssertNumQueries

from apps.accounts.models import User
from apps.core.middleware import CompressedPages
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


def test_a_page_is_compressed_for_who_says_so(client: Client) -> None:
    whole = client.get("/sign-in/")
    small = client.get("/sign-in/", headers={"Accept-Encoding": "gzip"})
    assert gzip.decompress(small.content)[:200] == whole.content[:200]
    assert len(small.content) < 0.7 * len(whole.content)
    assert "Accept-Encoding" in small.headers["Vary"]


def served(response: HttpResponseBase) -> HttpResponseBase:
    request = RequestFactory().get("/", headers={"Accept-Encoding": "gzip"})
    return CompressedPages(lambda _: response).process_response(request, response)


def test_a_script_is_compressed_and_a_picture_is_not() -> None:
    script = served(FileResponse(BytesIO(b"const x = 1;" * 500), content_type="text/javascript"))
    assert script.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(script.getvalue()) == b"const x = 1;" * 500
    picture = served(FileResponse(BytesIO(b"PNG" * 500), content_type="image/png"))
    assert "Content-Encoding" not in picture.headers


def test_what_the_browser_has_already_stays_empty() -> None:
    known = served(HttpResponse(status=304, content_type="text/css"))
    assert (known.getvalue(), known.headers.get("Content-Encoding")) == (b"", None)
