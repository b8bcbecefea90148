"""HTML mail made harmless: what is shown is written anew from a list of what is allowed, then checked by nh3.

Written anew first, because parsers of HTML take quadratic time and space on hostile nesting (100,000 nested lists:
minutes): what nh3 reads is balanced, at most `MAX_DEPTH` deep and `MAX_TAGS` long, whatever came in. Links lead
nowhere: their targets become titles and a list, because a reviewer reads a mail and has no business in its links.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape, unescape
from urllib.parse import unquote, urlsplit

import nh3

from apps.reviews.mail_allowed import ATTRIBUTES, CLOSES, DROPPED, STYLES, TAGS, VOID

MAX_CHARACTERS = 1_000_000
MAX_TAGS = 50_000
MAX_DEPTH = 200
MAX_LINKS = 100
LONGEST_VALUE = 2_000
"""Characters of an attribute; only a picture within the mail itself may be longer."""
INVISIBLE_PIXELS = 3
"""A remote picture smaller than this shows nothing: it only tells the sender who read the mail. Never loaded."""

_NAME = re.compile(r"<(/?)([a-zA-Z][^\s/>]*)")
_ATTRIBUTE = re.compile(r"""[\s/]*+([^\s/>=][^\s/>=]*+)(?:\s*+=\s*+("[^"]*+"|'[^']*+'|[^\s>]*+))?""")
_FUNCTION = re.compile(r"(?:rgba?|hsla?)\([\d\s.,%/deg-]*\)", re.IGNORECASE)
_DATA_PICTURE = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]*", re.IGNORECASE)
_ADDRESS_IN_TEXT = re.compile(r"(?:https?://|www\.)([\w.-]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Link:
    """`is_disguised`: its text is the address of another place than where it leads."""

    text: str
    target: str
    is_disguised: bool


@dataclass(frozen=True, slots=True)
class CleanMail:
    """`remote` counts pictures that only a load from elsewhere would show, `trackers` the invisible ones of them.

    `is_cut`: longer, or of more tags, than is shown.
    """

    html: str
    links: tuple[Link, ...]
    remote: int
    trackers: int
    is_cut: bool

    @property
    def loadable(self) -> int:
        return self.remote - self.trackers

    @property
    def has_disguised(self) -> bool:
        return any(link.is_disguised for link in self.links)


PictureOf = Callable[[str], str | None]


def clean_mail(html: str, *, picture_of: PictureOf, with_remote: bool) -> CleanMail:
    """`picture_of` gives the data URL for a content id, or None; remote pictures stay only `with_remote`."""
    writer = _Writer(picture_of, with_remote)
    writer.read(html[:MAX_CHARACTERS])
    return CleanMail(
        html=_checked("".join(writer.out)),
        links=tuple(dict.fromkeys(writer.links))[:MAX_LINKS],
        remote=len(writer.remote),
        trackers=len(writer.trackers),
        is_cut=writer.is_cut or len(html) > MAX_CHARACTERS,
    )


# A million "&amp;" keep nh3 busy for a minute, so "&", "<" and ">" of the text go round it as characters that no
# text may hold (Unicode's noncharacters); those that came in become U+FFFD.
_STANDINS = {"&": "\ufdd0", "<": "\ufdd1", ">": "\ufdd2"}
_AS_UNKNOWN = dict.fromkeys(_STANDINS.values(), "\ufffd")
_TO_STANDINS = str.maketrans(_STANDINS | _AS_UNKNOWN)
_NO_STANDINS = str.maketrans(_AS_UNKNOWN)
_FROM_STANDINS = str.maketrans({standin: escape(plain) for plain, standin in _STANDINS.items()})


def _checked(html: str) -> str:
    """Only text holds stand-ins, so what they turn back into stays text."""
    return nh3.clean(
        html,
        tags=TAGS,
        clean_content_tags=DROPPED,
        attributes={"*": ATTRIBUTES, "a": {"title"}, "img": {"src", "alt"}},
        filter_style_properties=STYLES,
        url_schemes={"data", "http", "https"},
        url_relative="deny",
        link_rel=None,
    ).translate(_FROM_STANDINS)


class _Writer:
    """Reads tags as they come and writes balanced ones."""

    def __init__(self, picture_of: PictureOf, with_remote: bool) -> None:
        self.picture_of, self.with_remote = picture_of, with_remote
        self.out: list[str] = []
        self.open: list[str] = []
        self.count = Counter[str]()
        self.links: list[Link] = []
        self.remote: set[str] = set()
        self.trackers: set[str] = set()
        self.is_cut = False
        self._target = ""
        self._words: list[str] = []

    def read(self, html: str) -> None:
        at, tags = 0, 0
        while (start := html.find("<", at)) >= 0:
            self._text(html[at:start])
            named = _NAME.match(html, start)
            if named is None:
                at = self._no_tag(html, start)
                continue
            tags += 1
            if tags > MAX_TAGS:
                self.is_cut = True
                break
            at = self._tag(html, named)
        else:
            self._text(html[at:])
        self._close_to(0)

    def _text(self, text: str) -> None:
        words = unescape(text)
        self.out.append(words.translate(_TO_STANDINS))
        if self._target:
            self._words.append(words[:200])

    def _no_tag(self, html: str, start: int) -> int:
        """A comment or a declaration is passed over; a "<" by itself is text."""
        if html.startswith("<!--", start):
            return _after(html, "-->", start + 4)
        if html.startswith(("<!", "<?", "</"), start):
            return _after(html, ">", start)
        self._text("<")
        return start + 1

    def _tag(self, html: str, named: re.Match[str]) -> int:
        is_end, name = bool(named[1]), named[2].lower()
        attributes, end = _attributes(html, named.end())
        if is_end:
            self._end(name)
        elif name in DROPPED:
            closing = re.compile(f"</{name}", re.IGNORECASE).search(html, end)
            return _after(html, ">", closing.end()) if closing else len(html)
        elif name in TAGS:
            self._start(name, attributes)
        return end

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        closes, stops = CLOSES.get(name, (set(), set()))
        for place in range(len(self.open) - 1, -1, -1):
            if self.open[place] in closes:
                self._close_to(place)
                break
            if not closes or self.open[place] in stops:
                break
        if name == "a":
            self._end("a")
            self._target = _shown_target(attributes.get("href", ""))
        if name not in VOID:
            if len(self.open) >= MAX_DEPTH:
                return
            self.open.append(name)
            self.count[name] += 1
        kept = self._kept(name, attributes)
        written = "".join(f' {key}="{escape(value).translate(_NO_STANDINS)}"' for key, value in kept)
        self.out.append(f"<{name}{written}>")

    def _end(self, name: str) -> None:
        if self.count[name]:
            place = len(self.open) - 1 - self.open[::-1].index(name)
            self._close_to(place)

    def _close_to(self, place: int) -> None:
        while len(self.open) > place:
            name = self.open.pop()
            self.count[name] -= 1
            self.out.append(f"</{name}>")
            if name == "a" and self._target:
                text = " ".join("".join(self._words).split())[:200]
                self.links.append(Link(text, self._target, _is_disguised(text, self._target)))
                self._target, self._words = "", []

    def _kept(self, name: str, attributes: dict[str, str]) -> Iterator[tuple[str, str]]:
        for key, value in attributes.items():
            if key in ATTRIBUTES and len(value) <= LONGEST_VALUE:
                yield key, _safe_style(value) if key == "style" else value
        if name == "a" and self._target:
            yield "title", self._target
        if name == "img":
            yield "alt", attributes.get("alt", "")[:200]
            source = self._source(attributes)
            if source:
                yield "src", source

    def _source(self, attributes: dict[str, str]) -> str | None:
        source = attributes.get("src", "").strip()
        scheme = source[:8].lower()
        if scheme.startswith("cid:"):
            return self.picture_of(unquote(source[4:]))
        if scheme.startswith("data:"):
            return source if _DATA_PICTURE.fullmatch(source) else None
        if not scheme.startswith(("http:", "https:", "//")) or len(source) > LONGEST_VALUE:
            return None
        self.remote.add(source)
        if any(attributes.get(side, "").strip().rstrip("px") in _INVISIBLE for side in ("width", "height")):
            self.trackers.add(source)
            return None
        full = f"https:{source}" if source.startswith("//") else source
        return full if self.with_remote else None


_INVISIBLE = {str(pixels) for pixels in range(INVISIBLE_PIXELS)}


def _after(html: str, mark: str, start: int) -> int:
    found = html.find(mark, start)
    return len(html) if found < 0 else found + len(mark)


def _attributes(html: str, at: int) -> tuple[dict[str, str], int]:
    """The attributes of a tag, the first of equal names, and the position after its end."""
    found: dict[str, str] = {}
    while (each := _ATTRIBUTE.match(html, at)) is not None:
        at = each.end()
        value = each[2] or ""
        if value[:1] in ('"', "'") and value[-1:] == value[:1] and len(value) > 1:
            value = value[1:-1]
        found.setdefault(each[1].lower(), unescape(value))
    return found, _after(html, ">", at)


def _safe_style(style: str) -> str:
    """The declarations that fetch nothing and cover nothing; nh3 then reads them as CSS does."""
    kept = []
    for declaration in style.split(";"):
        name, _, value = declaration.partition(":")
        is_plain = not set("\\(<@").intersection(_FUNCTION.sub("", value))
        if name.strip().lower() in STYLES and is_plain:
            kept.append(f"{name.strip()}:{value.strip()}")
    return ";".join(kept)


def _shown_target(href: str) -> str:
    """Where a link would lead, whatever its scheme, for reading."""
    return " ".join(href[: LONGEST_VALUE * 2].split())[:LONGEST_VALUE]


def _is_disguised(text: str, target: str) -> bool:
    named = _ADDRESS_IN_TEXT.search(text)
    if named is None:
        return False
    try:
        host = urlsplit(target).hostname or ""
    except ValueError:
        return True
    return _site(named[1].lower()) != _site(host)


def _site(host: str) -> str:
    """The last two names of a host: enough to tell a shop's own subdomain from somebody else's address."""
    return ".".join(host.strip(".").split(".")[-2:])
