"""That it measures what it says and ends; the figures themselves are for `make bench`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from apps.demo.measuring import paused, percentile, rate, timed
from apps.pipeline.claims import workflows_with_work
from apps.workflows.models import Workflow
from tests.factories import make_item

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.chaos
def test_it_works(tmp_path: Path) -> None:
    sizes = (
        "--items",
        "90",
        "--rounds",
        "5",
        # Nine reviewers answer five each to warm up, then five: most has to be left open.
        "--tasks",
        "500",
        "600",
        "--import-rows",
        "600",
        "--replay-rows",
        "500",
        "--page-items",
        "500",
        "--recorded",
        str(tmp_path / "absent"),
    )
    done = subprocess.run(
        [sys.executable, "-m", "apps.demo.bench", *sizes],
        cwd=ROOT,
        env=os.environ | {"FERMATA_VAR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout.splitlines()[-1])
    assert figures["calibration"]["measured"].startswith("nothing, as there are no recorded answers")
    assert figures["import"]["accepted"] == 600
    assert figures["replay"]["items"] >= 500
    assert figures["pages"]["pages_at_1m_ms"]["calibration"] > 0
    assert figures["decisions"]["ratio"] > 0
    assert figures["decisions"]["pipeline"]["items_per_s"] > 0
    within = [each["open_tasks"] for each in figures["desk"] if "p50_ms" in each]
    assert [there >= least for there, least in zip(within, (500, 600), strict=True)] == [True] * 2
    assert all(each["eight_labels_per_s"] > 0 for each in figures["desk"] if "p50_ms" not in each)
    assert not list((tmp_path / "bench").glob("postgres"))


def test_nothing_is_decided_while_paused(workflow: Workflow) -> None:
    make_item(workflow)
    with paused(workflow.endpoint):
        assert workflows_with_work() == []
    assert workflows_with_work() == [workflow]


def test_time_stands_still_after_the_block() -> None:
    with timed() as took:
        pass
    assert took() == took() >= 0


def test_percentiles_are_in_milliseconds() -> None:
    waits = [each / 1000 for each in range(101)]
    assert (percentile(waits, 50), percentile(waits, 95)) == (50.0, 95.0)


def test_rates_are_a_second() -> None:
    assert rate(300, 2.0) == 150.0
