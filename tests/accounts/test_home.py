from __future__ import annotations

from apps.accounts.models import User
from apps.workflows.models import Role, Workflow
from tests.conftest import SignIn
from tests.factories import join, make_user


def test_it_works(signed_in: SignIn, rosa: User) -> None:
    assert signed_in(rosa).get("/").headers["Location"] == "/w/leads/review/"


def test_a_manager_comes_to_the_figures(signed_in: SignIn, mara: User) -> None:
    assert signed_in(mara).get("/").headers["Location"] == "/w/leads/insights/"


def test_managing_one_comes_before_reviewing_another(
    signed_in: SignIn, rosa: User, other_workflow: Workflow
) -> None:
    join(rosa, other_workflow, Role.MANAGER)
    assert signed_in(rosa).get("/").headers["Location"] == "/w/elsewhere/insights/"


def test_an_operator_comes_to_the_machine(signed_in: SignIn, olga: User) -> None:
    assert signed_in(olga).get("/").headers["Location"] == "/operate/"


def test_nobody_of_anything_is_welcomed_and_told_what_to_do(signed_in: SignIn, nora: User) -> None:
    page = signed_in(nora).get("/").content.decode()
    assert "not yet a member of any workflow" in page


def test_a_hostile_name_is_shown_and_not_run(signed_in: SignIn, db: None) -> None:
    evil = User.objects.create(username="<script>alert(1)</script>")
    page = signed_in(evil).get("/").content.decode()
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_its_navigation_names_no_other_workflow(
    signed_in: SignIn, workflow: Workflow, other_workflow: Workflow
) -> None:
    page = signed_in(make_user("ines")).get("/").content.decode()
    assert workflow.slug not in page
    assert other_workflow.slug not in page
