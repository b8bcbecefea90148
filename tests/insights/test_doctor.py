from __future__ import annotations

import io
import os
import subprocess
import sys
from datetime import timedelta

import httpx
import pytest
from django.conf import settings as project
from django.core.cache import cache
from django.core.management import call_command
from django.db import connection
from django.test import override_settings

from apps.insights.checkup import (
    Finding,
    check_configuration,
    check_database,
    check_endpoints,
    check_migrations,
    check_sources,
    check_up,
    check_workers,
)
from apps.pipeline.tasks import WORKER_SEEN
from apps.sources.models import Source
from apps.workflows.models import Endpoint, Workflow
from tests.factories import NOW

pytestmark = pytest.mark.django_db


def answering(status: int) -> httpx.MockTransport:
    return httpx.MockTransport(lambda request: httpx.Response(status, request=request))


def refusing(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("Connection refused", request=request)


def endpoint_finding(transport: httpx.BaseTransport) -> Finding:
    return next(check_endpoints(now=NOW, transport=transport))


def test_it_works(workflow: Workflow) -> None:
    parts = [finding.part for finding in check_up(now=NOW, transport=answering(200))]
    assert parts == ["configuration", "database", "broker", "migrations", "model stand-in", "workers"]


def test_one_line_each_and_a_non_zero_exit(workflow: Workflow) -> None:
    cache.delete(WORKER_SEEN)
    out = io.StringIO()
    with pytest.raises(SystemExit, match="1"):
        call_command("doctor", stdout=out)
    lines = out.getvalue().splitlines()
    assert {line[0] for line in lines} == {"✓", "✗"}
    assert "✗ workers: No worker was ever seen here" in lines


def test_the_configuration_says_which_servers() -> None:
    assert check_configuration() == Finding(
        "configuration", True, "servers named by DATABASE_URL and REDIS_URL"
    )


def test_debug_pages_are_no_good_sign() -> None:
    with override_settings(DEBUG=True):
        assert not check_configuration().is_well


def test_without_hosts_no_page_is_reached() -> None:
    with override_settings(ALLOWED_HOSTS=[]):
        assert "ALLOWED_HOSTS is not set" in check_configuration().text


def test_the_database_is_told_with_version_and_locale_and_without_password() -> None:
    found = check_database()
    assert found.is_well
    assert "PostgreSQL 18" in found.text
    assert "locale C.UTF-8, UTF8" in found.text
    assert str(project.DATABASES["default"]["PASSWORD"]) not in found.text


def test_migrations_that_are_missing_are_named() -> None:
    assert check_migrations().is_well
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'reviews'")
    assert "not applied (reviews 0001_initial" in check_migrations().text


def test_before_migrations_no_table_is_asked() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations; DROP TABLE workflows_endpoint CASCADE")
    found = {finding.part: finding.text for finding in check_up(now=NOW)}
    assert found["model endpoints"] == "not known before migrations"
    assert list(found)[-1] == "workers"


def test_a_source_in_trouble(workflow: Workflow) -> None:
    assert list(check_sources(now=NOW)) == []
    mailbox = Source.objects.create(workflow=workflow, name="desk", kind="imap", error="Nothing answers.")
    found = Finding("source leads/desk", False, "Mailbox (IMAP), in trouble: Nothing answers.")
    assert list(check_sources(now=NOW)) == [found]
    Source.objects.filter(pk=mailbox.pk).update(error="", looked_at=NOW)
    assert [each.is_well for each in check_sources(now=NOW)] == [True]


def test_a_stand_in_says_how_it_is(workflow: Workflow) -> None:
    assert endpoint_finding(answering(200)).is_well
    assert endpoint_finding(answering(503)).text.endswith("answers 503 to /healthz")


def test_of_another_server_any_answer_is_enough(workflow: Workflow) -> None:
    Endpoint.objects.update(model="clef")
    assert endpoint_finding(answering(404)) == Finding(
        "model stand-in", True, "clef at http://127.0.0.1:9 is reached"
    )


def test_an_endpoint_that_is_away(workflow: Workflow) -> None:
    found = endpoint_finding(httpx.MockTransport(refusing))
    assert not found.is_well
    assert found.text.endswith("cannot be reached: Connection refused")


def test_a_variable_that_is_not_set_is_named(workflow: Workflow) -> None:
    Endpoint.objects.update(secret_variable="FERMATA_NO_SUCH_VARIABLE")
    assert "FERMATA_NO_SUCH_VARIABLE is not set" in endpoint_finding(answering(200)).text


def test_a_paused_endpoint_says_until_when(workflow: Workflow) -> None:
    Endpoint.objects.update(paused_until=NOW + timedelta(minutes=5), pause_reason="quota: used up")
    assert "paused until 09:05:00 UTC: quota: used up" in endpoint_finding(answering(200)).text


def test_without_a_workflow_no_model_is_needed() -> None:
    assert endpoint_finding(answering(500)).is_well


@pytest.mark.parametrize(("age_s", "is_well"), [(4, True), (40, False)])
def test_workers_are_known_by_their_last_sign_of_life(age_s: int, is_well: bool) -> None:
    cache.set(WORKER_SEEN, (NOW - timedelta(seconds=age_s)).isoformat())
    assert check_workers(now=NOW).is_well is is_well
    cache.delete(WORKER_SEEN)


@pytest.mark.slow
def test_who_stops_reading_is_no_accident() -> None:
    environment = {"DATABASE_URL": "postgresql://127.0.0.1:1/none", "REDIS_URL": "redis://127.0.0.1:1/0"}
    with subprocess.Popen(
        [sys.executable, "manage.py", "doctor"],
        cwd=project.BASE_DIR,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as doctor:
        assert doctor.stdout is not None
        doctor.stdout.close()
        _, said = doctor.communicate(timeout=60)
    assert (doctor.returncode, said) == (1, b"")
