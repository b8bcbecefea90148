"""Where posts may go: nowhere inside. What a name stands for is checked as the connection is made, not before."""

from __future__ import annotations

import ipaddress
import socket
import time
from collections.abc import Iterable
from ssl import SSLContext
from typing import Any

import httpcore
import httpx
from httpcore import NetworkBackend, NetworkStream, SyncBackend

LONGEST_ADDRESS = 500
PIECE_BYTES = 4096
CONNECT_S = 5.0
"""To one address; a host may have several."""
_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")
_NOT_PUBLIC = tuple(
    ipaddress.ip_network(each) for each in ("64:ff9b:1::/48", "fec0::/10", "192.0.0.0/24", "192.88.99.0/24")
)
"""Local or retired, though the standard library calls them global."""


class Refused(Exception):
    """The address is none that is posted to; the sentence says why."""


def check_address(address: str, *, allow_private: bool) -> httpx.URL:
    """The address, parsed. Raises Refused. A name is looked up only when a connection is made."""
    if len(address) > LONGEST_ADDRESS or not address.isprintable() or " " in address:
        raise Refused(f"must be at most {LONGEST_ADDRESS} visible characters, without spaces")
    try:
        url = httpx.URL(address)
    except httpx.InvalidURL:
        raise Refused("is not an address") from None
    if url.scheme != "https" and not (url.scheme == "http" and allow_private):
        raise Refused("must begin with https://")
    if not url.host or url.userinfo or url.fragment:
        raise Refused("must name a host, and neither a user nor a #fragment")
    if not allow_private and is_literal(url.host) and not is_public(url.host):
        raise Refused("is on a private network; ALLOW_PRIVATE_WEBHOOKS would allow it")
    return url


def is_literal(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def is_public(address: str) -> bool:
    """Whether the IP address is one of the open internet; addresses inside others are looked at, too."""
    ip = ipaddress.ip_address(address)
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour
        if ip in _TRANSLATED:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
        # Only 2000::/3 is given out on the open internet.
        if int(ip) >> 125 != 1:
            return False
    return ip.is_global and not ip.is_multicast and not any(ip in network for network in _NOT_PUBLIC)


class GuardedNetwork(NetworkBackend):
    """Connections that end in `seconds` altogether, and that lead to no private address unless allowed."""

    def __init__(self, *, seconds: float, allow_private: bool) -> None:
        self._until = time.monotonic() + seconds
        self._allow_private = allow_private

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> NetworkStream:
        *others, last = self._addresses(host, port)
        for address in others:
            try:
                return self._connect(address, port)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return self._connect(last, port)

    def _connect(self, address: str, port: int) -> NetworkStream:
        stream = SyncBackend().connect_tcp(address, port, timeout=min(CONNECT_S, _left(self._until)))
        return _TimedStream(stream, self._until)

    def _addresses(self, host: str, port: int) -> list[str]:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            raise httpcore.ConnectError("the name of the host is not known") from None
        addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
        if not self._allow_private and not all(is_public(each) for each in addresses):
            raise Refused("the host is on a private network; ALLOW_PRIVATE_WEBHOOKS would allow it")
        return addresses


class _TimedStream(NetworkStream):
    """A server that sends a byte now and then stays within any limit for one read; this one ends all of them."""

    def __init__(self, stream: NetworkStream, until: float) -> None:
        self._stream, self._until = stream, until

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _left(self._until))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), PIECE_BYTES):
            self._stream.write(buffer[start : start + PIECE_BYTES], _left(self._until))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> NetworkStream:
        return _TimedStream(
            self._stream.start_tls(ssl_context, server_hostname, _left(self._until)), self._until
        )

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise httpcore.ReadTimeout("the time is over")
    return left
