from __future__ import annotations

import re

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.workflows.models import Endpoint, Workflow
from tests.conftest import SignIn

SETTINGS = "/w/leads/settings/"


@pytest.fixture
def maras(workflow: Workflow, mara: User, signed_in: SignIn) -> Client:
    return signed_in(mara)


def checked(page: str) -> set[str]:
    return set(re.findall(r'name="reading-(\w+)"[^>]* checked', page))


def test_it_works(maras: Client, workflow: Workflow) -> None:
    assert checked(maras.get(SETTINGS).content.decode()) == {"reads_images", "fits_images"}
    saved = maras.post(f"{SETTINGS}reading/", {"reading-reads_quoted": "on", "reading-reads_signature": "on"})
    assert saved.status_code == 302
    workflow.refresh_from_db()
    assert (workflow.reads_quoted, workflow.reads_signature) == (True, True)
    assert (workflow.reads_images, workflow.fits_images) == (False, False)
    assert checked(maras.get(SETTINGS).content.decode()) == {"reads_quoted", "reads_signature"}


def test_an_endpoint_that_reads_no_images_is_told(maras: Client) -> None:
    assert "reads no images" not in maras.get(SETTINGS).content.decode()
    Endpoint.objects.update(reads_images=False)
    assert "reads no images" in maras.get(SETTINGS).content.decode()


def test_another_workflow_keeps_its_own(maras: Client, other_workflow: Workflow) -> None:
    maras.post(f"{SETTINGS}reading/", {})
    other_workflow.refresh_from_db()
    assert other_workflow.reads_images


def test_fields_that_people_see_first(signed_in: SignIn, mara: User, workflow: Workflow) -> None:
    client = signed_in(mara)
    sent = client.post("/w/leads/settings/top-fields/", {"top-top_fields": " total \r\n\r\nfrom\ntotal"})
    assert sent.status_code == 302
    assert Workflow.objects.get(pk=workflow.pk).top_fields == ["total", "from"]
    assert "total\nfrom</textarea>" in client.get("/w/leads/settings/").content.decode()


@pytest.mark.parametrize("typed", ["x" * 101, "\n".join(map(str, range(21)))])
def test_fields_that_are_none(typed: str, signed_in: SignIn, mara: User, workflow: Workflow) -> None:
    refused = signed_in(mara).post("/w/leads/settings/top-fields/", {"top-top_fields": typed})
    assert refused.status_code == 422
    assert Workflow.objects.get(pk=workflow.pk).top_fields == []
