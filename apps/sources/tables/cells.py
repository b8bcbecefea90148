"""What a cell of a table says: spreadsheets know numbers and yes/no, a CSV file knows only text."""

from __future__ import annotations

import re

MOST_DIGITS = 15
"""A longer number is an id, and as a float it would lose its end."""
LONGEST_YES_NO = 5
_PLAIN = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?")
_COMMA_THOUSANDS = re.compile(r"-?[1-9]\d{0,2}(,\d{3})+(\.\d+)?")
_COMMA_DECIMALS = re.compile(r"-?(0|[1-9]\d*|[1-9]\d{0,2}(\.\d{3})+),\d+")
_AMBIGUOUS = re.compile(r"-?[1-9]\d{0,2}\.\d{3}")
_YES_NO = {"true": True, "false": False}


def to_value(cell: str, delimiter: str) -> str | int | float | bool:
    """A number or yes/no where the cell can mean nothing else, so that rules on amounts work; else its text.

    Files cut by semicolons come from places that write 1.234,50. What keeps its text is no harm: a rule that
    needs a number sends the item to people. Codes with leading zeros and long ids keep theirs.
    """
    text = cell.strip()
    if not text[:1].isdigit() and text[:1] != "-":
        return _YES_NO.get(text.lower(), cell) if len(text) <= LONGEST_YES_NO else cell
    if not text.isascii() or (len(text) > MOST_DIGITS and sum(map(str.isdigit, text)) > MOST_DIGITS):
        return cell
    if delimiter == ";" and _COMMA_DECIMALS.fullmatch(text):
        return float(text.replace(".", "").replace(",", "."))
    if delimiter != ";" and "," in text and _COMMA_THOUSANDS.fullmatch(text):
        text = text.replace(",", "")
    if not _PLAIN.fullmatch(text) or (delimiter == ";" and _AMBIGUOUS.fullmatch(text)):
        return cell
    return float(text) if "." in text else int(text)
