"""A server that says it reads no images is well: the item goes to people, and nothing is paused."""

from __future__ import annotations

import pytest

from apps.clef.circuit import CircuitBreaker
from apps.clef.failures import to_error


def reason_of(message: str, status: int = 422) -> str:
    return to_error("systemone", status, {}, {"error": message}, state="x").reason


def test_it_works() -> None:
    error = to_error("systemone", 422, {}, {"error": "this model does not read images"}, state="x")
    assert (error.reason, error.scope, error.retry) == ("images_unread", "item", False)
    circuit = CircuitBreaker(failures=1)
    circuit.failed(error)
    assert circuit.state == "closed"


@pytest.mark.parametrize(
    "message",
    [
        "This model reads no images",
        "The model doesn't support images",
        "images: cannot process image input",
        "Image inputs are not supported by this model",
    ],
)
def test_however_it_is_said(message: str) -> None:
    assert reason_of(message) == "images_unread"
    assert reason_of(message, 400) == "images_unread"


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("images[2]: at most 4 images", "bug"),
        ("image 1 is not supported as image/svg+xml", "bug"),
        ("the image cannot be decoded", "bug"),
    ],
)
def test_another_trouble_with_an_image_is_not_that(message: str, reason: str) -> None:
    assert reason_of(message) == reason


def test_trouble_of_the_server_stays_its_own() -> None:
    assert reason_of("the worker does not support images now", 500) == "server"
