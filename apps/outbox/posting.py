"""Posts an event to an address, signed as Standard Webhooks say. Knows no rows but the ones it is handed."""

from __future__ import annotations

import re
import ssl
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache

import httpcore
import httpx
from standardwebhooks import Webhook

from apps.core.secrets import SecretMissing, secret
from apps.outbox.addresses import GuardedNetwork, Refused, check_address
from apps.outbox.events import TooLarge, body_of
from apps.outbox.models import Event, Subscription

SEND_S = 10.0
"""From the first look for the host to the end of the reply's headers."""
GONE = 410
LONGEST_WAIT_S = 86_400
LEAST_SECRET_BYTES = 16
_SECRET = re.compile(r"whsec_[A-Za-z0-9+/]{22,}={0,2}")
_SECONDS = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Outcome:
    """`error` is a sentence of ours, never of the receiver's. `is_final`: another try changes nothing."""

    is_sent: bool
    http_status: int | None = None
    error: str = ""
    retry_after_s: int = 0
    is_final: bool = False


@cache
def _trusted_certificates() -> ssl.SSLContext:
    """Loading them takes 40 ms, and once is enough for a process."""
    return httpx.create_ssl_context()


def signers(variable: str) -> list[Webhook]:
    """One for each secret of the variable: two, separated by a space, while one replaces the other.

    Raises SecretMissing, naming the variable.
    """
    secrets = secret(variable).split()
    # The library reads base64 loosely: of a password it would take some letters for a key.
    if not all(_SECRET.fullmatch(each) for each in secrets):
        raise SecretMissing(
            f"{variable} holds no secret of the form whsec_ and base64 of at least {LEAST_SECRET_BYTES} bytes"
        )
    return [Webhook(each) for each in secrets]


def post_event(event: Event, subscription: Subscription, *, allow_private: bool) -> Outcome:
    """One try, over within about SEND_S: beyond it may only go the system's own look for the host's name."""
    try:
        url = check_address(subscription.address, allow_private=allow_private)
        body = body_of(event)
        headers = signed_headers(body, str(event.public_id), signers(subscription.secret_variable))
        return _post(url, headers, body, allow_private)
    except TooLarge as error:
        return Outcome(False, error=str(error), is_final=True)
    except Refused as error:
        return Outcome(False, error=f"Not sent: the address {error}."[:300])
    except SecretMissing as error:
        return Outcome(False, error=f"Not sent: {error}."[:300])
    except httpcore.TimeoutException:
        return Outcome(False, error=f"No answer within {SEND_S:.0f} s.")
    except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.UnsupportedProtocol) as error:
        # A message may quote what a server sent.
        what = type(error.__context__ if isinstance(error.__context__, OSError) else error).__name__
        return Outcome(False, error=f"The connection failed ({what}).")


def signed_headers(body: bytes, event_id: str, by: Iterable[Webhook]) -> dict[bytes | str, bytes | str]:
    at = datetime.fromtimestamp(int(time.time()), UTC)
    return {
        "content-type": "application/json",
        "user-agent": "fermata",
        "webhook-id": event_id,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": " ".join(each.sign(event_id, at, body.decode()) for each in by),
    }


def _post(
    url: httpx.URL, headers: Mapping[bytes | str, bytes | str], body: bytes, allow_private: bool
) -> Outcome:
    target = httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
    network = GuardedNetwork(seconds=SEND_S, allow_private=allow_private)
    # Used directly: a client above it would follow proxies named in the environment, past the check of the address.
    with (
        httpcore.ConnectionPool(ssl_context=_trusted_certificates(), network_backend=network) as pool,
        pool.stream("POST", target, headers=headers, content=body) as response,
    ):
        # The status says it all: what a receiver writes on and on is not read.
        return _to_outcome(response.status, response.headers)


def _to_outcome(status: int, headers: list[tuple[bytes, bytes]]) -> Outcome:
    if 200 <= status < 300:
        return Outcome(True, http_status=status)
    what = f"Answered {status}."
    if 300 <= status < 400:
        what = f"Answered {status}: a redirect, which is not followed."
    asked = next((value.decode("latin-1") for name, value in headers if name.lower() == b"retry-after"), "")
    wait = int(asked) if _SECONDS.fullmatch(asked.strip()) else 0
    return Outcome(False, http_status=status, error=what, retry_after_s=min(wait, LONGEST_WAIT_S))
