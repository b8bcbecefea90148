"""Runs a command as a shell would, without the shell."""

from __future__ import annotations

from io import StringIO

from django.core.management import call_command


def run(*arguments: str) -> str:
    """What the command writes to standard output."""
    out = StringIO()
    call_command(*arguments, stdout=out, stderr=StringIO())
    return out.getvalue()
