"""PDFs as pictures of their first pages, rendered by a program apart (pdf_rendering.py) that a hostile file may end.

A page has at most 1600 pixels a side. One PDF at a time in a process; the program has 10 s and 1 GiB.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from apps.pipeline import limits
from apps.pipeline.incoming import CheckedImage
from apps.sources.images.checking import UnusableImage, check_page

PAGE_SIDE = 1600
RENDER_S = 10.0
_PROGRAM = Path(__file__).with_name("pdf_rendering.py")
_one_at_a_time = threading.Lock()


@dataclass(frozen=True, slots=True)
class PdfPages:
    """The first pages, from page 1 without a gap; `page_count` is what the file has. `note`: why pages are missing."""

    pages: tuple[CheckedImage, ...]
    page_count: int
    note: str = ""


def is_pdf(data: bytes) -> bool:
    """By content: readers look for the mark in the first kilobyte."""
    return b"%PDF-" in data[:1024]


def pdf_pages(data: bytes) -> PdfPages:
    """Raises UnusableImage where no page can be drawn."""
    if not is_pdf(data):
        raise UnusableImage("is not a PDF")
    with _one_at_a_time, tempfile.TemporaryFile() as out:
        problem = _render(data, out)
        out.seek(0)
        told = json.loads(out.readline(1000) or "{}")
        drawn = tuple(map(check_page, _drawn(out)))
    count = told.get("page_count", 0)
    problem = told.get("problem") or problem
    if not drawn:
        raise UnusableImage(f"is a PDF that {problem or 'has no pages'}")
    return PdfPages(drawn, count, _note(len(drawn), count, problem))


def _drawn(out: IO[bytes]) -> Iterator[bytes]:
    for _ in range(limits.MAX_PDF_PAGES):
        size = int.from_bytes(out.read(4))
        page = out.read(size)
        if not size or len(page) < size:
            return
        yield page


def _note(drawn: int, count: int, problem: str) -> str:
    if problem:
        return f"page {drawn + 1} {problem}: only the pages before it are kept"
    return f"has {count:,} pages: the first {drawn} are kept" if count > drawn else ""


def _render(data: bytes, out: IO[bytes]) -> str:
    """What went wrong with the program as a whole; empty when it ended well."""
    command = [sys.executable, "-I", str(_PROGRAM), str(limits.MAX_PDF_PAGES), str(PAGE_SIDE)]
    try:
        done = subprocess.run(  # noqa: S603 - our own program; the file goes through standard input
            command, input=data, stdout=out, stderr=subprocess.DEVNULL, timeout=RENDER_S, env={}, check=False
        )
    except subprocess.TimeoutExpired:
        return f"takes longer than {RENDER_S:.0f} s to draw"
    return "" if done.returncode == 0 else "cannot be drawn, or takes too much memory or time"
