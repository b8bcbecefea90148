"""Pictures from outside: recognised by content, bounded before they are decoded, written anew."""

from __future__ import annotations

import struct
import zlib
from contextlib import suppress
from io import BytesIO

import pytest
from PIL import Image
from PIL.ExifTags import GPS, IFD, Base

from apps.pipeline.limits import MAX_IMAGE_BYTES
from apps.sources.images.checking import UnusableImage, check_image
from tests.sources.pictures import drawn, noisy


def reopened(data: bytes) -> Image.Image:
    image = Image.open(BytesIO(data))
    image.load()
    return image


def refusal(data: bytes) -> str:
    with pytest.raises(UnusableImage) as caught:
        check_image(data)
    return caught.value.reason


def test_it_works() -> None:
    checked = check_image(drawn("PNG", (300, 200)))
    assert (checked.content_type, checked.width, checked.height) == ("image/png", 300, 200)
    thumbnail = reopened(checked.thumbnail)
    assert (thumbnail.format, thumbnail.size) == ("WEBP", (240, 160))


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_the_kind_stays_and_the_same_picture_gives_the_same_bytes(kind: str) -> None:
    data = drawn(kind)
    checked = check_image(data)
    assert reopened(checked.data).format == kind
    assert checked.sha256 == check_image(data).sha256


def test_where_it_was_taken_is_not_kept_and_it_stands_upright() -> None:
    exif = Image.Exif()
    exif[Base.Orientation] = 6
    exif.get_ifd(IFD.GPSInfo)[GPS.GPSLatitudeRef] = "N"
    data = drawn("JPEG", (80, 40), exif=exif, comment=b"secret comment", icc_profile=b"profile")
    assert b"Exif" in data
    checked = check_image(data)
    assert (checked.width, checked.height) == (40, 80)
    assert not any(mark in checked.data for mark in (b"Exif", b"secret", b"profile"))


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_nothing_behind_the_picture_survives(kind: str) -> None:
    data = drawn(kind) + b"PK\x03\x04<script>alert(1)</script>"
    assert b"script" not in check_image(data).data


def test_a_text_chunk_of_a_png_does_not_survive() -> None:
    text = b"tEXt" + b"Comment\0<?php evil ?>"
    chunk = struct.pack(">I", len(text) - 4) + text + struct.pack(">I", zlib.crc32(text))
    data = drawn("PNG")
    assert b"php" not in check_image(data[:33] + chunk + data[33:]).data


@pytest.mark.parametrize(
    ("mode", "colour", "expected"),
    [
        ("1", 1, 255),
        ("L", 100, 100),
        ("I;16", 51_200, 200),
        ("LA", (100, 10), (100, 100, 100, 10)),
        ("P", 0, (0, 0, 0)),
        ("RGBA", (1, 2, 3, 40), (1, 2, 3, 40)),
    ],
)
def test_every_mode_of_a_png_keeps_its_colours(mode: str, colour: object, expected: object) -> None:
    checked = check_image(drawn("PNG", mode=mode, colour=colour))
    assert reopened(checked.data).getpixel((0, 0)) == expected


def test_print_colours_become_screen_colours() -> None:
    checked = check_image(drawn("JPEG", mode="CMYK", colour=(0, 255, 255, 0)))
    assert reopened(checked.data).getpixel((5, 5)) == (254, 0, 0)


@pytest.mark.parametrize("kind", ["PNG", "WEBP"])
def test_of_an_animation_the_first_frame_is_kept(kind: str) -> None:
    frames = [Image.new("RGB", (20, 20), colour) for colour in ("red", "lime", "blue")]
    out = BytesIO()
    frames[0].save(out, kind, save_all=True, append_images=frames[1:], duration=50)
    image = reopened(check_image(out.getvalue()).data)
    assert getattr(image, "n_frames", 1) == 1
    pixel = image.convert("RGB").getpixel((10, 10))
    assert isinstance(pixel, tuple)
    assert pixel[0] > 240 > 20 > pixel[1]


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "is empty"),
        (b"hello", "is not a picture: only PNG, JPEG and WebP are kept"),
        (b"<svg onload='x'/>", "is an SVG drawing: only"),
        (b"\xef\xbb\xbf<?xml version='1.0'?><!-- x --><svg/>", "is an SVG drawing: only"),
        (b"<!DOCTYPE html><html></html>", "is not a picture"),
        (drawn("GIF"), "is a GIF: only"),
        (drawn("BMP"), "is a BMP: only"),
        (drawn("TIFF"), "is a TIFF: only"),
        (b"\0\0\0\x18ftypheic", "is a HEIC: only"),
        (b"%PDF-1.7", "is a PDF: only"),
        (b"PK\x03\x04", "is a ZIP archive: only"),
        (b"MZ" + bytes(100), "is not a picture"),
    ],
)
def test_what_is_no_png_jpeg_or_webp_is_named(data: bytes, what: str) -> None:
    assert refusal(data).startswith(what)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_a_picture_that_is_cut_off_is_refused(kind: str) -> None:
    data = noisy(kind, 200)
    for size in (12, 30, len(data) // 2):
        assert refusal(data[:size]).startswith("cannot be read as a ")
    assert kind != "JPEG" or "it is cut off" in refusal(data[: len(data) // 2])


def png_claiming(width: int, height: int) -> bytes:
    head = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = drawn("PNG")
    return data[:12] + head + struct.pack(">I", zlib.crc32(head)) + data[33:]


@pytest.mark.parametrize(
    "data",
    [
        png_claiming(50_000, 50_000),
        png_claiming(20_000, 10),
        b"RIFF\x20\0\0\0WEBPVP8X\x0a\0\0\0\x10\0\0\0\xff\x3f\0\xff\x3f\0" + bytes(20),
        b"RIFF\x20\0\0\0WEBPVP8L\x0a\0\0\0\x2f\xff\xff\xff\x0f" + bytes(20),
    ],
)
def test_a_bomb_is_refused_by_its_header(data: bytes) -> None:
    assert "the limit is 16,000,000, and 16,383 a side" in refusal(data)


def test_too_many_bytes_are_refused_before_anything_is_read() -> None:
    assert "the limit is 4,194,304" in refusal(drawn("PNG") + bytes(MAX_IMAGE_BYTES))


def test_a_jpeg_of_endless_scans_is_refused() -> None:
    assert refusal(drawn("JPEG") + b"\xff\xda" * 65) == "is a JPEG of more than 64 scans"


@pytest.mark.slow
def test_a_png_over_the_limit_once_written_becomes_a_jpeg() -> None:
    noise = Image.merge("RGB", [Image.effect_noise((1800, 1800), 90) for _ in "RGB"])
    out = BytesIO()
    noise.quantize(64, method=Image.Quantize.FASTOCTREE).save(out, "PNG")
    assert len(out.getvalue()) <= MAX_IMAGE_BYTES
    checked = check_image(out.getvalue())
    assert (checked.content_type, len(checked.data) <= MAX_IMAGE_BYTES) == ("image/jpeg", True)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_flipped_bytes_are_a_picture_or_a_refusal(kind: str) -> None:
    data = drawn(kind, (40, 40))
    for at in range(0, len(data), max(1, len(data) // 60)):
        broken = data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]
        with suppress(UnusableImage):
            assert check_image(broken).width > 0
