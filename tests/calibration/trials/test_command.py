from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management.base import CommandError

from apps.calibration.models import Trial
from apps.clef.local.server import StandIn
from apps.workflows.models import Endpoint, Workflow
from tests.calibration.commands import run
from tests.calibration.trials.trialled import CSV

pytestmark = pytest.mark.django_db


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    path = tmp_path / "labels.csv"
    path.write_bytes(CSV)
    return path


@pytest.fixture
def model(workflow: Workflow) -> Iterator[StandIn]:
    with StandIn() as standin:
        Endpoint.objects.update(base_url=standin.url)
        yield standin


def trial(path: Path, *more: str) -> str:
    return run("trial", "--workflow", "leads", "--labels", str(path), *more)


def test_it_works(model: StandIn, labels: Path) -> None:
    printed = trial(labels, "--model", "stand-in")
    assert "labels.csv: 4 examples, 1 of which belong nowhere" in printed
    assert "present: right 2 of 3 = 66.7% (95% interval 20.8% to 93.9%)" in printed
    assert "said Spam, true Existing customer: 1, cost 1.50 (2)" in printed
    assert "the true error could still be up to" in printed
    assert "p50 " in printed
    assert "its confidence: choice" in printed


@pytest.mark.slow
def test_a_model_that_cannot_be_reached_is_exit_code_3(workflow: Workflow, labels: Path) -> None:
    with pytest.raises(SystemExit) as ended:
        trial(labels, "--model", "stand-in")
    assert ended.value.code == 3
    assert Trial.objects.get().status == "done"


def test_what_cannot_be_run_is_exit_code_2(workflow: Workflow, labels: Path) -> None:
    with pytest.raises(CommandError, match="is no file") as refused:
        trial(labels.with_name("none.csv"), "--model", "stand-in")
    assert refused.value.returncode == 2
    assert not Trial.objects.exists()


def test_unlabelled_rows_are_for_the_page(workflow: Workflow, labels: Path) -> None:
    labels.write_bytes(b"id,text,intent\n1,Hello,\n")
    with pytest.raises(CommandError, match="1 examples have no label"):
        trial(labels, "--model", "stand-in")


def test_what_a_file_says_steers_no_terminal(model: StandIn, labels: Path) -> None:
    labels.write_bytes(b"id,text,intent,present\n1\x1b[2J,Hello,spam,\x1b[31mred\n")
    assert "\x1b" not in trial(labels)
