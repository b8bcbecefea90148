from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.sources.mail.charsets import decode

GERMAN = "Für die Größe der Öfen fehlen Maße. "
ARABIC = "السلام عليكم ورحمة الله وبركاته، نرجو إرسال الفاتورة. "
RUSSIAN = "Добрый день, пришлите, пожалуйста, счёт за ноябрь. "
HEBREW = "שלום רב, נא לשלוח את החשבונית של חודש נובמבר. "
CHINESE = "您好，请把十一月的发票寄给我们，谢谢。"
JAPANESE = "こんにちは、十一月の請求書を送ってください。"


def test_it_works() -> None:
    found = decode("Grüße".encode("iso-8859-1"), "ISO-8859-1")
    assert (found.text, found.repair) == ("Grüße", "")


@pytest.mark.parametrize(
    ("text", "codec", "declared", "repair"),
    [
        (GERMAN, "utf-8", "iso-8859-1", "The charset iso-8859-1 was wrong; utf-8 was used"),
        (GERMAN, "cp1252", "gb2312", "The charset gb2312 was wrong; windows-1252 was guessed"),
        (GERMAN, "cp1252", "", "No charset was declared; windows-1252 was guessed"),
        (GERMAN, "cp1252", "utf-8", "The charset utf-8 was wrong; windows-1252 was guessed"),
        (ARABIC * 3, "cp1256", "", "No charset was declared; windows-1256 was guessed"),
        (RUSSIAN * 3, "cp1251", "us-ascii", "The charset us-ascii was wrong; windows-1251 was guessed"),
        (HEBREW * 3, "cp1255", "x-unknown", "The charset x-unknown was wrong; windows-1255 was guessed"),
        (CHINESE * 3, "gb18030", "", "No charset was declared; gb18030 was guessed"),
        (JAPANESE, "iso2022_jp", "", "No charset was declared; iso2022-jp-2 was guessed"),
        (CHINESE, "gbk", "gb2312", ""),
        ("“quoted” – 5 €", "cp1252", "iso-8859-1", ""),
        (HEBREW, "iso8859-8", "iso-8859-8-i", ""),
    ],
)
def test_wrong_and_missing_charsets(text: str, codec: str, declared: str, repair: str) -> None:
    found = decode(text.encode(codec), declared)
    assert (found.text, found.repair) == (text, repair)


def test_the_rest_of_the_mail_says_what_few_letters_cannot() -> None:
    assert decode("مرحبا".encode("cp1256"), otherwise="windows-1256").text == "مرحبا"


def test_what_cannot_be_stored_is_replaced_and_told() -> None:
    found = decode(b"a\x00b", "utf-8")
    assert (found.text, found.repair) == ("a�b", "1 NUL or broken characters were replaced")


@given(
    st.binary(max_size=300),
    st.sampled_from(["", "utf-8", "utf-7", "utf-16", "hz", "idna", "rot13", "\0", "euc-kr"]),
)
def test_any_bytes_become_text_that_can_be_stored(data: bytes, declared: str) -> None:
    decode(data, declared).text.encode("utf-8")
