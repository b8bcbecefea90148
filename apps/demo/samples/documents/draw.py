"""Draws the sample documents beside it again from pages.toml, and writes labels.csv.

    .venv/bin/python apps/demo/samples/documents/draw.py

For whoever changes a page: what it makes is committed. Needs Chromium, which shapes Arabic as readers see it,
and fonts for Latin and Arabic; Pillow then does what a scanner or a telephone's camera does to paper.
"""

from __future__ import annotations

import csv
import io
import random
import shutil
import subprocess
import tempfile
import tomllib
from html import escape
from pathlib import Path
from typing import Any

from PIL import Image, ImageEnhance, ImageFilter

HERE = Path(__file__).parent
WIDTH, HEIGHT = 620, 877  # A4 at 75 dots an inch: small, and still legible
MARGIN = 300  # Chromium's window is taller than the page it shows
MAX_BYTES = 60_000
PAPER = (252, 251, 247)

STYLE = """
@page { size: A4; margin: 0 }
* { box-sizing: border-box }
body { margin: 0; background: #fff; font: 12px/1.45 'DejaVu Sans', 'Noto Naskh Arabic'; color: #1c2226 }
body.serif { font-family: 'DejaVu Serif', 'Noto Naskh Arabic' }
body.mono { font-family: 'DejaVu Sans Mono', 'Noto Kufi Arabic'; font-size: 11px }
[dir=rtl] body { font-family: 'Noto Naskh Arabic', 'DejaVu Sans'; font-size: 13.5px }
[dir=rtl] body.kufi { font-family: 'Noto Kufi Arabic', 'DejaVu Sans'; font-size: 12px }
section { position: relative; width: 620px; min-height: 877px; padding: 44px 48px; break-after: page }
section:last-child { break-after: auto }
@media print { body { zoom: 1.28 } section { min-height: 876px } }
header { display: flex; justify-content: space-between; border-bottom: 2px solid var(--ink); padding-bottom: 10px }
header.band { background: var(--ink); color: #fff; margin: -44px -48px 0; padding: 24px 48px }
.company { font-size: 1.5em; font-weight: bold } .ink { color: var(--ink) } .band .ink { color: #fff }
.small { font-size: .82em; white-space: pre-line } .end { text-align: end }
h1 { font-size: 1.9em; margin: 22px 0 8px; color: var(--ink) }
.facts { display: flex; justify-content: space-between; gap: 24px; margin-bottom: 18px }
dl { display: grid; grid-template-columns: auto auto; gap: 1px 12px; margin: 0; align-content: start }
dt { color: #56626a } dd { margin: 0 }
table { width: 100%; border-collapse: collapse; margin: 8px 0 }
th { background: color-mix(in srgb, var(--ink) 14%, #fff); text-align: start }
th, td { padding: 5px 8px; border-bottom: 1px solid #cdd4d9 }
th:nth-child(n+2), td:nth-child(n+2) { text-align: end; white-space: nowrap }
.totals { width: 55%; margin-inline-start: auto } .totals tr:last-child td { font-weight: bold; font-size: 1.1em }
p { white-space: pre-wrap; margin: 12px 0 }
footer { position: absolute; bottom: 26px; inset-inline: 48px; border-top: 1px solid #cdd4d9; padding-top: 6px }
.stamp { position: absolute; top: 560px; inset-inline-start: 90px; padding: 6px 18px; transform: rotate(-14deg);
  border: 4px double #a3262a; border-radius: 6px; color: #a3262a; font-size: 1.6em; font-weight: bold; opacity: .75 }
"""


def to_html(page: dict[str, Any]) -> str:
    ink, look, lang = page.get("ink", "#23485c"), page.get("look", ""), page["lang"]
    direction = "rtl" if lang == "ar" else "ltr"
    sheets = [page, *page.get("more", [])]
    body = "".join(_sheet(page | sheet if number else sheet, number) for number, sheet in enumerate(sheets))
    return (
        f'<!doctype html><html lang="{lang}" dir="{direction}" style="--ink: {ink}"><meta charset="utf-8">'
        f"<title>{escape(page['title'])}</title><style>{STYLE}</style><body class='{look}'>{body}</body></html>"
    )


def _sheet(page: dict[str, Any], number: int) -> str:
    """The first sheet carries the head; a further one only what stands in its own part of `more`."""
    band = " class=band" if page.get("band") else ""
    facts = "".join(
        f"<dt>{escape(name)}</dt><dd><bdi>{escape(value)}</bdi></dd>" for name, value in page["facts"]
    )
    head = (
        f"<header{band}><div><div class='company ink'>{escape(page['company'])}</div>"
        f"<div class=small>{escape(page['address'])}</div></div>"
        f"<div class='small end'>{escape(page.get('contact', ''))}</div></header>"
    )
    top = (
        f"<h1>{escape(page['title'])}</h1><div class=facts><div class=small>{escape(page.get('to', ''))}</div>"
        f"<dl>{facts}</dl></div>"
    )
    parts = [
        head if number == 0 else "",
        top if number == 0 else "",
        _table(page["rows"], "") if page.get("rows") else "",
        _table(page["totals"], "totals", heads=False) if page.get("totals") else "",
        f"<p>{escape(page['text'])}</p>" if page.get("text") else "",
        f"<div class=stamp>{escape(page['stamp'])}</div>" if page.get("stamp") else "",
        f"<footer class=small>{escape(page['foot'])}</footer>" if page.get("foot") else "",
    ]
    return f"<section>{''.join(parts)}</section>"


def _table(rows: list[list[str]], kind: str, *, heads: bool = True) -> str:
    def row(cells: list[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}><bdi>{escape(cell)}</bdi></{tag}>" for cell in cells) + "</tr>"

    lines = [row(cells, "th" if heads and index == 0 else "td") for index, cells in enumerate(rows)]
    return f"<table class='{kind}'>{''.join(lines)}</table>"


def run_chromium(html: str, folder: Path, *wanted: str) -> None:
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        raise SystemExit("Chromium is needed, and not on the PATH.")
    source = folder / "page.html"
    source.write_text(html, encoding="utf-8")
    quiet = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        f"--user-data-dir={folder}/profile",
    ]
    # The page is our own and loads nothing, so it may be drawn without the sandbox, which root has not.
    subprocess.run(  # noqa: S603 - fixed arguments
        [program, *quiet, *wanted, source.as_uri()], check=True, capture_output=True, timeout=60
    )


def draw(page: dict[str, Any]) -> bytes:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if page["file"].endswith(".pdf"):
            run_chromium(to_html(page), folder, f"--print-to-pdf={folder}/page.pdf", "--no-pdf-header-footer")
            return (folder / "page.pdf").read_bytes()
        size = f"--window-size={WIDTH},{HEIGHT + MARGIN}"
        run_chromium(to_html(page), folder, f"--screenshot={folder}/page.png", size)
        with Image.open(folder / "page.png") as shot:
            image = shot.convert("RGB").crop((0, 0, WIDTH, page.get("height", HEIGHT)))
    return encode(wear(image, page), page["file"])


def wear(image: Image.Image, page: dict[str, Any]) -> Image.Image:
    """What happened to the paper on its way: `tilt` in degrees, `blur` in pixels, `dark` as a share of light lost."""
    if page.get("gray"):
        image = image.convert("L").convert("RGB")
    if tilt := page.get("tilt"):
        image = image.rotate(tilt, Image.Resampling.BICUBIC, expand=abs(tilt) >= 45, fillcolor=PAPER)
    if blur := page.get("blur"):
        image = image.filter(ImageFilter.GaussianBlur(blur))
    if dark := page.get("dark"):
        shade = (
            Image.linear_gradient("L")
            .resize(image.size)
            .point([255 - round(dark * level) for level in range(256)])
        )
        image = Image.composite(image, ImageEnhance.Brightness(image).enhance(1 - dark), shade)
    if page.get("specks"):
        chance = random.Random(page["file"])  # noqa: S311 - dust, the same at every drawing
        for _ in range(page["specks"]):
            image.putpixel((chance.randrange(image.width), chance.randrange(image.height)), (90, 86, 80))
    return image


def encode(image: Image.Image, name: str) -> bytes:
    out = io.BytesIO()
    match Path(name).suffix:
        case ".png":
            image.quantize(48, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
        case ".jpg":
            image.save(out, "JPEG", quality=56, optimize=True)
        case ".webp":
            image.save(out, "WEBP", quality=60, method=6)
        case suffix:
            raise ValueError(f"{name}: {suffix} is not drawn")
    return out.getvalue()


def main() -> None:
    pages = tomllib.loads((HERE / "pages.toml").read_text(encoding="utf-8"))["pages"]
    for page in pages:
        content = draw(page)
        if len(content) > MAX_BYTES:
            raise SystemExit(f"{page['file']} has {len(content):,} bytes, at most {MAX_BYTES:,} are meant")
        (HERE / page["file"]).write_bytes(content)
    with (HERE / "labels.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["file", "kind", "language", "pages"])
        writer.writerows(
            [each["file"], each["kind"], each["lang"], 1 + len(each.get("more", []))] for each in pages
        )


if __name__ == "__main__":
    main()
