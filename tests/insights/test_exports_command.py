from __future__ import annotations

import io
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from apps.accounts.models import User
from apps.reviews.exports import LabelQuery, export_labels
from apps.workflows.models import Workflow
from tests.insights.answered import make_labels


def run(*arguments: str) -> tuple[bytes, str]:
    """What the command writes to standard output, in bytes, and to standard error."""
    content, said = io.BytesIO(), io.StringIO()
    # Kept by a name: a wrapper that is let go closes what it wraps.
    out = io.TextIOWrapper(content, encoding="ascii")
    call_command("export_labels", *arguments, stdout=out, stderr=said)
    return content.getvalue(), said.getvalue()


def test_it_works(workflow: Workflow, rosa: User) -> None:
    make_labels(workflow, rosa, "lead", "spam")
    wanted = b"".join(export_labels(workflow=workflow, query=LabelQuery(), format="jsonl"))
    assert run("--workflow", "leads") == (wanted, "2 records written.\n")


def test_a_file_is_whole_or_not_there(workflow: Workflow, rosa: User, tmp_path: Path) -> None:
    make_labels(workflow, rosa, "lead", "spam")
    path = tmp_path / "labels.csv"
    path.write_text("an older export")
    run("--workflow", "leads", "--format", "csv", "--bom", "--value", "spam", "--out", str(path))
    query = LabelQuery(value="spam", bom=True)
    assert path.read_bytes() == b"".join(export_labels(workflow=workflow, query=query, format="csv"))
    assert [each.name for each in tmp_path.iterdir()] == ["labels.csv"]


def test_nothing_to_write_says_why(workflow: Workflow, rosa: User) -> None:
    make_labels(workflow, rosa, "lead")
    out, said = run("--workflow", "leads", "--value", "spam")
    assert out == b""
    assert "value = spam removed 1 and left 0" in said


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--workflow", "nowhere"], "nowhere"),
        (["--workflow", "leads", "--since", "soon"], "--since must be a day"),
        (["--workflow", "leads", "--format", "parquet"], "--format parquet is not built yet"),
        (["--workflow", "leads", "--out", "/nowhere/at/all"], "--out /nowhere/at/all: No such file"),
        (["--workflow", "leads", "--out", "/tmp"], "is a folder"),  # noqa: S108 - only refused, never written
    ],
)
def test_what_is_wrong_is_named(workflow: Workflow, arguments: list[str], named: str) -> None:
    with pytest.raises(CommandError, match=named):
        run(*arguments)
