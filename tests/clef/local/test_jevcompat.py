"""Others wrote down how a server of /v1/systemone behaves, and check it: every requirement, MUST and SHOULD."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from apps.clef.local.server import StandIn

pytestmark = pytest.mark.slow


def test_it_works(standin: StandIn, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    # A program of its own: the official SDK in it opens its own connections, to loopback only.
    ran = subprocess.run(
        [Path(sys.executable).parent / "jevcompat", "test", standin.url, "--json", report],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stdout
    results = json.loads(report.read_text())["results"]
    assert "\nconformant to spec" in ran.stdout
    assert len(results) > 40
    assert [result["id"] for result in results if result["status"] == "fail"] == []
