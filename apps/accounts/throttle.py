"""Guessing passwords is slowed down: attempts are counted by name and address, in the cache, for five minutes."""

from __future__ import annotations

import hashlib
import ipaddress

import structlog
from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest
from redis.exceptions import RedisError

MOST_FAILURES = 10
WINDOW_S = 300

log = structlog.get_logger(__name__)


class Attempts:
    """The attempts of one name from one address. Counted before the password is looked at, so that a
    hundred at the same moment are a hundred, and forgotten when one succeeds."""

    def __init__(self, request: HttpRequest, username: str) -> None:
        # As the database compares names, or "olıvia" would be ten more guesses at Olivia.
        who = f"{username.upper()}\n{_network(client_address(request))}"
        self._key = "sign-in:" + hashlib.sha256(who.encode()).hexdigest()

    def may_try(self) -> bool:
        """Counts one more attempt; False when there were `MOST_FAILURES` within the window.

        Without a cache nobody could sign in to see that it is away: then attempts are let through, and logged.
        """
        try:
            cache.add(self._key, 0, WINDOW_S)
            return cache.incr(self._key) <= MOST_FAILURES
        except ValueError:
            # The window ended between the two calls.
            cache.set(self._key, 1, WINDOW_S)
            return True
        except RedisError as error:
            log.warning("sign_in_not_throttled", reason=str(error))
            return True

    def forget(self) -> None:
        try:
            cache.delete(self._key)
        except RedisError as error:
            log.warning("sign_in_not_throttled", reason=str(error))


def _network(address: str) -> str:
    """An IPv6 host has a /64 of addresses to come from; anything else is itself."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if found.version == 6 and found.ipv4_mapped is None:
        return str(ipaddress.ip_network((int(found), 64), strict=False))
    return address


def client_address(request: HttpRequest) -> str:
    """Who connected: the last entry of X-Forwarded-For where the proxy's headers are believed, else the socket's."""
    forwarded = str(request.META.get("HTTP_X_FORWARDED_FOR", ""))
    if settings.SECURE_PROXY_SSL_HEADER and forwarded:
        return forwarded.rsplit(",", 1)[-1].strip()
    return str(request.META.get("REMOTE_ADDR", ""))
