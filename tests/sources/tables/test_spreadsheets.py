"""Bytes as Excel, LibreOffice and WPS write them; each file says which program and which kind of export."""

from __future__ import annotations

import io
from typing import Any

import pytest

from apps.sources.tables.columns import Roles
from apps.sources.tables.reading import read_rows
from apps.sources.tables.understanding import Overrides, understand

FILES: dict[str, tuple[bytes, list[tuple[str, Any, dict[str, Any]]]]] = {
    "Excel, CSV UTF-8": (
        b'\xef\xbb\xbfid;text;amount\r\n1;"Gr\xc3\xb6\xc3\x9fe ""XL"" passt;nicht";1.234,50\r\n',
        [("1", 'Größe "XL" passt;nicht', {"amount": 1234.5})],
    ),
    "Excel, Unicode text": (
        '\ufeffid\ttext\tamount\r\n1\t"two\nlines"\t12\r\n'.encode("utf-16-le"),
        [("1", "two\nlines", {"amount": 12})],
    ),
    "Excel, CSV (MS-DOS), a German one": (
        b"id;text\r\n1;Gr\x94\xe1e zu gro\xe1, f\x81r alle\r\n",
        [("1", "Größe zu groß, für alle", {})],
    ),
    "Excel, CSV (Macintosh)": (b"id,text\r1,one\r2,two\r", [("1", "one", {}), ("2", "two", {})]),
    "Excel, columns used once, right of the table": (
        b"id,text,,\r\n1,one,,\r\n2,two,,\r\n",
        [("1", "one", {}), ("2", "two", {})],
    ),
    "Excel, a line for other programs": (b"sep=|\r\nid|text\r\n1|a;b,c\r\n", [("1", "a;b,c", {})]),
    "Excel, a mark before a quoted header": (
        b'\xef\xbb\xbf"id","text"\r\n"1","one"\r\n',
        [("1", "one", {})],
    ),
    "LibreOffice, all text quoted": (
        '"id","text","when"\n"1","it""s – here","30.11.2026"\n'.encode(),
        [("1", 'it"s – here', {"when": "30.11.2026"})],
    ),
    "LibreOffice, UTF-16 without a mark": (
        "id,النص\n1,أين طلبي؟\n".encode("utf-16-le"),
        [("1", "أين طلبي؟", {})],
    ),
    "LibreOffice, empty rows above the table": (b",\n,\nid,text\n1,one\n", [("1", "one", {})]),
    "WPS, CSV in GBK": (
        '编号,内容,备注\r\n1,"订单,还没有收到",加急\r\n'.encode("gbk"),
        [("1", "订单,还没有收到", {"备注": "加急"})],
    ),
    "mixed line ends": (
        b"id,text\r\n1,one\n2,two\r3,three",
        [(str(n), t, {}) for n, t in ((1, "one"), (2, "two"), (3, "three"))],
    ),
    "a header of two lines": (b'id,"text"\r\n1,"\r\n2,two"\r\n', [("1", "\r\n2,two", {})]),
}


def taken(content: bytes, overrides: Overrides | None = None) -> list[tuple[str, Any, dict[str, Any]]]:
    rows = read_rows(io.BytesIO(content), understand(content, name="export.csv", overrides=overrides))
    found = [row.incoming for row in rows]
    return [(each.external_id, each.state, dict(each.metadata)) for each in found if each is not None]


def test_it_works() -> None:
    assert taken(b"id,text\n1,one\n") == [("1", "one", {})]


@pytest.mark.parametrize("program", FILES)
def test_files_of_spreadsheet_programs(program: str) -> None:
    content, rows = FILES[program]
    assert taken(content) == rows


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_that_cuts_all_rows_alike_is_meant(delimiter: str) -> None:
    text = f"id{delimiter}text\n" + "".join(f"{n}{delimiter}a, b; c{'|' * (n % 2)}\n" for n in range(9))
    if delimiter in ",;":
        text = text.replace("a, b; c", "a b c")
    assert understand(text.encode(), name="a.csv").delimiter == delimiter


def test_a_wrong_guess_can_be_overruled() -> None:
    content = "id|a;text;b\n1|x;é;y\n".encode("iso8859-15")
    overrides = Overrides("cp1251", ";", Roles("id|a", ("text",)))
    assert taken(content, overrides) == [("1|x", "й", {"b": "y"})]


def test_a_wrong_encoding_costs_no_row_and_is_counted() -> None:
    content = "id,text\n1,Größe\n2,plain\n".encode("cp1252")
    rows = list(read_rows(io.BytesIO(content), understand(content, name="a", overrides=Overrides("utf-8"))))
    assert [row.repaired for row in rows] == [2, 0]
    assert rows[0].incoming is not None
    assert rows[0].incoming.state == "Gr��e"
    assert rows[0].incoming.repairs == ("2 characters that cannot be read or stored were replaced",)
