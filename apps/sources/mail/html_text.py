"""Text from HTML mail, as a reader sees it; quoted history keeps its marks as lines beginning with ">"."""

from __future__ import annotations

import re
from html import unescape as html_unescape

from inscriptis.css_profiles import CSS_PROFILES  # type: ignore[import-untyped]  # no types are published
from inscriptis.html_engine import Inscriptis  # type: ignore[import-untyped]  # no types are published
from inscriptis.model.config import ParserConfig  # type: ignore[import-untyped]  # no types are published
from lxml import etree, html  # type: ignore[import-untyped]  # no types are published

MAX_HTML_CHARACTERS = 512 * 1024
_UNSEEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden|mso-hide\s*:\s*all", re.IGNORECASE)
_NEVER_SEEN = {
    "script",
    "style",
    "head",
    "title",
    "template",
    "noscript",
    "iframe",
    "object",
    "svg",
    "select",
    "math",
}
_KEPT_ATTRIBUTES = {"alt"}
# Private characters no mail holds: taken out of what comes, put around what is quoted.
_OPEN, _CLOSE = "\ue0f1", "\ue0f2"
_QUOTE_CLASSES = {
    "gmail_quote",
    "gmail_quote_container",
    "yahoo_quoted",
    "protonmail_quote",
    "zmail_extra",
    "tutanota_quote",
}
_MAX_NESTED = 200
_MAX_CELLS = 5_000
"""The layout of tables takes a while for each."""


def to_text(source: str) -> str:
    """Takes time linear in what is read of it: the first MAX_HTML_CHARACTERS. Never fails."""
    source = source[:MAX_HTML_CHARACTERS].replace(_OPEN, "").replace(_CLOSE, "").replace("\0", "")
    if not source.strip():
        return ""
    try:
        tree = html.document_fromstring(_without_declaration(source))
        depth, cells = _clean(tree)
        if depth > _MAX_NESTED or cells > _MAX_CELLS:
            return _tags_off(source)
        text = Inscriptis(tree, ParserConfig(css=CSS_PROFILES["strict"])).get_text()
    except (etree.LxmlError, ValueError, AssertionError, RecursionError, IndexError, AttributeError):
        return _tags_off(source)
    return _tidy(text)


def _without_declaration(source: str) -> str:
    # lxml refuses text that declares an encoding.
    return re.sub(r"^\s*<\?xml[^>]{0,200}>", "", source)


def _clean(tree: html.HtmlElement) -> tuple[int, int]:
    """Takes out what is not seen, marks what is quoted, drops attributes; the depth and table cells of what is left."""
    deepest, cells = 0, 0
    todo: list[tuple[html.HtmlElement, int, bool]] = [(tree, 1, False)]
    while todo:
        element, depth, quoted = todo.pop()
        deepest = max(deepest, depth)
        cells += element.tag in {"td", "th"}
        for child in list(element):
            if not isinstance(child.tag, str) or child.tag in _NEVER_SEEN or _is_unseen(child):
                _drop(child)
                continue
            begins = not quoted and _is_quote(child)
            if begins:
                child.text = f"{_OPEN}{child.text or ''}"
                child.tail = f"{_CLOSE}{child.tail or ''}"
            todo.append((child, depth + 1, quoted or begins))
            for name in set(child.attrib) - _KEPT_ATTRIBUTES:
                del child.attrib[name]
    return deepest, cells


def _is_unseen(element: html.HtmlElement) -> bool:
    return bool(_UNSEEN.search(element.get("style", "")[:2000])) or element.get("hidden") is not None


def _is_quote(element: html.HtmlElement) -> bool:
    if element.tag == "blockquote":
        return element.get("type", "").lower() == "cite" or "gmail_quote" in element.get("class", "")
    return bool(_QUOTE_CLASSES & set(element.get("class", "")[:500].split()))


def _drop(element: html.HtmlElement) -> None:
    parent, before = element.getparent(), element.getprevious()
    if parent is None:
        return
    tail = element.tail or ""
    if before is not None:
        before.tail = f"{before.tail or ''}{tail}"
    else:
        parent.text = f"{parent.text or ''}{tail}"
    parent.remove(element)


def _tags_off(source: str) -> str:
    """For HTML that no parser likes: rough, but words stay words."""
    source = re.sub(
        r"<(script|style)\b[^<>]*>.*?(?:</\1\s*>|\Z)", " ", source, flags=re.IGNORECASE | re.DOTALL
    )
    source = re.sub(r"<(?:br|/?p|/?div|/?tr|/?li|/?h[1-6])\b[^<>]*>", "\n", source, flags=re.IGNORECASE)
    text = html_unescape(re.sub(r"<[^<>]*>", " ", source))
    return _tidy(re.sub(r"[ \t]*\n[ \t\n]*", "\n", re.sub(r"[ \t\r]+", " ", text)))


def _tidy(text: str) -> str:
    lines: list[str] = []
    quoted = False
    for line in text.replace("\xa0", " ").split("\n"):
        for piece in re.split(f"([{_OPEN}{_CLOSE}])", line):
            if piece in {_OPEN, _CLOSE}:
                quoted = piece == _OPEN
            elif piece.strip() or piece == line:
                shown = piece.rstrip()
                lines.append(f"> {shown.lstrip()}".rstrip() if quoted else shown)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")
