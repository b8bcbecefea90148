"""Anybody's check of the formulas: worked examples recomputed, those that differ printed."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.stats.worked import Difference, check

DIFFERS, UNREADABLE = 1, 2


class Command(BaseCommand):
    help = (
        "Recomputes worked examples from a JSON file, a list of objects with id, inputs, expected and "
        "perhaps tol. The number in the id says which computation. Ends with 1 when one differs, with 2 "
        "when one cannot be read."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE.json")

    def handle(self, *args: Any, **options: Any) -> None:
        examples = _read(options["file"])
        different = unreadable = 0
        for index, example in enumerate(examples):
            name = _name(example, index)
            try:
                difference = _compare(example)
            except ValueError as problem:
                unreadable += 1
                self.stdout.write(f"{name}: {str(problem).removeprefix(f'{name}: ')}")
                continue
            if difference:
                different += 1
                place = f" at {difference.path}" if difference.path else ""
                self.stdout.write(
                    f"{name}: expected{place} {_shown(difference.expected)}, computed {_shown(difference.computed)}"
                )
        summary = f"{len(examples)} examples: {different} differ, {unreadable} cannot be read."
        if different or unreadable:
            raise CommandError(summary, returncode=UNREADABLE if unreadable else DIFFERS)
        self.stdout.write(summary)


def _read(file: Path) -> list[Any]:
    try:
        examples = json.loads(file.read_text(encoding="utf-8"), parse_constant=_refuse_constant)
    except OSError as problem:
        raise CommandError(f"{file}: {problem.strerror}.", returncode=UNREADABLE) from problem
    except (ValueError, RecursionError) as problem:
        raise CommandError(
            f"{file} is no JSON that can be read: {problem}", returncode=UNREADABLE
        ) from problem
    if not isinstance(examples, list):
        raise CommandError(f"{file} must hold a list of examples.", returncode=UNREADABLE)
    if not examples:
        raise CommandError(f"{file} holds no example.", returncode=UNREADABLE)
    return examples


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON; write null for what is undefined")


def _name(example: object, index: int) -> str:
    name = example.get("id") if isinstance(example, Mapping) else None
    return name if isinstance(name, str) and name else f"[{index}]"


def _compare(example: Any) -> Difference | None:
    """Raises ValueError with the field that is wrong, whatever the file holds."""
    _check_form(example)
    try:
        return check(example)
    except (TypeError, LookupError, ArithmeticError, AttributeError) as problem:
        raise ValueError(f"inputs: do not fit this computation ({problem})") from problem


def _check_form(example: object) -> None:
    if not isinstance(example, Mapping):
        raise ValueError("must be an object with id, inputs and expected")
    if not isinstance(example.get("id"), str):
        raise ValueError("id: must be a text such as S17")
    if not isinstance(example.get("inputs"), Mapping):
        raise ValueError("inputs: must be an object")
    if "expected" not in example:
        raise ValueError("expected: must be given, null for what is undefined")
    tolerance = example.get("tol", 0)
    is_number = isinstance(tolerance, int | float) and not isinstance(tolerance, bool)
    if not (is_number and math.isfinite(tolerance) and tolerance >= 0):
        raise ValueError("tol: must be a number, 0 or more")


def _shown(value: object) -> str:
    return json.dumps(value, default=str)
