"""Every file listed; pictures and pages kept; four of them for the model; a bad file costs nobody else."""

from __future__ import annotations

import base64
from itertools import count
from typing import Any

import pytest

from apps.core.errors import InvalidInput
from apps.sources.images.enclosures import RawFile, to_attachments, to_pictures
from tests.sources.pictures import drawn, pdf_of


def picture(name: str, colour: str = "red", *, side: int = 80, is_inline: bool = False) -> RawFile:
    data = drawn("PNG", (side, side), colour=colour)
    return RawFile(name, "image/png", data, content_id=name, is_inline=is_inline)


def test_it_works() -> None:
    files = [
        picture("photo.png"),
        RawFile("offer.pdf", "application/pdf", pdf_of(2)),
        RawFile("notes.docx", "application/msword", b"PK\x03\x04"),
    ]
    found = to_attachments(files)
    told = [(each.name, each.page, each.is_for_model, each.note) for each in found]
    assert told == [
        ("photo.png", None, True, ""),
        ("offer.pdf", 1, True, ""),
        ("offer.pdf", 2, True, ""),
        ("notes.docx", None, False, "not kept: only pictures and PDFs are"),
    ]
    assert (found[1].size, found[1].sha256) == (found[2].size, found[2].sha256)


def test_a_bad_file_is_listed_with_the_reason() -> None:
    files = [
        RawFile("drawing.png", "image/png", b"<svg/>"),
        RawFile("a.pdf", "application/pdf", b"%PDF-"),
        RawFile("", "image/gif", b"GIF89a"),
        picture("good.png"),
    ]
    drawing, pdf, gif, good = to_attachments(files)
    assert drawing.note == "is an SVG drawing: only PNG, JPEG and WebP are kept"
    assert (pdf.image, pdf.note) == (None, "is a PDF that is broken")
    assert "is a GIF" in gif.note
    assert good.is_for_model


def test_icons_in_the_text_and_what_came_twice_are_not_for_the_model() -> None:
    files = [
        picture("tracker", "blue", side=1, is_inline=True),
        picture("icon", "lime", side=63, is_inline=True),
        picture("stamp.png", "grey", side=20),
        picture("photo.png"),
        picture("again.png"),
    ]
    assert [each.is_for_model for each in to_attachments(files)] == [False, False, True, True, False]


def test_files_come_before_what_stands_in_the_text_and_first_pages_before_second_ones() -> None:
    files = [
        picture("logo", "blue", is_inline=True),
        RawFile("a.pdf", "application/pdf", pdf_of(4, (200, 300))),
        picture("photo.png"),
        RawFile("b.pdf", "application/pdf", pdf_of(1, (300, 300))),
        picture("other.png", "lime"),
    ]
    found = to_attachments(files)
    chosen = [(each.name, each.page) for each in found if each.is_for_model]
    assert chosen == [("a.pdf", 1), ("photo.png", None), ("b.pdf", 1), ("other.png", None)]
    assert found[0].note == "kept, and not for the model: it reads 4 pictures of an item"


def test_an_item_keeps_twenty_pictures() -> None:
    found = to_attachments(picture(f"{n}.png", f"#0000{n:02x}") for n in range(22))
    assert [each.image is None for each in found] == [False] * 20 + [True] * 2
    assert found[-1].note == "not kept: an item keeps 20 pictures"


def test_files_that_take_too_long_leave_the_rest_unlooked_at() -> None:
    ticks = count(0, 16)
    found = to_attachments([picture(f"{n}.png") for n in range(4)], clock=lambda: next(ticks))
    assert [each.note for each in found[1:]] == ["not looked at: the files before it took too long"] * 3


def test_a_name_that_deceives_is_cleaned() -> None:
    (found,) = to_attachments([RawFile("invoice\u202egpj.exe\r\nX: y\x00", "Text/X\n", b"MZ")])
    assert (found.name, found.content_type) == ("invoicegpj.exeX: y�", "text/x")


def in_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def test_the_api_takes_data_urls_and_objects() -> None:
    content = in_base64(drawn())
    first, second = to_pictures(
        [
            f"data:image/png;base64,{content}",
            {"content_type": "image/png", "base64": content, "name": "a.png"},
        ]
    )
    assert (first.name, second.name, first.is_for_model) == ("image 1", "a.png", True)
    assert first.image == second.image


@pytest.mark.parametrize(
    ("image", "reason"),
    [
        (3, 'must be a data URL or {"content_type", "base64"}'),
        ("https://example.org/x.png", "is not a data URL (data:image/png;base64,…)"),
        ("data:image/png,abc", "is not a data URL (data:image/png;base64,…)"),
        ("data:image/png;base64,%%%", "is not base64"),
        ("data:image/png;base64,é", "is not base64"),
        ({"base64": "", "content_type": "image/png"}, "is empty"),
        ({"base64": in_base64(b"<svg/>"), "content_type": "image/png"}, "is an SVG drawing: only"),
        ({"base64": "AAAA", "content_type": 3}, "content_type and name must be texts"),
        ({"base64": "A" * 6_000_000, "content_type": "image/png"}, "has more than 4,194,304 bytes"),
    ],
)
def test_the_api_names_the_picture_it_cannot_take(image: Any, reason: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        to_pictures([f"data:image/png;base64,{in_base64(drawn())}", image], "items[3].images")
    (problem,) = caught.value.problems
    assert problem.path == "items[3].images[1]"
    assert problem.message.startswith(reason)


def test_the_api_takes_four() -> None:
    with pytest.raises(InvalidInput, match="images: has 5 images; the limit is 4"):
        to_pictures([""] * 5)
