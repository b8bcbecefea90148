"""CSV as it comes out of spreadsheets: delimiter and quoting found out, a broken row costing that row alone."""

from __future__ import annotations

import csv
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from apps.core.errors import FieldProblem
from apps.core.text import repaired, unstorable_at
from apps.pipeline import limits

DELIMITERS = ",;\t|"
_NAMED = re.compile(r"sep=(.)[\r\n]*", re.IGNORECASE)
# One setting for all of Python, which would end a file at a cell of 131,072; only ever set to this.
csv.field_size_limit(limits.MAX_IMPORT_ROW_CHARACTERS)
_MOST_REPLAYED = 4 * limits.MAX_IMPORT_ROW_CHARACTERS


class UnreadableFile(Exception):
    """The file as a whole cannot be taken; the text says in a sentence why, and what to do."""


@dataclass(frozen=True, slots=True)
class Overlong:
    """Stands for a line over the limit; `quotes` is how many quotation marks it had."""

    quotes: int


Line = str | Overlong


class _OverlongLine(Exception):
    pass


@dataclass(frozen=True, slots=True)
class TableRow:
    """`number` counts as a spreadsheet does, from 1 and the header too; `repaired` is of replaced characters."""

    number: int
    cells: list[str]
    problem: FieldProblem | None
    repaired: int


class Table:
    """The rows of a CSV file after its header. csv.reader loses its place in a broken row; this finds it again.

    `lines` keep their ends. Empty lines and one that names the delimiter may stand before the header.
    Raises UnreadableFile when the header cannot be used.
    """

    def __init__(self, lines: Iterator[Line], delimiter: str) -> None:
        self.delimiter = delimiter
        self._lines = lines
        self._again: deque[str] = deque()
        self._replayed = 0
        self._held: list[str] = []
        self._length = 0
        self._overlong_quotes = 0
        self._repaired = 0
        self._rows = self._read()
        self.header = self._read_header()

    def __iter__(self) -> Iterator[TableRow]:
        return self._rows

    def _read_header(self) -> list[str]:
        for row in self._rows:
            if row.problem is not None:
                raise UnreadableFile(f"has a header that {row.problem.message}")
            if self._held and _NAMED.fullmatch(self._held[0]):  # how spreadsheet programs tell each other
                continue
            if any(cell.strip() for cell in row.cells):
                return _check_header(row.cells)
        return []

    def _read(self) -> Iterator[TableRow]:
        reader = self._new_reader()
        number = 0
        while True:
            number += 1
            self._held.clear()
            self._length = self._overlong_quotes = self._repaired = 0
            cells: list[str] = []
            problem = None
            try:
                cells = next(reader)
            except StopIteration:
                return
            except (_OverlongLine, csv.Error) as error:
                problem = self._pass_over(error)
                # One that failed would go on in the middle of a cell.
                reader = self._new_reader()
            yield TableRow(number, cells, problem, self._repaired)

    def _new_reader(self) -> Iterator[list[str]]:
        return csv.reader(self._watched(), delimiter=self.delimiter, strict=True)

    def _next_line(self) -> Line | None:
        return self._again.popleft() if self._again else next(self._lines, None)

    def _watched(self) -> Iterator[str]:
        while (line := self._next_line()) is not None:
            if isinstance(line, Overlong):
                self._overlong_quotes += line.quotes
                raise _OverlongLine
            self._held.append(line)
            self._length += len(line)
            if self._length > limits.MAX_IMPORT_ROW_CHARACTERS:
                raise _OverlongLine
            if len(self._held) > limits.MAX_IMPORT_ROW_LINES:  # each takes more memory than its characters
                raise _OverlongLine
            if unstorable_at(line) is not None:
                line, count = repaired(line)
                self._repaired += count
            yield line

    def _pass_over(self, error: Exception) -> FieldProblem:
        """Reads on to the end of the row that is broken."""
        if "unexpected end" in str(error):
            return self._read_again()
        quotes = self._overlong_quotes + sum(line.count('"') for line in self._held)
        while quotes % 2:
            line = self._next_line()
            if line is None:
                return FieldProblem(
                    "row", "opens a quotation mark that is never closed: nothing after it is read"
                )
            quotes += line.quotes if isinstance(line, Overlong) else line.count('"')
        if isinstance(error, _OverlongLine) or "field larger" in str(error):
            most = f"{limits.MAX_IMPORT_ROW_CHARACTERS:,} characters or {limits.MAX_IMPORT_ROW_LINES:,} lines"
            return FieldProblem("row", f"is longer than {most}")
        return FieldProblem("row", f"is no CSV: {error}")

    def _read_again(self) -> FieldProblem:
        """The file ended inside quotation marks: what stands after the line that opened them is read on its own."""
        rest = self._held[1:]
        self._replayed += sum(len(line) for line in rest)
        why = "opens a quotation mark that is never closed"
        if self._replayed > _MOST_REPLAYED:  # each such line reads to the end of the file
            return FieldProblem("row", f"{why}: nothing after it is read")
        self._again.extend(rest)
        return FieldProblem("row", why)


def named_delimiter(text: str) -> str | None:
    """What a first line `sep=;` says."""
    first = text.lstrip("\r\n").split("\n", 1)[0]
    found = _NAMED.fullmatch(first)
    return found[1] if found else None


def sniff_delimiter(text: str) -> str:
    """Whichever cuts the most rows of the beginning as it cuts the header, into most columns among equals."""
    lines = text.lstrip().splitlines(keepends=True)[:200]

    def fitness(delimiter: str) -> tuple[float, int]:
        rows = csv.reader(lines, delimiter=delimiter)
        widths = [len(row) for row in rows if row]
        if not widths or widths[0] < 2:
            return 0, 0
        return round(sum(width == widths[0] for width in widths) / len(widths), 1), widths[0]

    return max(DELIMITERS, key=fitness)


def _check_header(names: list[str]) -> list[str]:
    while names and not names[-1].strip():  # cells that were once used, right of the table
        names = names[:-1]
    if len(names) > limits.MAX_IMPORT_COLUMNS:
        raise UnreadableFile(f"has {len(names):,} columns; the limit is {limits.MAX_IMPORT_COLUMNS}")
    names = [name.strip() or f"column_{index}" for index, name in enumerate(names, start=1)]
    longest = max(map(len, names), default=0)
    if longest > limits.MAX_COLUMN_NAME_CHARACTERS:
        most = limits.MAX_COLUMN_NAME_CHARACTERS
        raise UnreadableFile(f"has a column whose name has {longest:,} characters; the limit is {most:,}")
    twins = sorted({name for name in names if names.count(name) > 1})
    if twins:
        raise UnreadableFile(f"has more than one column called {', '.join(twins)[:200]}")
    return names
