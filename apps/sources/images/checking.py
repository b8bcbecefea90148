"""Pictures from outside: recognised by their content, bounded before they are decoded, and written anew.

What is kept holds pixels and nothing else that came: no EXIF (so no place where it was taken), no colour profile,
no comment, no further frames, no bytes behind the picture. The same picture gives the same bytes.

Memory: one picture at a time in a process (a lock), and at most 320 MB for it: a WebP of 16 million pixels, whose
decoder keeps three canvases; PNG and JPEG take half. A test measures it.
"""

from __future__ import annotations

import re
import struct
import threading
from collections.abc import Callable
from io import BytesIO

from PIL import ExifTags, Image, JpegImagePlugin, PngImagePlugin, WebPImagePlugin

from apps.pipeline import limits
from apps.pipeline.incoming import CheckedImage

QUALITIES = (90, 70, 40)
"""Of JPEG and WebP; the next one only where the one before is over the limit."""
THUMBNAIL_SIDE = 240
MAX_SCANS = 64
"""Of a progressive JPEG: usual are ten, and each costs a pass over every pixel, so a small file could cost hours."""

_one_at_a_time = threading.Lock()

_UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_OTHER_KINDS = (
    (re.compile(rb"GIF8[79]a"), "a GIF"),
    (re.compile(rb"BM.{4}\0{4}", re.DOTALL), "a BMP"),
    (re.compile(rb"II\*\0|MM\0\*"), "a TIFF"),
    (re.compile(rb".{4}ftyp(avif|avis)", re.DOTALL), "an AVIF"),
    (re.compile(rb".{4}ftyp(hei[cfmsx]|hev[cx]|mif1|msf1)", re.DOTALL), "a HEIC"),
    (re.compile(rb"\0\0[\x01\x02]\0"), "an icon"),
    (re.compile(rb".{0,1020}%PDF-", re.DOTALL), "a PDF"),
    (
        re.compile(rb"(\xef\xbb\xbf)?\s*<(svg|(\?xml|!).{0,4000}?<svg)", re.DOTALL | re.IGNORECASE),
        "an SVG drawing",
    ),
    (re.compile(rb"PK\x03\x04"), "a ZIP archive"),
)


class UnusableImage(Exception):
    """The reason completes a sentence about the file: "is an SVG drawing: …"."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def check_image(data: bytes) -> CheckedImage:
    """The picture in `data`, upright, written anew; a PNG becomes a JPEG only where it would be over the limit."""
    kind = _kind_of(data)
    if len(data) > limits.MAX_IMAGE_BYTES:
        raise UnusableImage(f"has {len(data):,} bytes: the limit is {limits.MAX_IMAGE_BYTES:,}")
    with _one_at_a_time:
        image = _decoded(data, kind)
        return _checked(image, kind)


def check_page(data: bytes) -> CheckedImage:
    """A rendered page, a PNG of ours: kept as PNG or JPEG, whichever is smaller."""
    with _one_at_a_time:
        image = _decoded(data, "PNG")
        return min((_checked(image, kind) for kind in ("PNG", "JPEG")), key=lambda each: len(each.data))


def _kind_of(data: bytes) -> str:
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "PNG"
    if data.startswith(b"\xff\xd8\xff"):
        return "JPEG"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "WEBP"
    if not data:
        raise UnusableImage("is empty")
    what = next((name for pattern, name in _OTHER_KINDS if pattern.match(data[:8192])), None)
    raise UnusableImage(f"is {what or 'not a picture'}: only PNG, JPEG and WebP are kept")


_READERS: dict[str, Callable[[BytesIO], Image.Image]] = {
    "PNG": PngImagePlugin.PngImageFile,
    "JPEG": JpegImagePlugin.JpegImageFile,
    "WEBP": WebPImagePlugin.WebPImageFile,
}
_NAMES = {"PNG": "a PNG", "JPEG": "a JPEG", "WEBP": "a WebP"}


def _decoded(data: bytes, kind: str) -> Image.Image:
    """Its pixels, upright, as L, RGB or RGBA."""
    if kind == "WEBP":  # its reader makes room for the pixels when it opens the file
        _check_size(*_webp_size(data))
    if kind == "JPEG" and data.count(b"\xff\xda") > MAX_SCANS:
        raise UnusableImage(f"is a JPEG of more than {MAX_SCANS} scans")
    try:
        # The readers of these three kinds by name: no other of Pillow's many parsers ever sees the file.
        image = _READERS[kind](BytesIO(data))
        _check_size(image.width, image.height)
        image.load()
        return _plain(_upright(image))
    except UnusableImage:
        raise
    except MemoryError:
        raise
    except Exception as error:  # a broken file makes Pillow raise nearly anything
        raise UnusableImage(f"cannot be read as {_NAMES[kind]}: {_told(error)}") from error


def _told(error: Exception) -> str:
    said = " ".join(str(error).split())[:100]
    if isinstance(error, struct.error | EOFError) or "truncated" in said.lower():
        return "it is cut off"
    return said if said and isinstance(error, OSError | SyntaxError) else "it is broken"


def _check_size(width: int, height: int) -> None:
    if width < 1 or height < 1:
        raise UnusableImage("has no pixels")
    if width * height > limits.MAX_IMAGE_PIXELS or max(width, height) > limits.MAX_IMAGE_SIDE:
        raise UnusableImage(
            f"has {width:,} × {height:,} pixels: the limit is {limits.MAX_IMAGE_PIXELS:,}, "
            f"and {limits.MAX_IMAGE_SIDE:,} a side"
        )


def _webp_size(data: bytes) -> tuple[int, int]:
    """As the container says (RFC 9649), before anything is decoded."""
    chunk, at = data[12:16], data[20:30]
    if len(at) < 10:
        raise UnusableImage("cannot be read as a WebP: it is cut off")
    if chunk == b"VP8X":
        return 1 + int.from_bytes(at[4:7], "little"), 1 + int.from_bytes(at[7:10], "little")
    if chunk == b"VP8L":
        bits = int.from_bytes(at[1:5], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    return int.from_bytes(at[6:8], "little") & 0x3FFF, int.from_bytes(at[8:10], "little") & 0x3FFF


def _upright(image: Image.Image) -> Image.Image:
    try:
        orientation = image.getexif().get(ExifTags.Base.Orientation)
    except Exception:  # noqa: BLE001 - broken EXIF makes Pillow raise nearly anything, and is not needed
        return image
    how = _UPRIGHT.get(orientation) if isinstance(orientation, int) else None
    return image if how is None else image.transpose(how)


def _plain(image: Image.Image) -> Image.Image:
    if image.mode.startswith("I"):  # 16 bits of grey
        plain = image.point(lambda value: value / 256).convert("L")
    elif image.mode in ("1", "L") and not image.has_transparency_data:
        plain = image.convert("L")
    else:
        plain = image.convert("RGBA" if image.has_transparency_data else "RGB")
    plain.info = {}  # the writers would carry over comments and colour profiles
    return plain


def _checked(image: Image.Image, kind: str) -> CheckedImage:
    kind, data = _written(image, kind)
    return CheckedImage(f"image/{kind.lower()}", image.width, image.height, data, _thumbnail(image))


def _written(image: Image.Image, kind: str) -> tuple[str, bytes]:
    if kind == "PNG":
        data = _encoded(image, "PNG")
        if len(data) <= limits.MAX_IMAGE_BYTES:
            return "PNG", data
        kind = "JPEG"
    if kind == "JPEG":
        image = on_white(image)
    for quality in QUALITIES:
        data = _encoded(image, kind, quality=quality)
        if len(data) <= limits.MAX_IMAGE_BYTES:
            return kind, data
    raise UnusableImage(f"has more than {limits.MAX_IMAGE_BYTES:,} bytes however it is written")


def on_white(image: Image.Image) -> Image.Image:
    """Without transparency: a JPEG has none."""
    if image.mode != "RGBA":
        return image
    page = Image.new("RGB", image.size, "white")
    page.paste(image, mask=image.getchannel("A"))
    return page


def _encoded(image: Image.Image, kind: str, *, quality: int = 0) -> bytes:
    out = BytesIO()
    if kind == "PNG":
        image.save(out, "PNG", compress_level=6)
    elif kind == "JPEG":
        image.save(out, "JPEG", quality=quality)
    else:
        image.save(out, "WEBP", quality=quality, method=2)
    return out.getvalue()


def _thumbnail(image: Image.Image) -> bytes:
    scale = min(1.0, THUMBNAIL_SIDE / max(image.size))
    size = max(1, round(image.width * scale)), max(1, round(image.height * scale))
    small = image.resize(size, Image.Resampling.LANCZOS, reducing_gap=3)
    return _encoded(small, "WEBP", quality=80)
