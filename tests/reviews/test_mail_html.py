"""HTML mail: nothing that runs, loads or leads anywhere comes through, in bounded time; what is harmless does."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from html import unescape

import pytest

from apps.reviews.mail_html import MAX_CHARACTERS, MAX_DEPTH, CleanMail, clean_mail

MARK = "data:image/png;base64,AAAA"
EVIL = {
    "script": "<script>alert(1)</script>",
    "script in capitals": "<ScRiPt src=//x.example/a.js></sCrIpT >",
    "handler": "<img src=x onerror=alert(1)><b onclick='x()'>",
    "javascript link": "<a href='java\tscript:alert(1)'>x</a>",
    "svg": "<svg onload=alert(1)><image href='http://x.example/a'/></svg>",
    "math": "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror=alert(1)&gt;'>",
    "style expression": "<p style='width:expression(alert(1));behavior:url(x)'>",
    "style url": "<p style='background:url(http://x.example/a);list-style-image:url(//x.example)'>",
    "style escaped url": "<p style='background:u\\72l(http://x.example/a)'>",
    "style set": "<p style='background:image-set(\"http://x.example/a\" 1x)'>",
    "overlay": "<div style='position:fixed;inset:0;z-index:9;float:left'>",
    "sheet": "<style>@import 'http://x.example/a'; body { background: url(//x.example) }</style>",
    "link element": "<link rel=stylesheet href=http://x.example/a>",
    "base": "<base href=http://x.example/>",
    "refresh": "<meta http-equiv=refresh content='0;url=http://x.example/'>",
    "form": "<form action=http://x.example/><input name=q><button formaction=javascript:x>go</button></form>",
    "frame": "<iframe src=http://x.example/></iframe><frameset><frame src=http://x.example/>",
    "object": "<object data=http://x.example/a><embed src=http://x.example/a><param name=a></object>",
    "media": "<video src=http://x.example/a poster=http://x.example/b autoplay><audio src=http://x.example/c>",
    "sources": "<picture><source srcset=http://x.example/a><img srcset='http://x.example/b 2x'></picture>",
    "background": "<body background=http://x.example/a><table background=http://x.example/b><td background=c>",
    "picture that is a script": "<img src='data:image/svg+xml;base64,AAAA'><img src='data:text/html,x'>",
    "unclosed attribute": '<p title="</p><script>alert(1)</script>',
    "comment": "<!--><img src=x onerror=alert(1)>--><!-- <script>alert(1)</script>",
    "conditional": "<!--[if mso]><script>alert(1)</script><![endif]-->",
    "noscript": "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "textarea": "<textarea></textarea><script>alert(1)</script>",
    "stand-ins of ours": "\ufdd1script\ufdd2alert(1)\ufdd1/script\ufdd2",
    "nul": "<scr\0ipt>alert(1)</scr\0ipt>",
}
FORBIDDEN = re.compile(
    r"<(?!/?(?:a|b|p|div|table|tbody|tr|td|img|span)\b)|\son\w+=|href|srcset|url\(|expression|position|z-index"
    r"|(?:src|background|action|data|poster)=\"?(?:http|//|data:text|data:image/svg)",
    re.IGNORECASE,
)


def clean(html: str, *, with_remote: bool = False) -> CleanMail:
    return clean_mail(
        html, picture_of=lambda name: MARK if name == "logo@x" else None, with_remote=with_remote
    )


def test_it_works() -> None:
    sent = '<table bgcolor="#eee"><tr><td style="color: red; padding: 4px">Hi <b>Ann</b> &amp; co</td></tr></table>'
    html = clean(sent).html
    assert 'bgcolor="#eee"' in html
    assert "color:red;padding:4px" in html
    assert "Hi <b>Ann</b> &amp; co" in html


@pytest.mark.parametrize("with_remote", [False, True])
@pytest.mark.parametrize("name", EVIL)
def test_nothing_evil_comes_through(name: str, with_remote: bool) -> None:
    html = clean(f"<p>before</p>{EVIL[name]}", with_remote=with_remote).html
    assert "before" in html
    assert FORBIDDEN.findall(re.sub(r">[^<]*<", "><", html)) == []


def test_a_link_becomes_what_it_would_open() -> None:
    cleaned = clean('<a href="https://evil.example/?a=1&amp;b=2">https://bank.example/login</a>')
    assert cleaned.html == '<a title="https://evil.example/?a=1&amp;b=2">https://bank.example/login</a>'
    (link,) = cleaned.links
    assert (link.text, link.target, link.is_disguised) == (
        "https://bank.example/login",
        "https://evil.example/?a=1&b=2",
        True,
    )


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("www.shop.example", "https://click.shop.example/x"),
        ("Read more", "https://x.example"),
        ("invoice.pdf", "https://x.example"),
        ("ann@shop.example", "mailto:ann@shop.example"),
    ],
)
def test_an_honest_link_is_not_blamed(text: str, target: str) -> None:
    assert not clean(f"<a href='{target}'>{text}</a>").has_disguised


def test_remote_pictures_wait_until_they_are_asked_for() -> None:
    sent = "<img src=https://x.example/a.png><img src=//x.example/b.png alt=Logo><img src=https://x.example/a.png>"
    assert "src" not in clean(sent).html
    assert clean(sent).loadable == 2
    assert clean(sent, with_remote=True).html.count('src="https://x.example/') == 3


def test_a_tracker_is_never_loaded() -> None:
    cleaned = clean("<img src=https://x.example/t.gif width=1 height='1px'>", with_remote=True)
    assert (cleaned.loadable, cleaned.trackers) == (0, 1)
    assert "x.example" not in cleaned.html


def test_pictures_of_the_mail_itself_are_within() -> None:
    assert f'src="{MARK}"' in clean("<img src='cid:logo%40x'>").html
    assert "src" not in clean("<img src=cid:other>").html
    assert f'src="{MARK}"' in clean(f"<img src='{MARK}'>").html


def test_paragraphs_and_cells_without_an_end_stay_beside_each_other() -> None:
    html = clean("<p>a<p>b<ul><li>c<li>d</ul><table><tr><td>e<td>f<tr><td>g</table>" * 300).html
    assert html.count("<p>") == html.count("</p>") == 600
    assert html.count("<td>") == 900


@pytest.mark.parametrize(
    "text", ["a < b && c > d", "&amp;lt;b&amp;gt;", "<3", "Ünïcödé مرحبا", "a &unknown; b"]
)
def test_text_stays_text(text: str) -> None:
    assert unescape(clean(text).html) == unescape(text)


LONG: dict[str, Callable[[], str]] = {
    "5 MB": lambda: "<p style='color:red'>hello world</p>" * 150_000,
    "nested boxes": lambda: "<div>" * 100_000,
    "nested lists": lambda: "<ul><li>" * 100_000,
    "nested tables": lambda: "<table><tr><td>" * 100_000,
    "nested quotes": lambda: "<blockquote>" * 100_000,
    "formats that multiply": lambda: "".join(f"<b lang=x{n}>" for n in range(10_000)) + "</p><p>x" * 10_000,
    "bare ampersands": lambda: "&" * 1_000_000,
    "ampersands in an attribute": lambda: "<p lang='" + "&" * 990_000 + "'>",
    "bare less-thans": lambda: "<" * 1_000_000,
    "tags without end": lambda: "<a " * 300_000,
    "quotes without end": lambda: "<a x='" * 150_001,
    "comments without end": lambda: "<!--" * 250_000,
    "scripts without end": lambda: "<script " * 120_000,
    "spaces": lambda: "<a" + " " * 999_000,
    "functions in a style": lambda: ("<p style='color:" + "rgb(" * 400 + "'>") * 600,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_time_and_size_are_bounded(name: str) -> None:
    started = time.process_time()
    cleaned = clean(LONG[name]())
    assert time.process_time() - started < 6
    assert len(cleaned.html) < 6 * MAX_CHARACTERS
    assert cleaned.html.count("<div>") <= MAX_DEPTH


def test_what_is_cut_is_told() -> None:
    assert clean("x" * (MAX_CHARACTERS + 1)).is_cut
    assert not clean("x" * MAX_CHARACTERS).is_cut
    assert clean("<br>" * 60_000).is_cut


def test_a_deep_mail_keeps_its_text() -> None:
    assert "at the bottom" in clean("<div>" * 1_000 + "at the bottom").html
