from __future__ import annotations

from django.http import HttpResponse
from django.test import RequestFactory

from apps.core.htmx import render

# A page and a fragment of the product that need no workflow, so that only the choice between them is tested.
PAGE, FRAGMENT = "error.html", "_empty.html"


def answer(
    headers: dict[str, str] | None = None, *, status: int = 200, fragment: str | None = FRAGMENT
) -> HttpResponse:
    request = RequestFactory().get("/", headers=headers)
    return render(request, PAGE, {"title": "Here"}, fragment=fragment, status=status)


def test_it_works() -> None:
    assert b"<!DOCTYPE html>" in answer().content


def test_the_fragment_alone_when_its_element_is_asked_for() -> None:
    content = answer({"HX-Request": "true", "HX-Target": "empty"}).content
    assert b"<!DOCTYPE html>" not in content
    assert b"Here" in content


def test_the_page_when_another_element_is_asked_for() -> None:
    assert b"<!DOCTYPE html>" in answer({"HX-Request": "true", "HX-Target": "else"}).content


def test_the_page_when_there_is_no_fragment() -> None:
    headers = {"HX-Request": "true", "HX-Target": "empty"}
    assert b"<!DOCTYPE html>" in answer(headers, fragment=None).content


def test_the_target_alone_is_not_htmx() -> None:
    assert b"<!DOCTYPE html>" in answer({"HX-Target": "empty"}).content


def test_a_cache_keeps_page_and_fragment_apart() -> None:
    assert answer().headers["Vary"] == "HX-Request, HX-Target, Cookie"


def test_the_status_is_the_callers() -> None:
    assert answer(status=409).status_code == 409
