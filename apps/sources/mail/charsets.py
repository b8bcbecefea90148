"""Bytes of mail to text: by the declared charset where it can be true, else by what the bytes most probably are."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from charset_normalizer import from_bytes

from apps.core.text import repaired

_SAMPLE_BYTES = 16 * 1024
_TOO_FEW_LETTERS, _FEW_LETTERS = 12, 60
"""Of those that are not ASCII: too few say nothing, few only something when most letters are such."""
_COMMONEST = "cp1252"
_GUESSES = [
    *("cp1252", "cp1250", "cp1251", "koi8_r", "cp1253", "cp1254", "cp1255", "cp1256"),
    *("big5", "gb18030", "shift_jis", "euc_jp", "euc_kr", "cp874"),
]
_WIDER = {
    # What browsers and mail programs do: the superset that senders really use under the narrower name.
    "iso8859-1": "cp1252",
    "latin_1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
    "shift_jis": "cp932",
    "iso8859-9": "cp1254",
    "tis_620": "cp874",
}
_OTHER_NAMES = {
    "iso-8859-8-i": "iso8859-8",
    "iso-8859-8-e": "iso8859-8",
    "iso-8859-6-i": "iso8859-6",
    "windows-874": "cp874",
    "windows-31j": "cp932",
    "ks_c_5601-1987": "cp949",
    "x-gbk": "gb18030",
    "x-sjis": "cp932",
    "x-mac-roman": "mac_roman",
    "utf8mb4": "utf-8",
}
_NO_CHARSETS = {"idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "utf-7-imap"}
"""Codecs of Python's that are no charset of mail, or take quadratic time."""
_PAIRED = {"gb18030", "cp949"}
"""In texts of these charsets a byte that is no ASCII all but never stands alone; in Latin text it mostly does."""
_ALONE = re.compile(rb"(?<![\x80-\xff])[\x80-\xff](?![\x80-\xff])")
_TOGETHER = re.compile(rb"[\x80-\xff]{2}")
_SAYS_NOTHING = {"ascii", "utf-8"}


@dataclass(frozen=True, slots=True)
class Decoded:
    """`repair` is a sentence when the text is not simply what was declared; "" otherwise."""

    text: str
    charset: str
    repair: str = ""


def decode(data: bytes, declared: str = "", *, otherwise: str = "") -> Decoded:
    """Never fails. `otherwise` is the charset of the rest of the mail, for texts too short to guess by."""
    found = _decode(data, declared.strip().strip("\"'"), otherwise)
    text, unstorable = repaired(found.text.removeprefix("\ufeff"))
    if not unstorable:
        return Decoded(text, found.charset, found.repair)
    more = f"{unstorable:,} NUL or broken characters were replaced"
    return Decoded(text, found.charset, f"{found.repair}; {more}" if found.repair else more)


def codec_of(declared: str) -> str | None:
    """Python's name of the codec a mail means; None when there is none."""
    name = declared.lower()
    try:
        found = codecs.lookup(_OTHER_NAMES.get(name, name)).name
        " ".encode(found)  # refuses codecs that are no charset, such as rot13
    except (LookupError, ValueError):  # ValueError: a name with NUL
        return None
    return None if found in _NO_CHARSETS else _WIDER.get(found, found)


def _decode(data: bytes, declared: str, otherwise: str) -> Decoded:
    codec = codec_of(declared) if declared else None
    if data.isascii() and codec in {None, "ascii", "utf-8", "cp1252"} and b"\x1b$" not in data:
        return Decoded(data.decode("ascii"), "ascii")
    if codec is not None and codec not in _SAYS_NOTHING:
        text = _strictly(data, codec)
        is_other = (_is_one_byte(codec) and _is_utf8(data)) or (codec in _PAIRED and _is_unpaired(data))
        if text is not None and not is_other:
            return Decoded(text, codec)
    if codec == "utf-8" or _is_utf8(data):
        text = data.decode("utf-8", "replace")
        lost = text.count("\ufffd") - data.count(b"\xef\xbf\xbd")
        if not lost:
            return Decoded(text, "utf-8", "" if codec == "utf-8" else _changed(declared, "utf-8", "used"))
        letters = sum(character > "\x7f" for character in text)
        if lost * 10 <= letters or (lost == 1 and data[-4:].isascii() is False):
            return Decoded(text, "utf-8", f"{lost:,} bytes that are no utf-8 were replaced")
    guess = _guess(data, otherwise)
    text = data.decode(guess, "replace")
    return Decoded(text, guess, _changed(declared, guess, "guessed"))


def name_of(codec: str) -> str:
    """As people know it: Python's cp1252 is windows-1252."""
    return f"windows-{codec[2:]}" if codec.startswith("cp125") else codec.replace("_", "-")


def _changed(declared: str, codec: str, how: str) -> str:
    name = name_of(codec)
    if not declared:
        return f"No charset was declared; {name} was {how}"
    return f"The charset {declared[:40]} was wrong; {name} was {how}"


def _strictly(data: bytes, codec: str) -> str | None:
    try:
        return data.decode(codec)
    except UnicodeDecodeError:
        # One-byte charsets have a few holes that people's programs fill all the same.
        text = data.decode(codec, "replace")
        return text if _is_one_byte(codec) and text.count("\ufffd") * 50 < len(text) else None
    except ValueError:
        return None


def _is_one_byte(codec: str) -> bool:
    return codec.startswith(("cp125", "iso8859", "latin", "koi8", "mac_", "mac-", "cp85", "cp43", "cp874"))


def _is_utf8(data: bytes) -> bool:
    """Bytes that are no ASCII form valid UTF-8 by chance next to never."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return not data.isascii()


def _is_unpaired(data: bytes) -> bool:
    sample = data[:_SAMPLE_BYTES]
    return len(_ALONE.findall(sample)) > len(_TOGETHER.findall(sample))


def _guess(data: bytes, otherwise: str) -> str:
    if (b"\x1b$" in data or b"\x1b(" in data) and _strictly(data, "iso2022_jp_2") is not None:
        return "iso2022_jp_2"
    sample = data[:_SAMPLE_BYTES]
    letters = sum(byte > 0x7F for byte in sample)
    if letters < _FEW_LETTERS:
        known = codec_of(otherwise) if otherwise else None
        if known not in {None, "ascii"} and _strictly(data, str(known)) is not None:
            return str(known)
        if letters < _TOO_FEW_LETTERS or letters * 4 < sum(byte > 0x20 for byte in sample):
            return _COMMONEST
    best = from_bytes(sample, cp_isolation=_GUESSES).best()
    return best.encoding if best is not None and best.encoding != "ascii" else _COMMONEST
