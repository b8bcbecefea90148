"""The memory one picture may take, as images.py states it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

MEGABYTE = 1024 * 1024
# A process of its own, so that nothing else counts: what it had before, and the most it had after.
PROGRAM = """
import re, sys
from pathlib import Path
from apps.sources.images.checking import check_image
from tests.sources.pictures import drawn
check_image(drawn("PNG")), check_image(drawn("WEBP"))
peak = lambda: int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
before = peak()
check_image(Path(sys.argv[1]).read_bytes())
print((peak() - before) * 1024)
"""
DRAW = """
import sys
from tests.sources.pictures import drawn
kind, mode, path = sys.argv[1:]
colour = (10, 20, 30, 40)[: len(mode)] if mode != "I;16" else 5000
open(path, "wb").write(drawn(kind, (4000, 4000), mode=mode, colour=colour))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems count the memory of a process otherwise")
@pytest.mark.parametrize(
    ("kind", "mode"),
    [("PNG", "RGBA"), ("PNG", "RGB"), ("PNG", "I;16"), ("JPEG", "CMYK"), ("JPEG", "RGB"), ("WEBP", "RGBA")],
)
def test_it_works(kind: str, mode: str, tmp_path: Path) -> None:
    path = str(tmp_path / "picture")
    subprocess.run([sys.executable, "-c", DRAW, kind, mode, path], check=True, timeout=60)
    command = [sys.executable, "-c", PROGRAM, path]
    done = subprocess.run(command, check=True, timeout=60, capture_output=True, text=True)
    assert int(done.stdout) < 320 * MEGABYTE
