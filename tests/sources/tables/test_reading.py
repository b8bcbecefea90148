from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from apps.core.errors import FieldProblem
from apps.pipeline import limits
from apps.sources.tables.columns import Roles
from apps.sources.tables.csv_rows import UnreadableFile
from apps.sources.tables.reading import Row, read_rows, read_sample
from apps.sources.tables.understanding import Overrides, understand


def write(folder: Path, content: str | bytes, name: str = "items.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    return path


def rows(path: Path, overrides: Overrides | None = None) -> list[Row]:
    found = understand(read_sample(path), name=path.name, overrides=overrides)
    with path.open("rb") as stream:
        return list(read_rows(stream, found))


def taken(path: Path, overrides: Overrides | None = None) -> list[tuple[str, Any, dict[str, Any]]]:
    found = [row.incoming for row in rows(path, overrides)]
    return [(each.external_id, each.state, dict(each.metadata)) for each in found if each is not None]


def refusals(path: Path) -> list[tuple[int, str]]:
    return [
        (row.number, f"{row.problems[0].path} {row.problems[0].message}")
        for row in rows(path)
        if row.problems
    ]


def test_it_works(tmp_path: Path) -> None:
    path = write(tmp_path, 'id,text,label\n1,"Hello, you",ham\n2,Win,spam\n')
    assert taken(path) == [("1", "Hello, you", {"label": "ham"}), ("2", "Win", {"label": "spam"})]


def test_jsonl_with_the_fields_of_the_api(tmp_path: Path) -> None:
    line = (
        '{"external_id": "a", "state": {"subject": "Hi"}, "metadata": {"amount": 3}, "priority": 2, '
        '"received_at": "2026-11-30T09:00:00Z"}\n'
    )
    found = rows(write(tmp_path, line, "items.jsonl"))[0].incoming
    assert found is not None
    assert (found.external_id, found.state, found.metadata) == ("a", {"subject": "Hi"}, {"amount": 3})
    assert (found.priority, found.received_at) == (2, datetime(2026, 11, 30, 9, tzinfo=UTC))


def test_fields_may_be_named(tmp_path: Path) -> None:
    path = write(tmp_path, '{"nr": 7, "mail": "Hello", "text": "x"}\n', "items.jsonl")
    assert taken(path, Overrides(roles=Roles("nr", ("mail",)))) == [("7", "Hello", {"text": "x"})]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_the_delimiter_is_found_out(tmp_path: Path, delimiter: str) -> None:
    cells = ["id", "text", "amount"], ["1", '"a,b;c\td"', "12.50"]
    path = write(tmp_path, "".join(delimiter.join(row) + "\r\n" for row in cells))
    assert taken(path) == [("1", "a,b;c\td", {"amount": 12.5})]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings_of_spreadsheet_programs(tmp_path: Path, encoding: str) -> None:
    path = write(tmp_path, "id,text\n1,مرحبا é\n".encode(encoding))
    assert taken(path) == [("1", "مرحبا é", {})]


def test_a_line_that_names_the_delimiter(tmp_path: Path) -> None:
    assert taken(write(tmp_path, "sep=;\nid;text\n1;a\n")) == [("1", "a", {})]


def test_what_cannot_be_stored_is_replaced_and_counted(tmp_path: Path) -> None:
    path = write(tmp_path, '{"id": "1", "text": "a\\u0000b\\ud800c", "k\\u0000": "x\x00"}\n', "items.jsonl")
    assert taken(path) == [("1", "a�b�c", {"k�": "x�"})]
    assert rows(path)[0].repaired == 4


def test_nul_and_lone_surrogates_in_a_table(tmp_path: Path) -> None:
    path = write(tmp_path, "id,text\n1,a\x00b\ud800\n2,fine\n")
    assert [(row.number, row.repaired) for row in rows(path)] == [(2, 2), (3, 0)]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"id": 1, "text": NaN}', "NaN is not a JSON number"),
        ('{"id": 1, "id": 2, "text": "x"}', "'id' stands there twice"),
        ("[1]", "must be an object"),
        ('{"id": 1', "is no JSON: Expecting ',' delimiter at character 9"),
        ('{"id": 1, "text": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested deeper"),
        ('{"id": 1}', "state is missing: the text (text)"),
        ('{"text": "x"}', "external_id (id) is missing"),
        ('{"id": 1, "text": "x", "images": []}', "images are not taken from a file of rows"),
        ('{"id": 1, "text": "x", "received_at": "yesterday"}', "received_at must be a time"),
        ('{"id": 1, "text": "x", "metadata": [1]}', "metadata must be an object"),
        ('{"id": 1, "text": "x", "metadata": {"a": 1}, "a": 2}', "metadata.a stands beside"),
    ],
)
def test_a_bad_line_is_told_with_its_reason(tmp_path: Path, line: str, why: str) -> None:
    good = '{"id": 9, "text": "good"}'
    path = write(tmp_path, f"{good}\n{line}\n{good}\n", "items.jsonl")
    found = refusals(path)
    assert [number for number, _ in found] == [2]
    assert why in found[0][1]


def test_a_priority_in_words_is_no_priority_unless_it_is_said_to_be(tmp_path: Path) -> None:
    path = write(tmp_path, "id,text,priority\n1,a,high\n")
    assert taken(path) == [("1", "a", {"priority": "high"})]
    said = rows(path, Overrides(roles=Roles("id", ("text",), priority="priority")))
    assert said[0].problems == (FieldProblem("priority", "must be a whole number"),)


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("2,x,y", "row has 3 cells; the header has 2"),
        ("2", "row has 1 cells; the header has 2"),
        (",x", "external_id (id) is missing"),
        ('2,"x"y', "row is no CSV"),
        ('2,"two\nlines"y', "row is no CSV"),
    ],
)
def test_a_bad_row_costs_that_row_alone(tmp_path: Path, row: str, why: str) -> None:
    path = write(tmp_path, f"id,text\n1,a\n{row}\n3,c\n")
    found = refusals(path)
    assert [number for number, _ in found] == [3]
    assert why in found[0][1]
    assert [external_id for external_id, *_ in taken(path)] == ["1", "3"]


def test_rows_are_counted_as_a_spreadsheet_does(tmp_path: Path) -> None:
    path = write(tmp_path, 'id,text\n1,"two\nlines"\n\n,,\n,\n4,"x"y\n')
    assert [number for number, _ in refusals(path)] == [6]


def test_a_quotation_mark_that_is_never_closed(tmp_path: Path) -> None:
    path = write(tmp_path, 'id,text\n1,a\n2,"b\n3,c\n4,d\n')
    assert [external_id for external_id, *_ in taken(path)] == ["1", "3", "4"]
    assert refusals(path) == [(3, "row opens a quotation mark that is never closed")]


@pytest.mark.slow
@pytest.mark.parametrize("quote", ["", '"'])
def test_one_enormous_cell_costs_its_row(tmp_path: Path, quote: str) -> None:
    cell = quote + ("x" * 999 + ("\n" if quote else "x")) * 50_000 + quote
    path = write(tmp_path, f"id,text\n1,a\n2,{cell}\n3,c\n")
    assert refusals(path) == [
        (3, f"row is longer than {limits.MAX_IMPORT_ROW_CHARACTERS:,} characters or 50,000 lines")
    ]
    assert [external_id for external_id, *_ in taken(path)] == ["1", "3"]


@pytest.mark.slow
def test_one_enormous_line_costs_its_row(tmp_path: Path) -> None:
    good = '{"id": 9, "text": "good"}\n'
    path = write(tmp_path, good + '{"id": 1, "text": "' + "x" * 20_000_000 + '"}\n' + good, "items.jsonl")
    assert [number for number, _ in refusals(path)] == [2]
    assert len(taken(path)) == 2


@pytest.mark.parametrize(
    ("content", "name", "why"),
    [
        ("", "a.csv", "is empty"),
        ("id,text\n", "a.csv", "has no rows"),
        ("\n\n", "a.jsonl", "has no rows"),
        ("a,b\n1,2\n", "a.csv", "has no column for the text"),
        ("id,text,text\n1,2,3\n", "a.csv", "more than one column called text"),
        ("[1]", "a.json", "one object a line"),
        ("PK\x03\x04", "a.xlsx", "save it as CSV"),
        ("i\x00d\x00,\x00", "a.csv", "has no rows but its header"),
        ("\x7fELF" + "\x00" * 99, "a.csv", "is no text"),
        (
            "id,text," + ",".join(map(str, range(9_998))) + "\n",
            "a.csv",
            "has 10,000 columns; the limit is 500",
        ),
        (b"\xff\xfei\x00d", "a.csv", "has no rows"),
    ],
)
def test_a_file_that_cannot_be_taken(tmp_path: Path, content: str | bytes, name: str, why: str) -> None:
    with pytest.raises(UnreadableFile, match=why):
        rows(write(tmp_path, content, name))


def test_a_folder_and_a_missing_file_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="is a folder"):
        rows(tmp_path)
    with pytest.raises(UnreadableFile, match="is no file"):
        rows(tmp_path / "none.csv")


def test_a_file_over_the_limit(tmp_path: Path) -> None:
    path = write(tmp_path, "id,text\n")
    with path.open("ab") as file:
        file.truncate(limits.MAX_IMPORT_FILE_BYTES + 1)
    with pytest.raises(UnreadableFile, match="the limit is 209,715,200"):
        rows(path)


def test_a_metadata_column_holds_json(tmp_path: Path) -> None:
    path = write(tmp_path, 'id,text,metadata\n1,a,"{""vip"": true}"\n2,b,\n3,c,vip\n')
    assert taken(path) == [("1", "a", {"vip": True}), ("2", "b", {})]
    assert refusals(path) == [(4, "metadata must be a JSON object")]
