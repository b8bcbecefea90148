from __future__ import annotations

import io
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from apps.pipeline import limits
from apps.sources.tables.chunks import open_chunks
from apps.sources.tables.csv_rows import UnreadableFile
from apps.sources.tables.reading import Row, read_rows
from apps.sources.tables.understanding import SAMPLE_BYTES, understand

MIB = 1 << 20
ROOT = Path(__file__).resolve().parents[3]


def read(content: bytes) -> list[Row]:
    found = understand(content[:SAMPLE_BYTES], name="a.csv")
    return list(read_rows(io.BytesIO(content), found))


def told(rows: list[Row]) -> list[tuple[int, str]]:
    return [(row.number, row.problems[0].message) for row in rows if row.problems]


def taken(rows: list[Row]) -> list[str]:
    return [row.incoming.external_id for row in rows if row.incoming]


def test_it_works() -> None:
    assert taken(read(b"id,text\n1,a\n")) == ["1"]


def test_a_file_cut_off_within_a_character_keeps_its_rows() -> None:
    rows = read("id,text\n1,a\n2,höchste\n".encode("utf-16")[:-3])
    assert (taken(rows), [row.repaired for row in rows]) == (["1", "2"], [0, 1])


@pytest.mark.parametrize("quote", ['"', 'x"', '"x"y'])
def test_a_lone_quotation_mark_costs_no_other_row(quote: str) -> None:
    rows = read(f"id,text\n1,a\n2,{quote}\n3,c\n4,d\n".encode())
    assert {"1", "3", "4"} <= set(taken(rows))


def test_lone_quotation_marks_everywhere_end() -> None:
    rows = read(b"id,text\n" + b'1,"x\n2,"y"z\n' * 10_001)
    assert 10_000 < len(told(rows)) < 20_003


@pytest.mark.slow
def test_a_million_empty_lines() -> None:
    rows = read(b"\n" * 1000 + b"id,text\n" + b"\r\n" * 1_000_000 + b"1,\n2,b\n")
    assert told(rows) == [(1_001_002, "is missing: the text (text)")]
    assert taken(rows) == ["2"]


@pytest.mark.parametrize(
    "line", [b",".join(b"c%d" % n for n in range(10_000)), b'"' + b"h" * (9 * MIB) + b'"']
)
def test_a_header_over_the_limits(line: bytes) -> None:
    content = line + b"\n1,2\n"
    with pytest.raises(UnreadableFile, match=r"has 10,000 columns|a header that"):
        read(content)


def test_a_row_of_ten_thousand_cells_costs_that_row() -> None:
    rows = read(b"id,text\n1,a" + b",x" * 9_998 + b"\n2,b\n")
    assert told(rows) == [(2, "has 10,000 cells; the header has 2")]
    assert taken(rows) == ["2"]


def big(mebibytes: int, before: bytes, piece: bytes, after: bytes) -> Iterator[bytes]:
    yield before
    for _ in range(mebibytes):
        yield piece * (MIB // len(piece))
    yield after


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "piece", "after", "ids"),
    [
        (b"id,text\n1,", b"x", b"\n2,b\n", ["2"]),
        (b'id,text\n1,"', b"x" * 63 + b"\n", b'"\n2,b\n', ["2"]),
        (b'id,text\n0,a\n1,"', b"2,xxxxxxxxxxxxx\n", b"", ["0"]),
        (b"id,text\n", b" " * 1023 + b"\n", b"1,a\n", ["1"]),
    ],
)
def test_fifty_mebibytes_take_little_memory(
    before: bytes, piece: bytes, after: bytes, ids: list[str]
) -> None:
    found = understand((before + piece * SAMPLE_BYTES)[:SAMPLE_BYTES], name="a.csv")
    tracemalloc.start()
    with open_chunks(big(50, before, piece, after)) as stream:
        rows = list(read_rows(stream, found))
    assert tracemalloc.get_traced_memory()[1] < 12 * limits.MAX_IMPORT_ROW_CHARACTERS
    tracemalloc.stop()
    assert taken(rows) == ids


@pytest.mark.slow
def test_chunks_are_asked_for_as_they_are_read() -> None:
    asked: list[int] = []

    def chunks() -> Iterator[bytes]:
        for number in range(100):
            asked.append(number)
            yield (b"id,text\n" if number == 0 else b"") + b"%06d,some text\n" % number * 1_000

    with open_chunks(chunks()) as stream:
        rows = read_rows(stream, understand(b"id,text\n1,x\n", name="a.csv"))
        assert next(rows).number == 2
        assert len(asked) < 90
        assert sum(1 for _ in rows) == 99_999


def test_a_beginning_like_a_mailbox_without_a_line_end_costs_nothing() -> None:
    """Told in a process of its own: a slow pattern would hold this one."""
    program = (
        "from apps.sources.tables.understanding import understand\n"
        "print(understand(b'From ' + b'x' * 250_000, name='a.csv').problem)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert ended.stdout == "has a column whose name has 250,005 characters; the limit is 1,000\n"


def test_the_first_table_of_a_process_may_have_a_long_cell() -> None:
    program = (
        "from apps.sources.tables.understanding import understand\n"
        "print(understand(b'id,text\\n1,' + b'x' * 200_000, name='a.csv').roles.texts)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert ended.stdout == "('text',)\n"


def test_a_field_with_an_endless_name_is_no_column() -> None:
    sample = b'{"id": 1, "text": "a", "' + b"n" * 2000 + b'": 1}\n'
    assert understand(sample, name="a.jsonl").columns == ("id", "text")
