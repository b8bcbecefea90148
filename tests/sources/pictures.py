"""Pictures and PDFs drawn for tests."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pypdfium2  # type: ignore[import-untyped]  # it comes without types
from PIL import Image


def drawn(kind: str = "PNG", size: tuple[int, int] = (80, 80), colour: Any = "red", **more: Any) -> bytes:
    """A picture of one colour; `mode` and whatever Pillow's writer takes besides."""
    image = Image.new(more.pop("mode", "RGB"), size, colour)
    out = BytesIO()
    image.save(out, kind, **more)
    return out.getvalue()


def noisy(kind: str, side: int, **more: Any) -> bytes:
    """A picture that hardly compresses."""
    out = BytesIO()
    Image.effect_noise((side, side), 60).convert("RGB").save(out, kind, **more)
    return out.getvalue()


def pdf_of(pages: int = 1, size: tuple[float, float] = (595, 842)) -> bytes:
    """Blank pages, each a point wider than the one before, so that they are different pictures."""
    document = pypdfium2.PdfDocument.new()
    for number in range(pages):
        document.new_page(size[0] + number, size[1])
    out = BytesIO()
    document.save(out)
    document.close()
    return out.getvalue()
