"""Own keys and languages: saved for the person, refused where one key would do two things."""

from __future__ import annotations

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.reviews.keys import BY_ID, keys_of, with_usual
from apps.reviews.models import DeskPreferences
from apps.workflows.models import Workflow
from tests.conftest import SignIn
from tests.factories import make_task
from tests.reviews.desk_forms import open_desk

PAGE = "/account/desk/"


def save(client: Client, more: str = "", **keys: str) -> int:
    sent = {f"key-{action}": key for action, key in (with_usual({}) | keys).items()}
    return client.post(PAGE, sent | {"more": more}).status_code


def test_it_works(signed_in: SignIn, rosa: User, ravi: User, workflow: Workflow) -> None:
    make_task(workflow)
    client = signed_in(rosa)
    assert save(client, skip="w") == 302
    assert keys_of(rosa)["skip"] == "w"
    assert keys_of(ravi)["skip"] == "s"
    page = open_desk(client)
    assert 'data-key="w" aria-keyshortcuts="W"' in page
    assert '<kbd aria-hidden="true">W</kbd>' in page


def test_no_usual_key_stands_for_two_things() -> None:
    usual = list(with_usual({}).values())
    assert len(set(usual)) == len(usual) == len(BY_ID)


def test_only_what_is_not_usual_is_kept(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    save(signed_in(rosa), skip="n", none="s", note="")
    assert DeskPreferences.objects.get().keys == {"skip": "n", "none": "s", "note": ""}


def test_a_key_chosen_twice_is_refused_at_both(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    client = signed_in(rosa)
    sent = {f"key-{action}": key for action, key in (with_usual({}) | {"skip": "z"}).items()}
    answer = client.post(PAGE, sent)
    assert answer.status_code == 422
    page = answer.content.decode()
    assert "Also chosen for: Undo your last answer." in page
    assert "Also chosen for: Skip." in page
    assert not DeskPreferences.objects.exists()


@pytest.mark.parametrize("key", ["F5", "é", "ab", "٣", "\x00", "<script>"])
def test_what_is_no_key_is_refused(signed_in: SignIn, rosa: User, workflow: Workflow, key: str) -> None:
    assert save(signed_in(rosa), skip=key) == 422
    assert not DeskPreferences.objects.exists()


@pytest.mark.parametrize(("typed", "kept"), [("W", "w"), (" ", "Space"), ("enter", "Enter"), (" ] ", "]")])
def test_a_key_typed_without_javascript(
    signed_in: SignIn, rosa: User, workflow: Workflow, typed: str, kept: str
) -> None:
    save(signed_in(rosa), skip=typed, accept="1", option_1="")
    assert keys_of(rosa)["skip"] == kept


def test_an_action_that_came_later_takes_no_chosen_key() -> None:
    keys = with_usual({"skip": "g", "gone": "s"})
    assert (keys["skip"], keys["guidelines"]) == ("g", "")
    assert "gone" not in keys


def test_the_usual_keys_come_back(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    client = signed_in(rosa)
    save(client, more="German", skip="w")
    client.post(PAGE, {"usual": "1"})
    kept = DeskPreferences.objects.get()
    assert (kept.keys, kept.languages) == ({}, ["de"])


def test_languages_by_name_or_tag(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    client = signed_in(rosa)
    assert save(client, more="German, Español; pt-br, ZH-hant,de") == 302
    assert DeskPreferences.objects.get().languages == ["de", "es", "pt-BR", "zh-Hant"]
    assert client.get(PAGE).content.decode().count('name="languages"') == 5  # and the workflow's own


@pytest.mark.parametrize("typed", ["Klingon", "xx-YY", "de-" + "a" * 40, "<b>", "ar,,q"])
def test_an_unknown_language_is_named(signed_in: SignIn, rosa: User, workflow: Workflow, typed: str) -> None:
    assert save(signed_in(rosa), more=typed) == 422
    assert not DeskPreferences.objects.exists()


def test_signed_out_there_is_nothing(client: Client) -> None:
    assert client.get(PAGE).headers["Location"] == f"/sign-in/?next={PAGE}"
