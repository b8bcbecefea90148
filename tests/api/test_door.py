"""Who gets in, and how every refusal looks."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client, override_settings
from django.utils import timezone

from apps.accounts.models import User
from apps.api.door import CALLS_A_MINUTE, check_rate
from apps.api.errors import ApiError
from apps.workflows.models import ApiToken, Membership, Workflow
from tests.api.conftest import Caller, caller_of
from tests.conftest import SignIn

ITEMS = "/workflows/leads/items"


def code(response: Any) -> tuple[int, str]:
    """The status and the code, once the answer has the form of a refusal."""
    error = response.json()["error"]
    assert set(error) == {"code", "message", "fields"}
    return response.status_code, error["code"]


def test_it_works(ivan: Caller) -> None:
    assert ivan.get(ITEMS).status_code == 200


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer ", "Bearer wrong", "Basic aXZhbjp4", "Bearer \xff\x00"]
)
def test_a_wrong_token(db: None, header: str) -> None:
    response = Client(headers={"Authorization": header}).get(f"/api/v1{ITEMS}")
    assert code(response) == (401, "unauthorized")
    assert response.headers["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize("change", [{"expires_at": timezone.now()}, {"revoked_at": timezone.now()}])
def test_an_ended_token(ivan: Caller, change: dict[str, Any]) -> None:
    ApiToken.objects.update(**change)
    assert code(ivan.get(ITEMS)) == (401, "unauthorized")


def test_a_person_who_left(ivan: Caller, ivan_person: User) -> None:
    Membership.objects.filter(user=ivan_person).delete()
    assert ivan.get(ITEMS).status_code == 401


def test_a_session_opens_nothing(mara: User, signed_in: SignIn) -> None:
    browser = signed_in(mara)
    assert browser.get(f"/api/v1{ITEMS}").status_code == 401
    assert browser.post(f"/api/v1{ITEMS}", {}, content_type="application/json").status_code == 401


def test_no_form_token_is_asked_for(ivan: Caller) -> None:
    ivan.client.handler.enforce_csrf_checks = True
    assert ivan.post(ITEMS, {"external_id": "m", "state": "x"}).status_code == 201


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/nothing",
        "/api/v1/items/abc",
        "/api/v1/items/99999999999999999999999",
        "/api/v1/items/5/",
        "/api/v2/x",
        "/api/",
        "/api/v1/",
        "/api/v1/workflows/nowhere/items",
    ],
)
def test_nothing_here(ivan: Caller, path: str) -> None:
    assert code(ivan.client.get(path)) == (404, "not_found")


def test_another_method(ivan: Caller) -> None:
    response = ivan.client.delete(f"/api/v1{ITEMS}")
    assert code(response) == (405, "method_not_allowed")
    assert set(response.headers["Allow"].split(", ")) == {"GET", "POST"}


def test_use_is_noted_at_most_once_a_minute(ivan: Caller) -> None:
    ivan.get(ITEMS)
    first = ApiToken.objects.get().last_used_at
    ivan.get(ITEMS)
    assert first is not None
    assert ApiToken.objects.get().last_used_at == first
    ApiToken.objects.update(last_used_at=first - timedelta(seconds=61))
    ivan.get(ITEMS)
    assert (ApiToken.objects.get().last_used_at or first) > first


def test_the_rate_is_a_minute_of_the_clock() -> None:
    cache.set("fermata:api:calls:7:2", CALLS_A_MINUTE - 1)
    check_rate(token_id=7, now_s=125.0)
    with pytest.raises(ApiError) as refused:
        check_rate(token_id=7, now_s=125.0)
    assert (refused.value.status, refused.value.headers["Retry-After"]) == (429, "55")
    check_rate(token_id=7, now_s=180.0)
    check_rate(token_id=8, now_s=125.0)


def test_too_many_calls_over_http(ivan: Caller) -> None:
    minute = int(time.time()) // 60
    for each in (minute, minute + 1):
        cache.set(f"fermata:api:calls:{ApiToken.objects.get().pk}:{each}", CALLS_A_MINUTE)
    response = ivan.get(ITEMS)
    assert code(response) == (429, "too_many_calls")
    assert 1 <= int(response.headers["Retry-After"]) <= 60


AWAY = {
    "default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": "redis://127.0.0.1:1/0"}
}


@override_settings(CACHES=AWAY)
def test_without_the_cache_all_are_let_through(ivan: Caller) -> None:
    assert ivan.get(ITEMS).status_code == 200


CALLS = [
    ("post", "/workflows/leads/items", "ingest"),
    ("get", "/workflows/leads/items", "read"),
    ("get", "/items/1", "read"),
    ("get", "/workflows/leads/labels", "read"),
    ("get", "/workflows/leads/metrics", "read"),
    ("get", "/workflows/leads/labels/export", "export"),
    ("post", "/workflows/leads/exports", "export"),
    ("get", "/exports/1", "export"),
    ("get", "/exports/1/file", "export"),
]


def call(caller: Caller, method: str, path: str) -> Any:
    return caller.post(path, {}) if method == "post" else caller.get(path)


@pytest.mark.parametrize(("method", "path", "scope"), CALLS)
def test_each_call_needs_its_scope(
    workflow: Workflow, mara: User, method: str, path: str, scope: str
) -> None:
    others = {"ingest", "read", "export"} - {scope}
    assert code(call(caller_of(workflow, mara, *others), method, path)) == (403, "missing_scope")
    assert call(caller_of(workflow, mara, scope), method, path).status_code != 403


@pytest.mark.parametrize(("method", "path", "scope"), CALLS)
def test_another_workflows_token_finds_nothing(stranger: Caller, method: str, path: str, scope: str) -> None:
    assert code(call(stranger, method, path)) == (404, "not_found")
