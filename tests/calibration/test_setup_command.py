from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management.base import CommandError

from apps.accounts.models import User
from apps.calibration.management.commands.setup import EXAMPLE, choose_password
from apps.pipeline.endpoints import cloudflare_secret
from apps.policies.models import Policy
from apps.workflows.models import Endpoint, Membership, Role, Workflow
from tests.calibration.commands import run
from tests.factories import make_user

pytestmark = pytest.mark.django_db
MODEL = ("--endpoint", "http://127.0.0.1:9", "--model", "clef")


@pytest.fixture
def password_file(tmp_path: Path) -> str:
    path = tmp_path / "password"
    path.write_text("a long enough one\n", encoding="utf-8")
    return str(path)


def test_it_works(password_file: str) -> None:
    said = run("setup", *MODEL, "--admin", "anna", "--password-file", password_file)

    anna, leads = User.objects.get(), Workflow.objects.get()
    assert anna.is_operator
    assert anna.check_password("a long enough one")
    assert (leads.slug, leads.endpoint.model, leads.endpoint.secret_variable) == ("leads", "clef", "")
    assert Membership.objects.get(user=anna, workflow=leads).role == Role.MANAGER
    assert Policy.objects.get().status == Policy.Status.ACTIVE
    assert "a long enough one" not in said


def test_a_password_is_made_and_shown_once() -> None:
    said = run("setup", *MODEL, "--no-input")

    made = said.partition("shown this once: ")[2].split()[0]
    assert User.objects.get(username="admin").check_password(made)
    assert "Password" not in run("setup")


def test_a_second_run_changes_nothing() -> None:
    run("setup", *MODEL)
    said = run("setup")

    assert "Administrator: admin exists" in said
    assert said.count("unchanged") == 3
    assert (Workflow.objects.count(), Endpoint.objects.count(), Policy.objects.count()) == (1, 1, 1)


def test_a_person_who_exists_becomes_operator() -> None:
    rosa = make_user("rosa")
    run("setup", *MODEL, "--admin", "Rosa")

    rosa.refresh_from_db()
    assert rosa.is_operator


def test_another_model_only_when_said() -> None:
    run("setup", *MODEL)
    run("setup", "--endpoint", "http://127.0.0.1:8", "--model", "own", "--secret-variable", "OWN_TOKEN")

    assert Workflow.objects.get().endpoint.secret_variable == "OWN_TOKEN"


def test_cloudflare_by_its_variables_names() -> None:
    said = run("setup", "--cloudflare", "--model", "clef-flash")

    endpoint = Endpoint.objects.get()
    assert (endpoint.kind, endpoint.model, str(endpoint.price_per_million)) == (
        "workers-ai",
        "clef-flash",
        "0.0900",
    )
    assert endpoint.account_variable == "CLOUDFLARE_ACCOUNT_ID"
    assert "CLOUDFLARE_API_TOKEN is not set in this shell" in said


@pytest.mark.parametrize(
    ("environment", "name"),
    [
        ({"CLOUDFLARE_ACCOUNT_ID": "a", "CLOUDFLARE_API_TOKEN": "t"}, "CLOUDFLARE_API_TOKEN"),
        ({"CLOUDFLARE_ACCOUNT_ID": "a", "CLOUDFLARE_API_KEY": "t"}, "CLOUDFLARE_API_KEY"),
        ({"CLOUDFLARE_ACCOUNT_ID": "a", "CLOUDFLARE_API_TOKEN_FILE": "/t"}, "CLOUDFLARE_API_TOKEN"),
        ({"CLOUDFLARE_API_TOKEN": "t"}, None),
        ({"CLOUDFLARE_ACCOUNT_ID": "a", "CLOUDFLARE_API_TOKEN": ""}, None),
    ],
)
def test_which_variable_holds_the_token(environment: dict[str, str], name: str | None) -> None:
    assert cloudflare_secret(environment) == name


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Which model decides"),
        (("--endpoint", "http://127.0.0.1:9"), "needs --model"),
        (("--endpoint", "ftp://x", "--model", "m"), "endpoint.base_url"),
        ((*MODEL, "--cloudflare"), "exclude each other"),
        ((*MODEL, "--price", "nan"), "number of USD"),
        (("--cloudflare", "--model", "clef-next"), "give --price"),
        ((*MODEL, "--password-file", "/nowhere"), "password file"),
        ((*MODEL, "--admin", "a b"), "administrator: Enter a valid username"),
        (("/nowhere.toml", *MODEL), "cannot be read"),
    ],
)
def test_what_is_refused(arguments: tuple[str, ...], said: str) -> None:
    with pytest.raises(CommandError, match=said):
        run("setup", *arguments)

    assert not User.objects.exists()
    assert not Endpoint.objects.exists()
    assert not Workflow.objects.exists()


def test_a_weak_password_is_refused(tmp_path: Path) -> None:
    (tmp_path / "p").write_text("short", encoding="utf-8")

    with pytest.raises(CommandError, match="too short"):
        run("setup", *MODEL, "--password-file", str(tmp_path / "p"))


def test_a_model_alone_is_not_ignored() -> None:
    run("setup", *MODEL)

    with pytest.raises(CommandError, match="say --cloudflare"):
        run("setup", "--model", "other")


def test_problems_are_named_one_a_line(tmp_path: Path) -> None:
    path = tmp_path / "w.toml"
    path.write_text('[workflow]\nslug = "Bad Slug"\n[policy]\n', encoding="utf-8")

    with pytest.raises(CommandError, match=r"Nothing was set up\.\n  workflow\.slug: .*\n  workflow\.name:"):
        run("setup", str(path), *MODEL)


def test_a_second_run_makes_nobody_a_member() -> None:
    run("setup", *MODEL)
    Membership.objects.all().delete()
    assert "manager" not in run("setup")
    assert not Membership.objects.exists()
    run("setup", "--admin", "admin")
    assert Membership.objects.get().role == Role.MANAGER


def choose(*typed: str) -> tuple[str, str]:
    """The password that was chosen, and what was told meanwhile."""
    told: list[str] = []
    answers = iter(typed)
    chosen = choose_password(User(username="anna"), ask=lambda prompt: next(answers), tell=told.append)
    return chosen, "".join(told)


def test_the_rules_of_passwords_are_told_before_one_is_typed() -> None:
    chosen, told = choose("a long enough one", "a long enough one")
    assert chosen == "a long enough one"
    assert "at least 10 characters" in told.splitlines()[1]


def test_a_password_is_asked_for_again() -> None:
    chosen, told = choose("short", "a long enough one", "anoher", "a long enough one", "a long enough one")
    assert chosen == "a long enough one"
    assert "too short" in told
    assert "The two passwords differ." in told


def test_three_bad_passwords_are_enough() -> None:
    with pytest.raises(CommandError, match="no password was chosen"):
        choose("short", "short", "short", "a long enough one")


@pytest.mark.slow
def test_a_file_from_standard_input_as_a_container_gets_it() -> None:
    """Nothing is written here: whether it was read shows in what is wrong with it."""
    content = EXAMPLE.read_text(encoding="utf-8").replace('slug = "leads"', 'slug = "Bad Slug"')
    done = subprocess.run(
        [sys.executable, "manage.py", "setup", "-", *MODEL],
        cwd=settings.BASE_DIR,
        env=os.environ
        | {"DATABASE_URL": "postgresql://127.0.0.1:1/none", "REDIS_URL": settings.PLACES.redis_url},
        input=content,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, "workflow.slug: " in done.stderr) == (1, True)
