"""A program of its own that renders a PDF: `python -I pdf_rendering.py PAGES SIDE < file.pdf > pages`.

PDFs are programs others wrote, and the library that draws them is C++: it runs apart, bounded in memory, time and
output, without our environment, so that a hostile file can at most end this program. Imports nothing of ours.

Output: one line of JSON {"problem", "page_count"}, then page after page: its length in 4 bytes, a PNG. What is out
when the program ends is good; a page that cannot be drawn ends it.
"""

from __future__ import annotations

import json
import resource
import sys
from io import BytesIO

import pypdfium2  # type: ignore[import-untyped]  # it comes without types

MEMORY_BYTES = 1024 * 1024 * 1024
OUTPUT_BYTES = 64 * 1024 * 1024
CPU_S = 10
LARGEST_SCALE = 200 / 72
"""Pixels a point: a small page is drawn at 200 dpi, not blown up."""
PASSWORD_ERROR = 4
"""FPDF_ERR_PASSWORD of fpdfview.h"""


def main(pages: int, side: int) -> None:
    _bound()
    try:
        document = pypdfium2.PdfDocument(sys.stdin.buffer.read())
        _write_line({"problem": "", "page_count": len(document)})
    except pypdfium2.PdfiumError as error:
        is_locked = error.err_code == PASSWORD_ERROR
        _write_line({"problem": "is locked with a password" if is_locked else "is broken", "page_count": 0})
        return
    for number in range(min(pages, len(document))):
        page = _drawn(document[number], side)
        sys.stdout.buffer.write(len(page).to_bytes(4) + page)
        sys.stdout.buffer.flush()


def _write_line(told: dict[str, object]) -> None:
    sys.stdout.buffer.write(json.dumps(told).encode() + b"\n")
    sys.stdout.buffer.flush()


def _bound() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    resource.setrlimit(resource.RLIMIT_FSIZE, (OUTPUT_BYTES, OUTPUT_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":  # elsewhere an address space cannot be bounded
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def _drawn(page: pypdfium2.PdfPage, side: int) -> bytes:
    width, height = page.get_size()
    scale = min(LARGEST_SCALE, (side - 1) / max(width, height, 1))  # rounded up when drawn
    out = BytesIO()
    page.render(scale=scale).to_pil().convert("RGB").save(out, "PNG", compress_level=1)
    page.close()
    return out.getvalue()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
