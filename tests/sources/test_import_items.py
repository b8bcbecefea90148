from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from apps.items.models import Item, ItemContent
from apps.workflows.models import Workflow

pytestmark = pytest.mark.django_db
SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"


def run(*arguments: object) -> tuple[int, list[str], str]:
    """Exit code, lines of standard output, and standard error."""
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command("import_items", *map(str, arguments), workflow="leads", stdout=out, stderr=err)
    except SystemExit as ended:
        return int(str(ended.code)), out.getvalue().splitlines(), err.getvalue()
    return 0, out.getvalue().splitlines(), err.getvalue()


def jsonl(folder: Path, *rows: object) -> Path:
    path = folder / "items.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_it_works(workflow: Workflow, tmp_path: Path) -> None:
    path = jsonl(tmp_path, {"id": "a", "text": "Hello", "label": "ham"})
    assert run(path) == (0, ["accepted 1, existing 0, refused 0, repaired 0"], "")
    item = Item.objects.get()
    assert (item.external_id, item.source, item.metadata) == ("a", "file", {"label": "ham"})
    assert ItemContent.objects.get().state == "Hello"


def test_the_same_file_again_changes_nothing(workflow: Workflow, tmp_path: Path) -> None:
    path = jsonl(tmp_path, {"id": "a", "text": "Hello"}, {"id": "b", "text": "You"})
    run(path)
    assert run(path) == (0, ["accepted 0, existing 2, refused 0, repaired 0"], "")


def test_refused_rows_are_told_and_good_ones_kept(workflow: Workflow, tmp_path: Path) -> None:
    path = jsonl(
        tmp_path, {"id": "a", "text": "Hello"}, {"id": "b", "text": " "}, {"id": "c", "text": "a\0b"}
    )
    code, lines, _ = run(path)
    assert code == 3
    assert lines == [f"{path} row 2: state is empty", "accepted 2, existing 0, refused 1, repaired 1"]


def test_changed_content_is_refused_naming_what_differs(workflow: Workflow, tmp_path: Path) -> None:
    run(jsonl(tmp_path, {"id": "a", "text": "Hello"}))
    code, lines, _ = run(jsonl(tmp_path, {"id": "a", "text": "Bye"}))
    assert code == 3
    assert "row 1: state differs from the item that has external_id 'a' already" in lines[0]


def test_a_dry_run_writes_nothing_and_says_the_same(workflow: Workflow, tmp_path: Path) -> None:
    run(jsonl(tmp_path, {"id": "a", "text": "Hello"}, {"id": "b", "text": "You"}))
    rows = [
        {"id": "a", "text": "Hello"},
        {"id": "b", "text": "changed"},
        {"id": "c", "text": "new"},
        {"id": "c", "text": "new"},
        {"id": "c", "text": "twin"},
        {"id": "", "text": "x"},
    ]
    path = jsonl(tmp_path, *rows)
    code, lines, _ = run(path, "--dry-run")
    assert code == 3
    assert (
        lines[0] == f"{path}: jsonl, utf-8 (valid throughout what was looked at), id from id, text from text"
    )
    assert lines[-1] == "new 1, existing 2, changed 2, refused 1, repaired 0; nothing was written"
    assert Item.objects.count() == 2
    assert run(path)[1][-1] == "accepted 1, existing 2, refused 3, repaired 0"


def test_nothing_that_could_be_read(workflow: Workflow, tmp_path: Path) -> None:
    code, lines, errors = run(tmp_path / "none.csv")
    assert (code, lines) == (2, ["accepted 0, existing 0, refused 0, repaired 0"])
    assert errors == f"{tmp_path / 'none.csv'} is no file.\n"


@pytest.mark.parametrize(
    ("header", "asked"),
    [
        (
            "a,text",
            "let each row's content be its id by --id-field, or --id-from-content (its columns: a, text)",
        ),
        ("id,b", "no column is known to be the text: name it by --text-field"),
        ("id,text,date", "can be read day first and month first: say which by --time-format"),
    ],
)
def test_what_cannot_be_told_is_asked(workflow: Workflow, tmp_path: Path, header: str, asked: str) -> None:
    path = tmp_path / "items.csv"
    path.write_text(
        f"{header}\n1,Hello,03/04/2026\n".replace(
            "o,03/04/2026", "o" + ",03/04/2026" * (header.count(",") - 1)
        )
    )
    code, _, errors = run(path)
    assert code == 2
    assert asked in errors


def test_what_was_asked_can_be_said(workflow: Workflow, tmp_path: Path) -> None:
    path = tmp_path / "items.csv"
    path.write_bytes("Datum;Betreff;Nachricht\r\n03.04.26;Größe;passt\r\n".encode("utf-16-le"))
    assert run(path, "--id-from-content", "--time-format", "dmy")[0] == 0
    item = Item.objects.get()
    assert (str(item.received_at), item.title) == (
        "2026-04-03 00:00:00+00:00",
        "Betreff: Größe Nachricht: passt",
    )
    assert run(path, "--id-from-content", "--time-format", "dmy")[1] == [
        "accepted 0, existing 1, refused 0, repaired 0"
    ]


def test_one_file_of_two(workflow: Workflow, tmp_path: Path) -> None:
    code, lines, _ = run(tmp_path / "none.csv", jsonl(tmp_path, {"id": "a", "text": "Hello"}))
    assert (code, lines) == (3, ["accepted 1, existing 0, refused 0, repaired 0"])


def test_an_unknown_workflow_is_told_with_those_there_are(other_workflow: Workflow, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"no workflow 'sales'; there are: elsewhere, leads") as raised:
        call_command("import_items", str(tmp_path), workflow="sales")
    assert raised.value.returncode == 2


def test_more_rows_than_a_batch(workflow: Workflow, tmp_path: Path) -> None:
    path = tmp_path / "items.csv"
    path.write_text("id,text\n" + "".join(f"{n},text {n}\n" for n in range(1_201)) + "x,\n")
    assert run(path)[:2] == (
        3,
        [
            f"{path} row 1203: state is missing: the text (text)",
            "accepted 1201, existing 0, refused 1, repaired 0",
        ],
    )


def test_a_terminal_is_not_steered_by_what_a_file_says(workflow: Workflow, tmp_path: Path) -> None:
    path = jsonl(tmp_path, {"id": "a", "text": "x", "metadata": {"\u001b[2J": 1}, "\u001b[2J": 2})
    assert "\u001b" not in "".join(run(path)[1])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("sms-spam/sms.jsonl", 3_000),
        ("arbanking77/arbanking77.jsonl", 4_397),
        ("clinc150-oos/train.jsonl", 4_530),
        ("clinc150-oos/eval.jsonl", 4_284),
    ],
)
def test_real_files_go_in_whole(workflow: Workflow, name: str, rows: int) -> None:
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"the data set {path} is not on this machine")
    code, lines, errors = run(path)
    sys.stdout.write(f"{name}: {lines[-1]}\n")
    assert (code, lines, errors) == (0, [f"accepted {rows}, existing 0, refused 0, repaired 0"], "")
    assert Item.objects.count() == rows
    assert run(path)[1] == [f"accepted 0, existing {rows}, refused 0, repaired 0"]
