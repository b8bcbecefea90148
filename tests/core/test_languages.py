from __future__ import annotations

import pytest

from apps.core.languages import language_name, reads, tag_typed, to_tag


def test_it_works() -> None:
    assert to_tag("PT_br") == "pt-BR"
    assert reads(["pt"], "pt-BR")
    assert not reads(["pt"], "ar")


@pytest.mark.parametrize(
    ("text", "tag"),
    [("zh-hant", "zh-Hant"), ("EN", "en"), (" de-AT ", "de-AT"), ("es-419", "es-419"), ("und", "")],
)
def test_tags_are_written_in_one_way(text: str, tag: str) -> None:
    assert to_tag(text) == tag


@pytest.mark.parametrize(
    "text", ["English", "", "e", "en-", "en--GB", "en-%", "x" * 40, "en\n-GB", None, 7, ["en"]]
)
def test_what_is_no_tag(text: object) -> None:
    assert to_tag(text) is None


@pytest.mark.parametrize(
    ("own", "tag", "expected"),
    [
        ([], "ar", True),
        (["en"], "", True),
        (["pt-BR"], "pt", True),
        (["pt-BR"], "pt-PT", False),
        (["zh-Hans"], "zh-Hant", False),
        (["e"], "en", False),
        (["EN"], "en-gb", True),
    ],
)
def test_who_reads_what(own: list[str], tag: str, expected: bool) -> None:
    assert reads(own, tag) is expected


@pytest.mark.parametrize(
    ("typed", "tag"),
    [
        (" German", "de"),
        ("deutsch", "de"),
        ("العربيّة", "ar"),
        ("PT-br", "pt-BR"),
        ("tlh", "tlh"),
        ("und", None),
    ],
)
def test_what_people_type_is_a_name_or_a_tag(typed: str, tag: str | None) -> None:
    assert tag_typed(typed) == tag


@pytest.mark.parametrize(
    ("tag", "name"), [("de", "German"), ("ar-EG", "Arabic (ar-EG)"), ("tlh", "tlh"), ("", "")]
)
def test_a_tag_has_a_name(tag: str, name: str) -> None:
    assert language_name(tag) == name
