"""What a browser that was never here fetches before the first answer: few files, and small."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

from apps.accounts.models import User
from apps.workflows.models import Workflow
from tests.conftest import SignIn
from tests.factories import make_task
from tests.reviews.desk_forms import open_desk

STATIC = Path(__file__).parents[2] / "static"


def asked_for(page: str) -> set[str]:
    """Addresses that the page itself makes a browser ask for at once."""
    found = re.findall(r'<(?:script|img|iframe)[^>]* src="([^"]+)"|<link[^>]* href="([^"]+)"', page)
    return {address for pair in found for address in pair if address and not address.startswith("data:")}


def test_it_works(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    make_task(workflow)
    page = open_desk(signed_in(rosa))
    assert 'rel="icon"' in page
    assert len(asked_for(page)) + 1 <= 8


def test_little_travels(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    make_task(workflow)
    page = open_desk(signed_in(rosa))
    files = [STATIC.joinpath(address.removeprefix("/static/")).read_bytes() for address in asked_for(page)]
    assert sum(len(gzip.compress(each)) for each in (page.encode(), *files)) < 60_000
