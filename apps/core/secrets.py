"""Secrets: a row holds the name of an environment variable, and the value is read where it is needed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from apps.core.errors import NotNow


class SecretMissing(NotNow):
    """Names the variable, never a value."""


def is_set(name: str, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether the variable has a value, plainly or as a file."""
    return bool(environment.get(name, "").strip() or environment.get(f"{name}_FILE", "").strip())


def secret(name: str, environment: Mapping[str, str] = os.environ) -> str:
    """The value of `NAME`, or what the file named by `NAME_FILE` holds. Raises SecretMissing."""
    if not is_set(name, environment):
        raise SecretMissing(f"the environment variable {name} is not set")
    path = environment.get(f"{name}_FILE", "").strip()
    if not path:
        return environment[name].strip()
    try:
        value = Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise SecretMissing(f"the file named by {name}_FILE cannot be read") from None
    if not value:
        raise SecretMissing(f"the file named by {name}_FILE is empty")
    return value
