"""Chance that can be repeated: every draw is a keyed hash of the item, so nobody can roll again.

Purposes are kept apart by a tag, so that being audited says nothing about being blind or being kept
when audits are thinned (recalibration.md sections 0 and 2.2).
"""

from __future__ import annotations

import hashlib
import hmac

from apps.routing.types import Draw

_BLOCK_BYTES = 64  # of SHA-256


def draws_for(key: bytes, workflow: str, external_id: str) -> Draw:
    """The item's draws. `key` is secret: whoever knows it can pick ids that are never audited."""
    return Draw(
        audit=_uniform(key, "audit", workflow, external_id),
        blind=_uniform(key, "blind", workflow, external_id),
    )


def thin_draw(key: bytes, workflow: str, external_id: str) -> float:
    """In [0, 1): an audit drawn with probability pi is kept when this is under a/pi, a the smallest pi."""
    return _uniform(key, "thin", workflow, external_id)


def second_draw(key: bytes, workflow: str, external_id: str) -> float:
    """In [0, 1): two people are asked when this is under the share that is drawn for it."""
    return _uniform(key, "second", workflow, external_id)


def group_hash(key: bytes, workflow: str, external_id: str) -> bytes:
    """Of the items of a group that one enters the counts whose hash is lowest. A purpose of its own: by the hash
    that thins, the one picked would nearly always be one that is kept."""
    return hmac.digest(_checked(key), _message("group", workflow, external_id), hashlib.sha256)


def group_hash_pads(key: bytes, workflow: str) -> tuple[bytes, bytes]:
    """`group_hash` for a database that knows SHA-256 but no HMAC (RFC 2104, section 2): with the inner and the outer
    pad it is sha256(outer + sha256(inner + length of the external id in 4 bytes + external id))."""
    return _pads(key, "group", workflow)


def thin_draw_pads(key: bytes, workflow: str) -> tuple[bytes, bytes]:
    """As `group_hash_pads`; of that hash the first 53 bits, as a share of 2^53, are `thin_draw`."""
    return _pads(key, "thin", workflow)


def _pads(key: bytes, purpose: str, workflow: str) -> tuple[bytes, bytes]:
    block = _checked(key) if len(key) <= _BLOCK_BYTES else hashlib.sha256(key).digest()
    block = block.ljust(_BLOCK_BYTES, b"\0")
    inner, outer = (bytes(byte ^ pad for byte in block) for pad in (0x36, 0x5C))
    return inner + _message(purpose, workflow), outer


def _uniform(key: bytes, purpose: str, workflow: str, external_id: str) -> float:
    digest = hmac.digest(_checked(key), _message(purpose, workflow, external_id), hashlib.sha256)
    return (int.from_bytes(digest[:8], "big") >> 11) / (1 << 53)  # 53 bits: all a float in [0, 1) can hold


def _message(purpose: str, *parts: str) -> bytes:
    # Each part goes in with its length, so that ("a", "bc") and ("ab", "c") are two messages.
    written = [part.encode() for part in ("fermata/1", purpose, *parts)]
    return b"".join(len(part).to_bytes(4, "big") + part for part in written)


def _checked(key: bytes) -> bytes:
    if not key:
        raise ValueError("key: must not be empty")
    return key
