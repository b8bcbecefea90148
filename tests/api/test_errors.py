from __future__ import annotations

import json

import pytest
from django.db import OperationalError
from django.http import Http404

from apps.api.errors import to_api_error, to_path, to_response
from apps.core.errors import Conflict, FieldProblem, InvalidInput, NotNow


def test_it_works() -> None:
    response = to_response(to_api_error(InvalidInput(FieldProblem("a.b", "is wrong"))))
    assert response.status_code == 422
    assert json.loads(response.content)["error"]["fields"] == [{"path": "a.b", "message": "is wrong"}]


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (Conflict("somebody was faster"), 409),
        (NotNow("away"), 503),
        (OperationalError("connection to 10.0.0.7 failed"), 503),
        (Http404(), 404),
        (ValueError("secret"), 500),
    ],
)
def test_nothing_of_the_inside_is_told(error: Exception, status: int) -> None:
    response = to_response(to_api_error(error))
    assert response.status_code == status
    assert b"secret" not in response.content
    assert b"10.0.0.7" not in response.content


def test_paths_are_as_the_sender_wrote_them() -> None:
    assert to_path(("items", 1, "a", 3, "b")) == "items[1].a[3].b"
