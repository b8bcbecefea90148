"""Which old encoding a text is in, told by how well its letters fit a language that is written in it.

Tables are short and their texts shorter, so whole words do not repeat; letters do. Every encoding is tried with the
languages it was made for: a letter counts by how common it is there, one of another language counts against it.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache

SAMPLE_BYTES = 16 * 1024
FALLBACK = "cp1252"

# Letters that are no ASCII, the commonest first; capitals count a little less than their small ones.
_LANGUAGES = {
    "de": "üäößé",
    "fr": "éàèêçùôâîûëïœ",
    "es": "óíáéñúü",
    "pt": "ãçáéíóêõâúà",
    "it": "èàùòìé",
    "nordic": "åäöøæé",
    "is": "áðíéóúþöæý",
    "pl": "łęąóśżćńź",
    "cs": "íáéěýšřčžůúťďňôľ",
    "hu": "éáöóőíüűú",
    "hr": "čšžćđ",
    "ro": "ăîâșțşţ",
    "tr": "ıişüğöçİ",
    "baltic": "āšēīėąūžčįęųņķļģõ",
    "ru": "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё",
    "uk": "оаинвіетрслкдумпзяьбгйчхцїжюшєщфґ",
    "el": "αοιετσνηυρπκμλςωδγχθάίόέήύώφβξζψϊϋΐΰ",
    "ar": "اليمنرتوبةعدسفهكقأحجشطصىخإذزضغثءظئؤآ",
    "fa": "اینردمهوتبشسکگزلفقخعجآحپصضطظچذغثژئيك",
    "he": "יוהלאמרתבשנעםדקפחצטןגכזסךץף",
    "th": "านรอกเงมยลวดทสตะปบคหแจพชขใไโผซณฐฟศษธภถญฉฮ่้ิีั็์ืุูำํ๊๋ๆฯ",
}
_WEST = ("de", "fr", "es", "pt", "it", "nordic", "is")
_CENTRAL = ("pl", "cs", "hu", "hr", "ro", "de")
# Of two that read the same bytes alike the first is taken.
_ENCODINGS = {
    "cp1252": _WEST,
    "cp1250": _CENTRAL,
    "cp1251": ("ru", "uk"),
    "cp1256": ("ar", "fa"),
    "cp1255": ("he",),
    "cp1254": ("tr",),
    "cp1253": ("el",),
    "cp1257": ("baltic",),
    "cp874": ("th",),
    "iso8859-15": _WEST,
    "iso8859-2": _CENTRAL,
    "iso8859-5": ("ru", "uk"),
    "iso8859-6": ("ar",),
    "iso8859-7": ("el",),
    "koi8-r": ("ru",),
    "cp850": _WEST,
    "cp437": _WEST,
    "cp852": _CENTRAL,
    "cp866": ("ru",),
    "cp862": ("he",),
    "mac-roman": _WEST,
}
_PUNCTUATION = set("“”„‘’‚‹›«»–—…•·°§€£¥™®©№ºª¿¡\xa0،؛؟ـ\u200c\u200d\u200e\u200f½²³×")
_SQUEEZED = re.compile(r"(?<=[^\W\d_])[“”„‚‹›«»—…•°§€£¥™®©№¿¡½²³×](?=[^\W\d_])")
_CASE_TURNS = re.compile(r"(?<=[^\W\d_])(?<=[a-zà-öø-ÿа-яёα-ώ])[A-ZÀ-ÖØ-ÞА-ЯЁΑ-Ω](?=[^\W\d_])")
_MIXED = re.compile(r"(?<=[A-Za-z])[\u0370-\u0e7f]|[\u0370-\u0e7f](?=[A-Za-z])")
# Four consonants in a row, or a word of nothing else.
_UNSPEAKABLE = re.compile(r"[бвгджзклмнпрстфхцчшщйьъ]{4}|\b[бвгджзклмнпрстфхцчшщйьъ]{3,}\b")
_HANGUL = set(
    "이다는을가의에하한고로기사지인도서어리자대일은시나있었습니까요해주세으를아그수정들여보제전만부장스게라과니안원상무"
)
_HAN = set(
    "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种面而方后多定行学法所请问没还吗你您好订单退款收货谢"
)
_EAST = ("gb18030", "big5hkscs", "cp932", "euc_jp", "cp949")


def guess_encoding(sample: bytes) -> str:
    """For bytes that are neither ASCII nor UTF-8 nor UTF-16."""
    lines = [line for line in sample.splitlines(keepends=True) if not line.isascii()]
    if len(lines) > 1 and not sample.endswith((b"\n", b"\r")):
        lines.pop()  # perhaps cut off within a character
    chosen = b"".join(lines)[:SAMPLE_BYTES]
    fits = {name: _fit(chosen, name, languages) for name, languages in _ENCODINGS.items()}
    fits |= {name: _fit_east(chosen, name) for name in _EAST}
    best = max(fits, key=lambda name: fits[name])
    return best if fits[best] > 0 else FALLBACK


def _fit(sample: bytes, encoding: str, languages: tuple[str, ...]) -> float:
    """At most 1; how common an average letter of the text is."""
    text = sample.decode(encoding, "replace")
    counts = Counter(character for character in text if character > "\x7f")
    letters = {character: count for character, count in counts.items() if character not in _PUNCTUATION}
    total = sum(letters.values())
    if not total:
        return 0.1 if encoding == FALLBACK else 0
    odd = sum(len(pattern.findall(text)) for pattern in (_SQUEEZED, _CASE_TURNS, _MIXED, _UNSPEAKABLE))
    best = max(
        sum(_weights(language).get(character, -1.0) * count for character, count in letters.items())
        for language in languages
    )
    return (best - odd) / total


@cache
def _weights(language: str) -> dict[str, float]:
    letters = _LANGUAGES[language]
    # Of a whole alphabet a few letters make most of a text; accented ones are rare all of them.
    steepness = 1.0 if letters[0] > "\u0370" else 0.5
    small = {letter: 1 - steepness * rank / len(letters) for rank, letter in enumerate(letters)}
    return {letter.upper(): weight - 0.2 for letter, weight in small.items()} | small


def _fit_east(sample: bytes, encoding: str) -> float:
    text = sample.decode(encoding, "ignore")
    lost = sample.decode(encoding, "replace").count("�") - text.count("�")
    wide = [character for character in text if character > "\x7f"]
    if not wide or lost * 200 > len(wide):
        return -1
    return sum(_weight_east(character, encoding) for character in wide) / len(wide) - 2 * lost / len(wide)


def _weight_east(character: str, encoding: str) -> float:
    """Most of a text are kana, Hangul syllables, or the characters that its standard put first as the common ones."""
    if "\u3000" <= character <= "\u303f" or "\uff01" <= character <= "\uff5e":
        return 0.5
    code = character.encode(encoding, "replace")
    if encoding in ("cp932", "euc_jp"):
        if "\u3041" <= character <= "\u30fe":
            return 1
        first = b"\x88\x9f" <= code <= b"\x98\x72" if encoding == "cp932" else b"\xb0" <= code[:1] <= b"\xcf"
        return 0.6 if first and len(code) == 2 else -0.5
    if encoding == "cp949":
        is_first = b"\xb0\xa1" <= code <= b"\xc8\xfe" and code[1] >= 0xA1
        return 1 if character in _HANGUL else 0.6 if is_first else -0.5
    if encoding == "big5hkscs":
        return 0.85 if b"\xa4\x40" <= code <= b"\xc6\x7e" else -0.3
    is_first = len(code) == 2 and b"\xb0" <= code[:1] <= b"\xd7" and code[1] >= 0xA1
    return 1 if character in _HAN else 0.6 if is_first else -0.3
