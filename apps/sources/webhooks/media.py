"""Fetches what somebody sent over WhatsApp. Meta hands out an id; where the bytes are is asked first."""

from __future__ import annotations

import re
import time

import httpx

from apps.core.bodies import NotJson, parse_json
from apps.pipeline.limits import MAX_MEDIA_BYTES
from apps.sources.webhooks.loose import object_of, text_of
from apps.sources.webhooks.settings import LOOPBACK

METAS = ("facebook.com", "fbsbx.com", "fbcdn.net", "whatsapp.net")
CONNECT_S, READ_S, LONGEST_S = 5.0, 20.0, 60.0
LONGEST_REPLY = 64 * 1024
_MEDIA_ID = re.compile(r"[0-9A-Za-z_-]{1,100}")
_GONE = (404, 410)


class NotFetched(Exception):
    """`is_final`: trying again will not help. The sentence holds no address and no token."""

    def __init__(self, why: str, *, is_final: bool = False) -> None:
        super().__init__(why)
        self.is_final = is_final


class MediaClient:
    """`graph_base` is Meta's Graph API with its version, or what stands in for it. Closed by whoever made it."""

    def __init__(self, graph_base: str, token: str, *, transport: httpx.BaseTransport | None = None) -> None:
        self._base = httpx.URL(graph_base)
        self._http = httpx.Client(
            headers={
                "authorization": f"Bearer {token}",
                "user-agent": "fermata",
                "accept-encoding": "identity",
            },
            timeout=httpx.Timeout(READ_S, connect=CONNECT_S),
            transport=transport,
            # The token goes where the address was checked, and nowhere that a redirect names.
            follow_redirects=False,
            # A proxy named in the environment is for the outside; a server on this machine is asked directly.
            trust_env=self._base.host not in LOOPBACK,
        )

    def close(self) -> None:
        self._http.close()

    def fetch(self, media_id: str) -> bytes:
        """At most MAX_MEDIA_BYTES. Raises NotFetched."""
        if not _MEDIA_ID.fullmatch(media_id):
            raise NotFetched("WhatsApp's id of it is none", is_final=True)
        try:
            reply = self._get(httpx.URL(f"{self._base}/{media_id}"), most=LONGEST_REPLY)
            return self._get(self._checked(reply), most=MAX_MEDIA_BYTES)
        except httpx.HTTPError as error:
            raise NotFetched(f"the connection failed ({type(error).__name__})") from None

    def _checked(self, reply: bytes) -> httpx.URL:
        """The address Meta named, if it is one of theirs: what names it could otherwise make us ask anybody."""
        try:
            url = httpx.URL(text_of(object_of(parse_json(reply)).get("url")))
        except (NotJson, httpx.InvalidURL):
            raise NotFetched("WhatsApp named no address that can be read") from None
        is_metas = url.scheme == "https" and any(
            url.host == each or url.host.endswith(f".{each}") for each in METAS
        )
        is_base = (url.scheme, url.host, url.port) == (self._base.scheme, self._base.host, self._base.port)
        if not (is_metas or is_base):
            raise NotFetched("WhatsApp named an address that is not Meta's", is_final=True)
        return url

    def _get(self, url: httpx.URL, *, most: int) -> bytes:
        pieces, size, until = [], 0, time.monotonic() + LONGEST_S
        with self._http.stream("GET", url) as response:
            if response.status_code != 200:
                is_final = response.status_code in _GONE
                raise NotFetched(f"WhatsApp answered {response.status_code}", is_final=is_final)
            # As sent: what a server compresses unasked must not grow beyond the limit here.
            for piece in response.iter_raw(64 * 1024):
                size += len(piece)
                if time.monotonic() > until:
                    raise NotFetched(f"it took more than {LONGEST_S:.0f} s")
                if size > most:
                    raise NotFetched(f"it has more than {most:,} bytes, which is the limit", is_final=True)
                pieces.append(piece)
        return b"".join(pieces)
