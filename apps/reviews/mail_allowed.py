"""What of HTML mail is shown: tags, attributes, properties of style; and which open tag another one closes."""

from __future__ import annotations


def _set(names: str) -> set[str]:
    return set(names.split())


_WORDS = _set(
    "a abbr b bdi bdo big cite code del em font i ins kbd mark q rt ruby s samp small span strike strong sub sup tt u "
    "var"
)
_BLOCKS = _set(
    "address article aside blockquote center dd div dl dt figcaption figure footer h1 h2 h3 h4 h5 h6 header li main ol "
    "p pre section ul"
)
_TABLES = _set("caption col colgroup table tbody td tfoot th thead tr")
VOID = _set("br col hr img wbr")
TAGS = _WORDS | _BLOCKS | _TABLES | VOID
DROPPED = _set("iframe math noembed noframes script style svg template textarea title xmp")
"""Gone with all they hold; any other unknown tag goes and leaves its text."""

ATTRIBUTES = _set(
    "align bgcolor border cellpadding cellspacing color colspan dir face height lang nowrap rowspan size start style "
    "valign width"
)
_SIDES = ("top", "right", "bottom", "left")
STYLES = _set(
    "background background-color border border-collapse border-color border-radius border-spacing border-style "
    "border-width color direction display font font-family font-size font-style font-weight height letter-spacing "
    "line-height list-style-type margin max-width min-width padding text-align text-decoration text-indent "
    "text-transform unicode-bidi vertical-align white-space width word-break"
) | {f"{box}-{side}" for box in ("border", "margin", "padding") for side in _SIDES}
"""None that lays one thing over another (`position`, `float` with `z-index`, `transform`)."""

# Which open tags a start tag closes, and what keeps it from looking further out.
CLOSES: dict[str, tuple[set[str], set[str]]] = {
    "li": ({"li"}, {"ul", "ol", "table", "blockquote"}),
    "dt": ({"dt", "dd"}, {"dl", "table"}),
    "dd": ({"dt", "dd"}, {"dl", "table"}),
    "td": ({"td", "th"}, {"table", "tr"}),
    "th": ({"td", "th"}, {"table", "tr"}),
    "tr": ({"tr"}, {"table"}),
} | {
    block: ({"p"}, {"table", "td", "th", "div", "li", "blockquote", "dd"})
    for block in _BLOCKS - {"li", "dt", "dd"}
}
