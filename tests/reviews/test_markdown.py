from __future__ import annotations

import pytest

from apps.reviews.markdown import to_html


def test_it_works() -> None:
    assert to_html("**One**\n- two").split("\n") == [
        '<p dir="auto"><strong>One</strong></p>',
        '<ul dir="auto">',
        '<li dir="auto">two</li>',
        "</ul>",
        "",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "[x](data:text/html,1)",
        "<a href=javascript:alert(1)>x</a>",
        "![x](https://t.example/p.png)",
        "<style>*{}</style>",
    ],
)
def test_nothing_runs_and_nothing_loads(text: str) -> None:
    html = to_html(text)
    for bad in ("<script", "<img", "<style", 'href="java', 'href="data'):
        assert bad not in html


def test_links_tell_nobody_where_they_were_followed() -> None:
    html = to_html("[ok](https://e.example/a)")
    assert 'href="https://e.example/a" target="_blank" rel="noopener noreferrer nofollow"' in html


def test_headings_keep_the_order_of_the_page() -> None:
    html = to_html("### Small first\n# Large\n###### Least", top=5)
    assert [html[at + 2] for at in range(len(html)) if html.startswith("<h", at)] == ["6", "5", "6"]


def test_each_paragraph_goes_its_own_direction() -> None:
    assert to_html("عقد\n\nContract").count('<p dir="auto">') == 2


def test_a_table_is_no_larger_than_it_was_typed() -> None:
    wide = "|a" * 100 + "\n" + "|-" * 100 + "\n"
    assert "<table" in to_html(wide + "|x\n" * 10)
    assert len(to_html(wide + "|x\n" * 3_000)) < 50_000
