"""
core.Conflict
├── LeaseLost       the task is no longer on this person's desk; the message says who or what
└── NothingToUndo   there is no answer to take back, or its effect has begun
"""

from __future__ import annotations

from apps.core.errors import Conflict


class LeaseLost(Conflict):
    pass


class NothingToUndo(Conflict):
    pass
