from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from django.contrib.auth import authenticate

from apps.accounts.models import User
from apps.demo.installation import (
    add_people,
    install_samples,
    keep_tokens,
    known_tokens,
    set_model,
    strangers,
    write_facts,
)
from apps.workflows.access import get_token_for
from apps.workflows.models import ApiToken, Membership, Workflow
from tests.factories import NOW, make_user

pytestmark = pytest.mark.django_db


def install() -> tuple[list[Workflow], dict[str, User]]:
    endpoint = set_model(None, stand_in_url="http://127.0.0.1:9")
    people = add_people()
    return install_samples(endpoint, people, now=NOW), people


def test_it_works() -> None:
    workflows, _ = install()
    assert [workflow.slug for workflow in workflows] == ["leads", "messages-ar", "support", "documents"]
    roles = Membership.objects.filter(workflow=workflows[0]).values_list("user__username", "role")
    assert set(roles) == {("rosa", "reviewer"), ("ravi", "reviewer"), ("mara", "manager")}


def test_everybody_can_sign_in() -> None:
    add_people()
    for name in ("rosa", "ravi", "mara", "olga"):
        assert authenticate(username=name, password="fermata-demo") is not None


def test_olga_operates_and_belongs_to_nothing() -> None:
    _, people = install()
    assert people["olga"].is_operator
    assert not people["olga"].memberships.exists()


def test_a_second_start_changes_nothing() -> None:
    install()
    install()
    assert (User.objects.count(), Workflow.objects.count(), Membership.objects.count()) == (4, 4, 12)


def test_a_working_token_is_kept() -> None:
    workflows, people = install()
    first = keep_tokens(workflows, people["mara"], {}, now=NOW)
    assert keep_tokens(workflows, people["mara"], first, now=NOW) == first
    assert ApiToken.objects.count() == 4


def test_an_unknown_token_is_replaced_and_the_old_one_ends() -> None:
    workflows, people = install()
    first = keep_tokens(workflows, people["mara"], {}, now=NOW)
    second = keep_tokens(workflows, people["mara"], {"leads": "fmt_wrong"}, now=NOW)
    assert get_token_for(secret=first["leads"], now=NOW) is None
    assert get_token_for(secret=second["leads"], now=NOW) is not None


def test_a_token_of_another_workflow_is_not_taken_for_this_one() -> None:
    workflows, people = install()
    first = keep_tokens(workflows, people["mara"], {}, now=NOW)
    second = keep_tokens(workflows, people["mara"], {"leads": first["messages-ar"]}, now=NOW)
    assert second["leads"] != first["messages-ar"]


def test_the_model_is_asked_at_once_after_a_pause() -> None:
    endpoint = set_model(None, stand_in_url="http://127.0.0.1:9")
    endpoint.failures_in_a_row, endpoint.paused_until, endpoint.pause_reason = 3, NOW, "unreachable"
    endpoint.save()
    fresh = set_model(None, stand_in_url="http://127.0.0.1:10")
    assert (fresh.pk, fresh.base_url, fresh.paused_until) == (endpoint.pk, "http://127.0.0.1:10", None)


def test_clef_is_asked_when_account_and_token_are_set() -> None:
    endpoint = set_model("CLOUDFLARE_API_KEY", stand_in_url="unused")
    assert (endpoint.kind, endpoint.model) == ("workers-ai", "clef")
    assert (endpoint.account_variable, endpoint.secret_variable) == (
        "CLOUDFLARE_ACCOUNT_ID",
        "CLOUDFLARE_API_KEY",
    )


def test_people_who_are_not_the_demos_are_noticed() -> None:
    add_people()
    assert strangers() == []
    make_user("zoe")
    assert strangers() == ["zoe"]


def test_what_scripts_read_is_for_the_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "demo.json"
    write_facts(path, url="http://127.0.0.1:8000", tokens={"leads": "fmt_x"}, model="standin-ngram-1")
    facts = json.loads(path.read_text())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert set(facts) == {"url", "users", "tokens", "model"}
    assert {"username": "olga", "password": "fermata-demo", "role": "operator"} in facts["users"]
    assert known_tokens(path) == {"leads": "fmt_x"}


@pytest.mark.parametrize("content", ["", "[]", '{"tokens": 3}', "{"])
def test_a_damaged_file_holds_no_tokens(tmp_path: Path, content: str) -> None:
    path = tmp_path / "demo.json"
    path.write_text(content)
    assert known_tokens(path) == {}
