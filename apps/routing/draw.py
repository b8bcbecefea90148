"""Chance that can be repeated: every draw is a keyed hash of the item, so nobody can roll again.

Purposes are kept apart by a tag, so that being audited says nothing about being blind or being kept
when audits are thinned (recalibration.md sections 0 and 2.2).
"""

from __future__ import annotations

import hashlib
import hmac

from apps.routing.types import Draw


def draws_for(key: bytes, workflow: str, external_id: str) -> Draw:
    """The item's draws. `key` is secret: whoever knows it can pick ids that are never audited."""
    return Draw(
        audit=_uniform(key, "audit", workflow, external_id),
        blind=_uniform(key, "blind", workflow, external_id),
    )


def thin_draw(key: bytes, workflow: str, external_id: str) -> float:
    """In [0, 1): an audit drawn with probability pi is kept when this is under a/pi, a the smallest pi."""
    return _uniform(key, "thin", workflow, external_id)


def _uniform(key: bytes, purpose: str, workflow: str, external_id: str) -> float:
    if not key:
        raise ValueError("key: must not be empty")
    # Each part goes in with its length, so that ("a", "bc") and ("ab", "c") are two messages.
    parts = [part.encode() for part in ("fermata/1", purpose, workflow, external_id)]
    message = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    digest = hmac.digest(key, message, hashlib.sha256)
    return (int.from_bytes(digest[:8], "big") >> 11) / (1 << 53)  # 53 bits: all a float in [0, 1) can hold
