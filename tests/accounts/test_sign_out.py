from __future__ import annotations

from apps.accounts.models import User
from tests.conftest import SignIn


def test_it_works(signed_in: SignIn, rosa: User) -> None:
    client = signed_in(rosa)
    answer = client.post("/sign-out/")
    assert answer.headers["Location"] == "/sign-in/"
    assert client.get("/").headers["Location"] == "/sign-in/?next=/"


def test_a_link_does_not_sign_out(signed_in: SignIn, nora: User) -> None:
    client = signed_in(nora)
    assert client.get("/sign-out/").status_code == 405
    assert client.get("/").status_code == 200
