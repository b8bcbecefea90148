"""CSV as it comes out of spreadsheets: delimiter and quoting found out, a broken row costing that row alone."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass

from apps.core.errors import FieldProblem
from apps.core.text import repaired
from apps.pipeline import limits

DELIMITERS = ",;\t"


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
    """`number` counts as a spreadsheet does, the header being row 1; `repaired` is of replaced characters."""

    number: int
    cells: list[str]
    problem: FieldProblem | None
    repaired: int


class Table:
    """The rows of a CSV file. csv.reader loses its place in a broken row; counting quotes finds it again.

    `lines` keep their ends. Raises UnreadableFile when the header cannot be used.
    """

    def __init__(self, lines: Iterator[Line]) -> None:
        self._lines = lines
        self._row = 1
        self._is_quoted = False
        self._replaced = 0
        first = next(lines, "")
        named = re.fullmatch(r"sep=(.)[\r\n]*", first, re.IGNORECASE) if isinstance(first, str) else None
        if named:  # how spreadsheet programs tell each other
            first = next(lines, "")
            self._row = 2
        if isinstance(first, Overlong):
            raise UnreadableFile(f"has a header longer than {limits.MAX_IMPORT_ROW_CHARACTERS:,} characters")
        first = repaired(first)[0]
        self.delimiter = named[1] if named else _sniff(first)
        self.header = _check_header(next(csv.reader([first], delimiter=self.delimiter), []))

    def __iter__(self) -> Iterator[TableRow]:
        # One setting for all of Python; only ever set to this.
        csv.field_size_limit(limits.MAX_IMPORT_ROW_CHARACTERS)
        while True:
            self._row += 1
            self._replaced, self._is_quoted = 0, False
            cells: list[str] = []
            problem = None
            try:
                # A reader for each row: one that failed would go on in the middle of a cell.
                cells = next(csv.reader(self._watched(), delimiter=self.delimiter, strict=True))
            except StopIteration:
                return
            except _OverlongLine:
                problem = self._pass_over(_too_long())
            except csv.Error as error:
                is_long = "field larger" in str(error)
                problem = self._pass_over(
                    _too_long() if is_long else FieldProblem("row", f"is no CSV: {error}")
                )
            yield TableRow(self._row, cells, problem, self._replaced)

    def _watched(self) -> Iterator[str]:
        length = 0
        for line in self._lines:
            self._count_quotes(line)
            if isinstance(line, Overlong):
                raise _OverlongLine
            length += len(line)
            if length > limits.MAX_IMPORT_ROW_CHARACTERS:
                raise _OverlongLine
            text, count = repaired(line)
            self._replaced += count
            yield text

    def _count_quotes(self, line: Line) -> None:
        quotes = line.quotes if isinstance(line, Overlong) else line.count('"')
        self._is_quoted ^= bool(quotes % 2)

    def _pass_over(self, problem: FieldProblem) -> FieldProblem:
        """Reads on to the end of the row that is broken."""
        while self._is_quoted:
            line = next(self._lines, None)
            if line is None:
                return FieldProblem(
                    "row", "opens a quotation mark that is never closed: nothing after it is read"
                )
            self._count_quotes(line)
        return problem


def _too_long() -> FieldProblem:
    return FieldProblem("row", f"is longer than {limits.MAX_IMPORT_ROW_CHARACTERS:,} characters")


def _sniff(header: str) -> str:
    """Whichever delimiter cuts the header into most columns."""
    return max(DELIMITERS, key=lambda delimiter: len(next(csv.reader([header], delimiter=delimiter), [])))


def _check_header(names: list[str]) -> list[str]:
    if len(names) > limits.MAX_IMPORT_COLUMNS:
        raise UnreadableFile(f"has {len(names):,} columns; the limit is {limits.MAX_IMPORT_COLUMNS}")
    names = [name.strip() or f"column_{index}" for index, name in enumerate(names, start=1)]
    twins = sorted({name for name in names if names.count(name) > 1})
    if twins:
        raise UnreadableFile(f"has more than one column called {', '.join(twins)[:200]}")
    return names
