"""Language tags (BCP 47), as far as this product needs them: written one way, compared, and named."""

from __future__ import annotations

import re
from collections.abc import Iterable

from django.conf.locale import LANG_INFO

LONGEST_TAG = 35
_TAG = re.compile(
    r"(?P<language>[a-z]{2,3})(?:-(?P<script>[a-z]{4}))?(?:-(?P<region>[a-z]{2}|[0-9]{3}))?"
    r"(?P<rest>(?:-[a-z0-9]{1,8})*)",
    re.IGNORECASE,
)
_NO_LANGUAGE = frozenset({"und", "mul", "zxx", "mis"})

NAMES = {tag: str(about["name"]) for tag, about in LANG_INFO.items() if "name" in about}
"""In English, by tag in lower case."""
_NAMED = {name.casefold(): tag for tag, name in NAMES.items()} | {
    str(about["name_local"]).casefold(): tag for tag, about in LANG_INFO.items() if "name_local" in about
}


def to_tag(text: object) -> str | None:
    """The tag in its usual case ("pt-BR", "zh-Hant"), an underscore read as a hyphen; None when it is no tag.

    "" for a tag that names no one language, such as `und` or `mul`.
    """
    if not isinstance(text, str) or len(text) > LONGEST_TAG:
        return None
    found = _TAG.fullmatch(text.strip().replace("_", "-"))
    if found is None:
        return None
    language = found["language"].lower()
    if language in _NO_LANGUAGE:
        return ""
    parts = [language, (found["script"] or "").title(), (found["region"] or "").upper()]
    return "-".join(part for part in parts if part) + found["rest"].lower()


def tag_typed(text: str) -> str | None:
    """“German”, “Deutsch”, “DE” and “pt-br” as tags; None for what names no one language."""
    return to_tag(_NAMED.get(text.strip().casefold(), text)) or None


def language_name(tag: str) -> str:
    """“German” of de, “Arabic (ar-EG)” of ar-EG; the tag itself where no name is known."""
    if tag.lower() in NAMES:
        return NAMES[tag.lower()]
    plain = NAMES.get(tag.split("-")[0].lower())
    return f"{plain} ({tag})" if plain else tag


def reads(languages: Iterable[str], tag: str) -> bool:
    """Whether who reads these languages reads the tag's: equal, or one of both says more ("pt" and "pt-BR").

    Nobody's languages are everybody's, and a tag that is not known is for everybody.
    """
    own = list(languages)
    asked = f"{tag.lower()}-"
    return not own or not tag or any(_agree(f"{each.lower()}-", asked) for each in own)


def _agree(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)
