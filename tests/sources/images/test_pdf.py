from __future__ import annotations

import time
from io import BytesIO

import pypdfium2  # type: ignore[import-untyped]  # it comes without types
import pytest
from PIL import Image

from apps.sources.images.checking import UnusableImage
from apps.sources.images.pdf import pdf_pages
from tests.sources.pictures import pdf_of


def pdf_with(stream: bytes, *, more: bytes = b"") -> bytes:
    """A one-page PDF that draws what the stream says."""
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 400 400]/Contents 4 0 R/Resources<<" + more + b">>>>",
        b"<</Length %d>>stream\n" % len(stream) + stream + b"\nendstream",
    ]
    body = b"%PDF-1.4\n" + b"".join(b"%d 0 obj%s endobj\n" % pair for pair in enumerate(objects, start=1))
    return body + b"trailer<</Root 1 0 R>>"


def test_it_works() -> None:
    found = pdf_pages(pdf_with(b"1 0 0 rg 0 0 400 400 re f"))
    assert (len(found.pages), found.page_count, found.note) == (1, 1, "")
    page = Image.open(BytesIO(found.pages[0].data)).convert("RGB")
    assert page.size == (1112, 1112)
    assert page.getpixel((500, 500)) == (255, 0, 0)


def test_of_many_pages_the_first_four_are_kept_quickly() -> None:
    data, began = pdf_of(5_000), time.monotonic()
    found = pdf_pages(data)
    assert (len(found.pages), found.page_count) == (4, 5_000)
    assert found.note == "has 5,000 pages: the first 4 are kept"
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("size", [(1e7, 1e7), (14_400, 1), (0.01, 0.01), (595, 842)])
def test_pages_of_any_size_have_bounded_pixels(size: tuple[float, float]) -> None:
    page = pdf_pages(pdf_of(1, size)).pages[0]
    assert 1 <= max(page.width, page.height) <= 1600


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"hello", "is not a PDF"),
        (b"%PDF-1.4 hello", "is a PDF that is broken"),
        (pdf_of(3)[:300], "is a PDF that is broken"),
        (pdf_of(0), "is a PDF that is broken"),
    ],
)
def test_what_cannot_be_drawn_says_why(data: bytes, reason: str) -> None:
    with pytest.raises(UnusableImage) as caught:
        pdf_pages(data)
    assert caught.value.reason == reason


def test_a_locked_pdf_says_so() -> None:
    locked = pdf_of(1).replace(
        b"trailer\r\n<<",
        b"trailer\r\n<</Encrypt<</Filter/Standard/V 1/R 2/P -4/O<%s>/U<%s>>>/ID[<00><00>]"
        % (b"11" * 32, b"22" * 32),
    )
    with pytest.raises(UnusableImage) as caught:
        pdf_pages(locked)
    assert caught.value.reason == "is a PDF that is locked with a password"


@pytest.mark.slow
def test_a_pdf_that_draws_forever_is_given_up() -> None:
    """A form that draws the next one twenty times, six deep: 64 million rectangles out of one kilobyte."""
    forms = b"".join(
        b"%d 0 obj<</Type/XObject/Subtype/Form/BBox[0 0 400 400]/Resources<</XObject<</F %d 0 R>>>>/Length %d>>"
        b"stream\n%s\nendstream endobj\n" % (10 + depth, 11 + depth, 5 * 20, b"/F Do" * 20)
        for depth in range(8)
    )
    last = b"18 0 obj<</Type/XObject/Subtype/Form/BBox[0 0 400 400]/Length 22>>"
    last += b"stream\n0 0 400 400 re f 0 0 m\nendstream endobj\n"
    data = pdf_with(b"/F Do", more=b"/XObject<</F 10 0 R>>").replace(b"trailer", forms + last + b"trailer")
    began = time.monotonic()
    with pytest.raises(UnusableImage) as caught:
        pdf_pages(data)
    assert "draw" in caught.value.reason
    assert time.monotonic() - began < 20


def test_the_library_is_what_we_think() -> None:
    """The program that draws reads its error's number, which the library may rename."""
    with pytest.raises(pypdfium2.PdfiumError) as caught:
        pypdfium2.PdfDocument(b"%PDF-1.4 hello")
    assert isinstance(caught.value.err_code, int)
