from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from apps.clef.local.server import StandIn


@pytest.fixture(scope="module")
def standin() -> Iterator[StandIn]:
    with StandIn() as server:
        yield server


@pytest.fixture(scope="module")
def web(standin: StandIn) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=standin.url) as client:
        yield client
