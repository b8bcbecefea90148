"""Mails made to hurt: each in a process of its own, whose peak memory and time are measured."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
MB = 1024 * 1024
MOST_MB = 150
"""Beside the mail itself, which is in memory once: for every mail of 30 MB, whatever is in it."""
MOST_S = 30
"""On a shared machine; alone it is three at most."""

_PROGRAM = """
import gc, json, os, re, sys, time
from pathlib import Path
os.environ["DJANGO_SETTINGS_MODULE"] = "apps.config.test_settings"
import django
django.setup()
from apps.sources.mail.parsing import parse_mail
MB = 1024 * 1024
HEAD = b"From: a@b.example\\nSubject: s\\n"
raw = eval(sys.argv[1])
peak = lambda: int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024
parse_mail(HEAD + b"\\nwarm")
gc.collect()
Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
before, began = peak(), time.perf_counter()
mail = parse_mail(raw)
print(json.dumps({
    "mb": peak() - before, "s": time.perf_counter() - began, "repairs": mail.repairs, "files": len(mail.files),
    "characters": sum(len(piece.text) for piece in mail.pieces),
}))
"""

CASES = {
    "1,000 nested parts": (
        'HEAD + b"".join(b"Content-Type: multipart/mixed; boundary=b%d\\n\\n--b%d\\n" % (i, i) for i in range(1000))',
        "Parts nested deeper than 30 levels were not opened",
    ),
    "5,000 mails in each other": (
        'HEAD + b"Content-Type: message/rfc822\\n\\n" * 5000',
        "Parts nested deeper than 30 levels were not opened",
    ),
    "10,000 parts": (
        'HEAD + b"Content-Type: multipart/mixed; boundary=b\\n\\n" + b"--b\\n\\nhi\\n" * 10000',
        "Only the first 200 parts were read",
    ),
    "a subject of 1 MB": (
        'b"Subject: " + b"x" * MB + b"\\n\\nhi"',
        "The header Subject was longer than 8,192 characters; cut",
    ),
    "1 MB of open brackets": (
        'b"To: " + b"((" * (MB // 2) + b"\\n\\nhi"',
        "The header To was longer than 8,192 characters; cut",
    ),
    "300,000 headers": ('b"X-A: b\\n" * 300000 + b"\\nhi"', "Headers beyond the limit were passed over"),
    "30 MB of text": (
        'HEAD + b"\\n" + b"hello world, this is text\\n" * (30 * MB // 26)',
        "A text of 31,457,270 bytes was cut to the first 4,194,304",
    ),
    "30 MB of short lines": (
        'HEAD + b"\\n" + b"a\\n" * (15 * MB)',
        "A text of 31,457,280 bytes was cut to the first 4,194,304",
    ),
    "a file of 20 MB": (
        'HEAD + b"Content-Type: application/zip\\nContent-Transfer-Encoding: base64\\n\\n"'
        ' + __import__("base64").encodebytes(os.urandom(20 * MB))',
        "",
    ),
    "deep HTML": ('HEAD + b"Content-Type: text/html\\n\\n" + b"<div><b>" * 60000 + b"hi"', ""),
    "30,000 table rows": ('HEAD + b"Content-Type: text/html\\n\\n<table>" + b"<tr><td>a<td>b" * 30000', ""),
    "a calendar line of parameters alone": (
        'HEAD + b"Content-Type: text/calendar\\n\\nBEGIN:VEVENT\\nDTSTART" + b";" * 100_000',
        "",
    ),
    "blanks after half boundaries": (
        'HEAD + b"Content-Type: multipart/mixed; boundary=b\\n\\n" + (b"\\n--b" + b" " * 1000 + b"x") * 20000',
        "The boundary of a multipart was not found in it; it was read as text",
    ),
}

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", CASES)
def test_it_works(name: str) -> None:
    expression, repair = CASES[name]
    ended = subprocess.run(
        [sys.executable, "-c", _PROGRAM, expression],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    measured = json.loads(ended.stdout)
    print(f"{name}: {measured['s']:.2f} s, {measured['mb']:.0f} MB, {measured['repairs']}")  # noqa: T201  with -s
    assert measured["mb"] <= MOST_MB
    assert measured["s"] <= MOST_S
    assert not repair or repair in measured["repairs"]
