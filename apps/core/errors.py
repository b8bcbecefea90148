"""The errors a page or an API call may answer with.

FermataError
├── InvalidInput      422, names each field and why
├── Conflict          409, somebody or something was faster; `.detail` says who or what
└── NotNow            503, a part of the machine is away; trying again is sensible
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """`path` as the sender wrote it ("items[3].state", "labels.spam.threshold"); `message` is a sentence."""

    path: str
    message: str


class FermataError(Exception):
    """A refusal with a sentence for the person who asked."""


class InvalidInput(FermataError):
    def __init__(self, *problems: FieldProblem) -> None:
        super().__init__("; ".join(f"{problem.path}: {problem.message}" for problem in problems))
        self.problems = problems


class Conflict(FermataError):
    pass


class NotNow(FermataError):
    pass
