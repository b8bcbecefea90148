from __future__ import annotations

from typing import Any

import pytest
from django.template import Context, Template
from django.urls import set_script_prefix
from django.utils.functional import SimpleLazyObject
from django.utils.safestring import SafeString

from apps.core.templatetags import kept as kept_tags
from apps.reviews.keys import Keys
from apps.workflows.models import Workflow

# Parts of the product's own pages: one without a gap, one with several.
PLAIN, WITH_GAPS = "_model.html", "reviews/_desk_skip.html"


def shown(name: str, *, page: dict[str, Any] | None = None, **given: Any) -> str:
    arguments = " ".join(f"{each}={each}" for each in given)
    source = Template(f'{{% load kept %}}{{% kept "{name}" {arguments} %}}')
    return source.render(Context((page or {}) | given))


def skip(page: dict[str, Any], key: str = "s") -> str:
    keys = Keys({"skip": key})
    return shown(WITH_GAPS, page=page, slug="leads", skip_reasons=("Not now",), desk_keys=keys)


PAGE = {"csrf_token": "c1", "lease_token": "l1", "filter_field": ""}


def test_it_works() -> None:
    assert "<strong>a &amp; b</strong>" in shown(PLAIN, model="a & b")


def test_made_once_for_equal_arguments() -> None:
    skip(PAGE)
    before = kept_tags._made.cache_info()
    skip(PAGE | {"lease_token": "l2"})
    after = kept_tags._made.cache_info()
    assert (after.misses - before.misses, after.hits - before.hits) == (0, 1)


def test_each_page_fills_the_gaps_from_its_own_context() -> None:
    first, second = skip(PAGE), skip(PAGE | {"lease_token": "l2"})
    assert first.replace('value="l1"', 'value="l2"') == second != first


def test_what_fills_a_gap_is_escaped() -> None:
    assert 'value="&quot;&gt;&lt;script&gt;"' in skip(PAGE | {"lease_token": '"><script>'})
    assert "<i>" in skip(PAGE | {"filter_field": SafeString("<i>")})


def test_other_arguments_are_other_markup() -> None:
    assert 'data-key="w"' in skip(PAGE, "w")
    assert 'data-key="s"' in skip(PAGE)


def test_a_text_equal_to_safe_markup_is_escaped_all_the_same() -> None:
    assert "<em>" in shown(PLAIN, model=SafeString("<em>"))
    assert "<em>" not in shown(PLAIN, model="<em>")


def test_it_sees_nothing_of_the_page_but_its_arguments() -> None:
    assert "secret" not in shown(PLAIN, page={"model": "secret"})


def test_a_gap_that_nothing_fills_is_an_error() -> None:
    with pytest.raises(KeyError):
        skip({"csrf_token": "c1", "filter_field": ""})


def test_the_same_template_can_be_included() -> None:
    source = Template('{% include "reviews/_desk_skip.html" %}')
    page = PAGE | {"slug": "leads", "skip_reasons": ("Not now",), "desk_keys": Keys({"skip": "s"})}
    assert source.render(Context(page)) == skip(PAGE)


@pytest.mark.parametrize("what", [Workflow(pk=1), SimpleLazyObject(lambda: "Rosa")])
def test_what_is_somebodys_or_may_change_is_no_argument(what: object) -> None:
    with pytest.raises(TypeError, match="cannot be kept"):
        shown(PLAIN, model=what)


def test_served_under_another_address_it_leads_there() -> None:
    assert 'action="/w/leads/review/skip/"' in skip(PAGE)
    set_script_prefix("/fermata/")
    try:
        assert 'action="/fermata/w/leads/review/skip/"' in skip(PAGE)
    finally:
        set_script_prefix("/")
    assert 'action="/w/leads/review/skip/"' in skip(PAGE)


def test_what_is_long_is_not_kept() -> None:
    before = kept_tags._made.cache_info().currsize
    assert len(shown(PLAIN, model="x" * kept_tags.LONGEST)) > kept_tags.LONGEST
    assert kept_tags._made.cache_info().currsize <= before
