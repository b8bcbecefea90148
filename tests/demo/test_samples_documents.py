"""The sample workflow `documents` and its pages: small, drawn from pages.toml, in four languages."""

from __future__ import annotations

import csv
import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

from PIL import Image
from pypdfium2 import PdfDocument  # type: ignore[import-untyped]  # it publishes no types

from apps import demo
from apps.pipeline.setup import read_workflow_file

FOLDER = Path(demo.__file__).parent / "samples" / "documents"
FILE = read_workflow_file(FOLDER / "documents.toml")
WRITTEN = (FOLDER / "pages.toml").read_text(encoding="utf-8")
PAGES: list[dict[str, Any]] = tomllib.loads(WRITTEN)["pages"]
LABELS = [*csv.DictReader((FOLDER / "labels.csv").read_text(encoding="utf-8").splitlines())]
PATHS = sorted(path for path in FOLDER.iterdir() if path.suffix in (".png", ".jpg", ".webp", ".pdf"))
FORMATS = {".png": "PNG", ".jpg": "JPEG", ".webp": "WEBP"}


def number(cell: str) -> float:
    """What an amount written with points means, in Western or Arabic digits."""
    return float(cell.translate(str.maketrans("٠١٢٣٤٥٦٧٨٩٫", "0123456789.", ",٬")))


def test_it_works() -> None:
    (question,) = FILE.definition.to_questions()
    assert (FILE.definition.workflow.slug, question.key, question.is_routing) == ("documents", "kind", True)
    assert question.none_of_these == "other"
    assert [row["file"] for row in LABELS] == [path.name for path in PATHS]


def test_true_answers_are_options_and_all_occur() -> None:
    (question,) = FILE.definition.to_questions()
    counts = Counter(row["kind"] for row in LABELS)
    assert set(counts) == set(question.option_ids) == set(FILE.rules["labels"])
    assert min(counts.values()) >= 5


def test_labels_are_those_the_pages_were_drawn_with() -> None:
    drawn = [(page["file"], page["kind"], page["lang"]) for page in PAGES]
    assert [(row["file"], row["kind"], row["language"]) for row in LABELS] == drawn


def test_files_are_small() -> None:
    assert max(path.stat().st_size for path in PATHS) < 60_000


def test_images_are_what_their_names_say() -> None:
    for path in PATHS:
        if path.suffix != ".pdf":
            with Image.open(path) as image:
                assert image.format == FORMATS[path.suffix], path.name
                assert max(image.size) <= 900, path.name
                assert image.convert("L").getextrema() != (255, 255), path.name


def test_pdfs_have_two_pages_of_text() -> None:
    paths = [path for path in PATHS if path.suffix == ".pdf"]
    assert len(paths) == 2
    for path in paths:
        with PdfDocument(path) as document:
            assert [bool(page.get_textpage().get_text_range().strip()) for page in document] == [True, True]


def test_every_format_and_script_is_there() -> None:
    assert {path.suffix for path in PATHS} == {*FORMATS, ".pdf"}
    languages = Counter(row["language"] for row in LABELS)
    assert set(languages) == {"ar", "de", "en", "fr"}
    for kind in FILE.rules["labels"]:
        assert any(row["kind"] == kind and row["language"] == "ar" for row in LABELS), kind


def test_amounts_add_up() -> None:
    for name in ("01-invoice.png", "03-fatura.png", "04-tax-invoice-two-languages.jpg"):
        page = next(page for page in PAGES if page["file"] == name)
        net, tax, total = (number(row[-1]) for row in page["totals"])
        assert abs(sum(number(row[-1]) for row in page["rows"][1:]) - net) < 0.005, name
        assert abs(net + tax - total) < 0.005, name


def test_every_domain_is_reserved_for_examples() -> None:
    for domain in re.findall(r"@([\w-]+(?:\.[\w-]+)+)", WRITTEN):
        assert domain.endswith(".example"), domain


def test_no_page_is_an_example() -> None:
    (question,) = FILE.definition.to_questions()
    examples = [text for option in question.options for text in option["examples"]]
    # The first fact of a page is its number, or its date.
    numbers = {page["facts"][0][1] for page in PAGES if page["facts"]}
    assert len(examples) == 12
    assert not [number for number in numbers if any(number in text for text in examples)]
