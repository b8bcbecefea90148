from __future__ import annotations

import pytest
from django.core.cache import cache
from django.http import HttpResponse
from django.test import Client

from apps.accounts.models import User
from apps.accounts.throttle import MOST_FAILURES
from apps.workflows.models import Workflow
from tests.conftest import SignIn
from tests.factories import PASSWORD, make_user

WRONG = "This name and password do not belong together."


@pytest.fixture(autouse=True)
def _no_earlier_attempts() -> None:
    cache.clear()


def sign_in(client: Client, username: str = "rosa", password: str = PASSWORD, **more: str) -> HttpResponse:
    answer = client.post("/sign-in/", {"username": username, "password": password, **more})
    assert isinstance(answer, HttpResponse)
    return answer


def fail_often(client: Client, times: int = MOST_FAILURES) -> None:
    for _ in range(times):
        sign_in(client, password="guess")


def test_it_works(client: Client, rosa: User) -> None:
    answer = sign_in(client)
    assert (answer.status_code, answer.headers["Location"]) == (302, "/")
    assert client.session["_auth_user_id"] == str(rosa.pk)


def test_every_other_page_asks_for_it(client: Client, db: None) -> None:
    answer = client.get("/")
    assert answer.headers["Location"] == "/sign-in/?next=/"


@pytest.mark.parametrize("username", ["rosa", "nobody-of-that-name"])
def test_an_unknown_name_reads_like_a_wrong_password(client: Client, rosa: User, username: str) -> None:
    answer = sign_in(client, username, "guess")
    assert answer.status_code == 422
    assert WRONG in answer.content.decode()


def test_a_deactivated_person_reads_like_a_wrong_password(client: Client, rosa: User) -> None:
    User.objects.filter(pk=rosa.pk).update(is_active=False)
    assert WRONG in sign_in(client).content.decode()


def test_the_name_is_kept_and_the_password_is_not(client: Client, rosa: User) -> None:
    page = sign_in(client, "<b>rosa", "my secret guess").content.decode()
    assert 'value="&lt;b&gt;rosa"' in page
    assert "my secret guess" not in page


def test_the_session_gets_a_new_key(client: Client, rosa: User) -> None:
    session = client.session
    session["planted"] = True
    session.save()
    client.cookies["fermata_session"] = session.session_key or ""
    sign_in(client)
    assert client.session.session_key != session.session_key


@pytest.mark.parametrize("elsewhere", ["https://evil.example/", "//evil.example/", "javascript:alert(1)"])
def test_it_leads_nowhere_else(client: Client, rosa: User, elsewhere: str) -> None:
    assert sign_in(client, next=elsewhere).headers["Location"] == "/"


def test_it_leads_back_to_where_one_came_from(client: Client, rosa: User) -> None:
    assert sign_in(client, next="/w/leads/review/").headers["Location"] == "/w/leads/review/"


def test_ten_failures_close_the_door_for_the_right_password_too(client: Client, rosa: User) -> None:
    fail_often(client)
    answer = sign_in(client)
    assert answer.status_code == 429
    assert "Try again in 5 minutes." in answer.content.decode()


def test_nine_failures_do_not(client: Client, rosa: User) -> None:
    fail_often(client, MOST_FAILURES - 1)
    assert sign_in(client).status_code == 302


def test_success_forgets_the_failures(client: Client, rosa: User) -> None:
    fail_often(client, MOST_FAILURES - 1)
    sign_in(client)
    client.post("/sign-out/")
    fail_often(client, MOST_FAILURES - 1)
    assert sign_in(client).status_code == 302


def test_the_door_stays_open_for_other_names(client: Client, rosa: User, ravi: User) -> None:
    fail_often(client)
    assert sign_in(client, "ravi").status_code == 302


def test_the_door_stays_open_from_other_addresses(client: Client, rosa: User) -> None:
    fail_often(client)
    assert sign_in(Client(REMOTE_ADDR="192.0.2.7")).status_code == 302


def test_writing_the_name_otherwise_does_not_open_it(client: Client, rosa: User) -> None:
    fail_often(client)
    assert sign_in(client, "ROSA").status_code == 429


def test_letters_that_only_the_database_calls_equal_do_not_open_it(
    client: Client, workflow: Workflow
) -> None:
    make_user("olivia")
    for _ in range(MOST_FAILURES):
        sign_in(client, "olıvıa", "guess")
    assert sign_in(client, "olivia").status_code == 429


@pytest.mark.parametrize(("address", "status"), [("2001:db8::2", 429), ("2001:db8:0:1::1", 302)])
def test_an_address_of_the_same_network_does_not_open_it(rosa: User, address: str, status: int) -> None:
    fail_often(Client(REMOTE_ADDR="2001:db8::1"))
    assert sign_in(Client(REMOTE_ADDR=address)).status_code == status


def test_a_deactivated_persons_session_ends_at_once(signed_in: SignIn, rosa: User) -> None:
    client = signed_in(rosa)
    assert client.get("/w/leads/review/").status_code == 200
    User.objects.filter(pk=rosa.pk).update(is_active=False)
    assert client.get("/w/leads/review/").headers["Location"].startswith("/sign-in/")


def test_another_password_ends_the_sessions_before_it(signed_in: SignIn, rosa: User) -> None:
    client = signed_in(rosa)
    rosa.set_password("another correct horse")
    rosa.save()
    assert client.get("/w/leads/review/").headers["Location"].startswith("/sign-in/")


def test_a_forged_forwarding_header_does_not_open_it(client: Client, rosa: User) -> None:
    fail_often(client)
    forged = Client(HTTP_X_FORWARDED_FOR="192.0.2.7")
    assert sign_in(forged).status_code == 429


def test_the_form_needs_its_token(rosa: User) -> None:
    answer = sign_in(Client(enforce_csrf_checks=True))
    assert answer.status_code == 403
    assert "This form has expired" in answer.content.decode()
