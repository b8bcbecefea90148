from __future__ import annotations

import io

import pytest

from apps.sources.tables.encodings import find_encoding, known_encoding
from apps.sources.tables.reading import take_sample
from apps.sources.tables.understanding import SAMPLE_BYTES, understand

GERMAN = "id;text\r\n1;Größe passt nicht, bitte zurück\r\n2;Lieferung verspätet, schöne Grüße\r\n"
RUSSIAN = "id;текст\r\n1;Где мой заказ? Прошу вернуть деньги\r\n2;Не работает вход в личный кабинет\r\n"
TEXTS = {
    "de": (GERMAN, ["cp1252", "latin-1", "iso8859-15", "cp850", "cp437", "mac-roman"]),
    "de €": ("id;text\r\n1;Gerät kostet 20 € – zu viel\r\n2;„Prüfung“ läuft\r\n", ["cp1252"]),
    "fr": ("id;texte\r\n1;Le colis n'est pas arrivé à l'adresse, très déçu\r\n", ["cp1252", "cp850"]),
    "es": ("id;texto\r\n1;¿Dónde está mi pedido? Mañana\r\n", ["cp1252", "cp437", "cp850"]),
    "pt": ("id;texto\r\n1;Não recebi minha encomenda, atenção\r\n", ["cp1252", "cp850"]),
    "sv": ("id;text\r\n1;Jag är missnöjd med köpet på er sida\r\n", ["cp1252", "cp850"]),
    "pl": ("id;treść\r\n1;Proszę o zwrot pieniędzy za zamówienie, źle działa\r\n", ["cp1250", "iso8859-2"]),
    "cs": ("id;text\r\n1;Kde je moje zásilka? Děkuji, příliš žluťoučký\r\n", ["cp1250", "iso8859-2"]),
    "tr": ("id;metin\r\n1;Siparişim nerede, şifremi değiştiremiyorum\r\n", ["cp1254", "iso8859-9"]),
    "ru": (RUSSIAN, ["cp1251", "koi8-r", "cp866", "iso8859-5"]),
    "el": ("id;κείμενο\r\n1;Πού είναι η παραγγελία μου;\r\n", ["cp1253", "iso8859-7"]),
    "ar": ("id,النص\r\n1,أين طلبي؟ لم يصل حتى الآن\r\n", ["cp1256", "iso8859-6"]),
    "he": ("id,טקסט\r\n1,איפה ההזמנה שלי? עדיין לא הגיעה\r\n", ["cp1255", "iso8859-8"]),
    "zh": ("编号,内容\r\n1,我的订单在哪里?还没有收到\r\n", ["gb18030", "gbk", "gb2312"]),
    "zh-TW": ("編號,內容\r\n1,我的訂單在哪裡?還沒有收到\r\n", ["big5"]),
    "ja": ("番号,本文\r\n1,注文した商品がまだ届きません\r\n", ["shift_jis", "cp932", "euc_jp"]),
    "ko": ("번호,내용\r\n1,주문한 상품이 아직 도착하지 않았습니다\r\n", ["euc_kr", "cp949"]),
    "th": ("id,ข้อความ\r\n1,สินค้ายังไม่มาถึง กรุณาตรวจสอบ\r\n", ["cp874"]),
    "one word": ("id;text\r\n1;café\r\n", ["cp1252"]),
    "one word, ar": ("id;text\r\n1;مرحبا\r\n", ["cp1256"]),
    "one word, ru": ("id;text\r\n1;привет\r\n", ["cp1251"]),
}
WIDE = ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"]


def read(content: bytes) -> str:
    found = find_encoding(content)
    assert found is not None
    return content.decode(found.name).removeprefix("\ufeff")


def test_it_works() -> None:
    assert read(GERMAN.encode("cp1252")) == GERMAN


@pytest.mark.parametrize(
    ("text", "encoding"), [(text, each) for text, encodings in TEXTS.values() for each in (*encodings, *WIDE)]
)
def test_texts_come_out_as_they_were_written(text: str, encoding: str) -> None:
    assert read(text.encode(encoding)) == text


def test_it_says_how_it_was_found() -> None:
    ways = [find_encoding(GERMAN.encode(name)) for name in ("utf-8-sig", "utf-16-le", "utf-8", "cp1252")]
    assert [each.found.name for each in ways if each] == ["MARK", "PATTERN", "VALID", "GUESSED"]


def test_what_is_no_text() -> None:
    assert find_encoding(b"\x7fELF\x02" + bytes(99)) is None


def test_damage_here_and_there_leaves_utf8_what_it_is() -> None:
    assert find_encoding((RUSSIAN * 2).encode().replace("ж".encode(), b"\xff")) == find_encoding(
        RUSSIAN.encode()
    )


def test_a_sample_may_end_within_a_character() -> None:
    assert find_encoding(RUSSIAN.encode()[:-5]) == find_encoding(RUSSIAN.encode())


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("windows-1256", "cp1256"),
        (" UTF-16 ", "utf-16-le"),
        ("UTF-8-SIG", "utf-8"),
        ("rot13", None),
        ("x\0", None),
    ],
)
def test_encodings_by_their_names(said: str, name: str | None) -> None:
    assert known_encoding(said) == name


@pytest.mark.parametrize("encoding", ["cp1252", "cp1251", "utf-8"])
def test_an_accent_on_the_last_line_of_a_long_file_counts(encoding: str) -> None:
    word = "привет" if encoding == "cp1251" else "größer"
    content = b"id,text\n" + b"1,plain ascii text\n" * (SAMPLE_BYTES // 10) + f"2,{word}\n".encode(encoding)
    assert understand(take_sample(io.BytesIO(content)), name="a.csv").encoding == encoding
