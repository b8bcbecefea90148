"""Pictures and PDFs as files: an item each, named by its path."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.management import call_command

from apps.items.models import Attachment, Item
from apps.workflows.models import Workflow
from tests.sources.pictures import drawn, pdf_of

DOCUMENTS = Path(__file__).resolve().parents[4] / "shared" / "data" / "document-images"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "2026").mkdir()
    (tmp_path / "2026" / "invoice.PDF").write_bytes(pdf_of(2))
    (tmp_path / "photo.jpg").write_bytes(drawn("JPEG"))
    (tmp_path / "notes.txt").write_text("not a picture")
    return tmp_path


def import_items(path: Path, *options: str) -> int:
    try:
        call_command("import_items", str(path), "--workflow", "leads", *options)
    except SystemExit as ended:
        return int(str(ended.code))
    return 0


def test_it_works(workflow: Workflow, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert import_items(folder) == 0
    assert set(Item.objects.values_list("external_id", "title")) == {
        ("2026/invoice.PDF", "invoice.PDF"),
        ("photo.jpg", "photo.jpg"),
    }
    pages = Attachment.objects.filter(item__external_id="2026/invoice.PDF")
    assert list(pages.values_list("page", "is_for_model")) == [(1, True), (2, True)]
    assert "accepted 2, existing 0, refused 0" in capsys.readouterr().out


def test_the_same_again_changes_nothing(
    workflow: Workflow, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import_items(folder)
    assert import_items(folder) == 0
    assert capsys.readouterr().out.endswith("accepted 0, existing 2, refused 0, repaired 0\n")


def test_a_dry_run_writes_nothing(workflow: Workflow, folder: Path) -> None:
    assert import_items(folder, "--dry-run") == 0
    assert not Item.objects.exists()


def test_a_bad_one_is_named_and_the_rest_kept(
    workflow: Workflow, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "bad.png").write_bytes(b"<svg/>")
    assert import_items(folder) == 3
    assert "bad.png: is an SVG drawing: only PNG, JPEG and WebP are kept" in capsys.readouterr().out
    assert Item.objects.count() == 2


def test_a_single_file_is_named_by_its_name(workflow: Workflow, folder: Path) -> None:
    assert import_items(folder / "photo.jpg") == 0
    assert Item.objects.get().external_id == "photo.jpg"


@pytest.mark.slow
@pytest.mark.skipif(not DOCUMENTS.exists(), reason="the shared document images are not beside the project")
def test_real_documents_are_all_taken(workflow: Workflow, capsys: pytest.CaptureFixture[str]) -> None:
    assert import_items(DOCUMENTS) == 0
    assert "accepted 42, existing 0, refused 0" in capsys.readouterr().out
    assert Attachment.objects.filter(is_for_model=True).count() == 42
