"""Who may open what: every URL of the product, for every kind of person, tried. A URL without a line here fails."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product

import pytest
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from apps.items.models import Item
from apps.workflows.models import Role, Workflow
from tests.factories import join, make_task, make_user

# The least that opens it: public < signed_in < reviewer < manager; operator apart; or a scope of an API token.
EXPECTED = {
    "home": "signed_in",
    "accounts:sign_in": "public",
    "reviews:preferences": "signed_in",
    "reviews:desk": "reviewer",
    "reviews:task_submit": "reviewer",
    "reviews:task_skip": "reviewer",
    "reviews:task_undo": "reviewer",
    "reviews:bar": "reviewer",
    "reviews:lease_renew": "reviewer",
    "reviews:lease_release": "reviewer",
    "reviews:hand_over": "reviewer",
    "reviews:task_hand_over": "reviewer",
    "reviews:task_escalate": "reviewer",
    "reviews:task_give_back": "reviewer",
    "reviews:queue": "reviewer",
    "reviews:queue_task": "reviewer",
    "reviews:task_take": "reviewer",
    "reviews:queue_hand_over": "manager",
    "reviews:queue_prioritise": "manager",
    "reviews:opinions": "manager",
    "reviews:opinions_change": "manager",
    "reviews:senior_change": "manager",
    "reviews:mail_sent": "reviewer",
    "reviews:mail_frame": "reviewer",
    "reviews:item_text": "reviewer",
    "reviews:item_rest": "reviewer",
    "reviews:guidelines_panel": "reviewer",
    "reviews:guidelines": "manager",
    "reviews:guidelines_file": "manager",
    "reviews:guideline_edit": "manager",
    "reviews:guideline_preview": "manager",
    "reviews:example_add": "manager",
    "reviews:example_remove": "manager",
    "reviews:picture": "reviewer",
    "reviews:thumbnail": "reviewer",
    "insights:items": "reviewer",
    "insights:item": "reviewer",
    "insights:overview": "manager",
    "insights:labels": "manager",
    "insights:labels_export": "manager",
    "insights:settings": "manager",
    "insights:member_add": "manager",
    "insights:member_remove": "manager",
    "insights:token_create": "manager",
    "insights:token_revoke": "manager",
    "insights:limits_update": "manager",
    "insights:reading_update": "manager",
    "insights:top_fields_update": "manager",
    "insights:subscription": "manager",
    "insights:subscription_pause": "manager",
    "insights:subscription_resume": "manager",
    "insights:sending_again": "manager",
    "insights:operate": "operator",
    "sources:hook": "public",
    "sources:overview": "manager",
    "sources:source_pause": "manager",
    "sources:source_resume": "manager",
    "sources:delivery_again": "manager",
    "sources:uploads": "manager",
    "sources:upload_new": "manager",
    "sources:upload": "manager",
    "sources:upload_decide": "manager",
    "sources:upload_import": "manager",
    "sources:upload_cancel": "manager",
    "sources:upload_refused": "manager",
    "calibration:overview": "manager",
    "calibration:chart": "manager",
    "calibration:quality": "manager",
    "calibration:recalibrate": "manager",
    "calibration:hold_propose": "manager",
    "calibration:incidents": "manager",
    "calibration:incident": "manager",
    "calibration:incident_close": "manager",
    "calibration:trials": "manager",
    "calibration:trial_new": "manager",
    "calibration:trial": "manager",
    "calibration:trial_csv": "manager",
    "calibration:trial_start": "manager",
    "calibration:trial_again": "manager",
    "calibration:trial_adopt": "manager",
    "calibration:trial_delete": "manager",
    "calibration:trial_label": "reviewer",
    "calibration:trial_label_undo": "reviewer",
    "calibration:promise": "manager",
    "calibration:planner": "manager",
    "calibration:bounds": "manager",
    "calibration:bounds_map": "manager",
    "calibration:policy": "manager",
    "calibration:policy_new": "manager",
    "calibration:policy_back": "manager",
    "calibration:policy_version": "manager",
    "calibration:policy_draft": "manager",
    "calibration:policy_activate": "manager",
    "calibration:policy_discard": "manager",
    "calibration:policy_preview": "manager",
    "calibration:policy_preview_items": "manager",
}
PEOPLE = ("nobody", "stranger", "foreign_manager", "reviewer", "manager", "operator")
OPENS = {
    "public": set(PEOPLE),
    "signed_in": set(PEOPLE) - {"nobody"},
    "reviewer": {"reviewer", "manager"},
    "manager": {"manager"},
    "operator": {"operator"},
}


def patterns(resolver: URLResolver, prefix: str = "") -> Iterator[tuple[str, URLPattern]]:
    for each in resolver.url_patterns:
        if isinstance(each, URLResolver):
            yield from patterns(each, f"{prefix}{each.namespace}:" if each.namespace else prefix)
        else:
            yield f"{prefix}{each.name}", each


URLS = dict(patterns(get_resolver()))
# The API has its own matrix (tests/api); signing out ends what this one needs (tests/accounts).
APART = {"accounts:sign_out"}
PAGES = {name: url for name, url in URLS.items() if not name.startswith("api:") and name not in APART}


def test_every_page_has_an_expectation() -> None:
    assert set(PAGES) == set(EXPECTED)


@pytest.fixture
def people(workflow: Workflow, other_workflow: Workflow) -> dict[str, Client]:
    users = {name: make_user(name) for name in PEOPLE if name not in ("nobody", "operator")}
    users["operator"] = make_user("operator", is_operator=True)
    join(users["reviewer"], workflow, Role.REVIEWER)
    join(users["manager"], workflow, Role.MANAGER)
    join(users["foreign_manager"], other_workflow, Role.MANAGER)
    clients = {name: Client(raise_request_exception=False) for name in PEOPLE}
    for name, user in users.items():
        clients[name].force_login(user)
    return clients


def address(name: str, workflow: Workflow, item: Item) -> str:
    values = {
        "slug": workflow.slug,
        "item_id": item.pk,
        "version": 1,
        "name": "label",
        "form": "csv",
        "cell": "newly-automatic",
        "user_id": 1,
        "task_id": item.tasks.get().pk,
        "token_id": 1,
        "upload_id": 1,
        "trial_id": 1,
        "incident_id": 1,
        "attachment_id": 1,
        "example_id": 1,
        "source_id": 1,
        "delivery_id": 1,
        "subscription_id": 1,
        "sending_id": 1,
        "public_id": uuid.UUID(int=1),
    }
    return reverse(name, kwargs={key: values[key] for key in URLS[name].pattern.converters})


@contextmanager
def undone() -> Iterator[None]:
    """What is done inside leaves nothing, so that one set of people can try every page."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


@pytest.mark.parametrize("who", PEOPLE)
def test_who_may_open(who: str, workflow: Workflow, people: dict[str, Client]) -> None:
    """Who may: never told 403 or sent to sign in. Who may not: never an answer, by GET or POST, htmx or not."""
    item, client, wrong = make_task(workflow).item, people[who], []
    for name, ask in product(sorted(PAGES), (client.get, client.post)):
        url, may = address(name, workflow, item), who in OPENS[EXPECTED[name]]
        for headers in ({}, {"HX-Request": "true", "HX-Target": name.split(":")[-1]}):
            with undone():
                response = ask(url, headers=headers)
            opened = not (response.status_code in (403, 404) or "/sign-in/" in response.get("Location", ""))
            # 405 comes before anybody is asked who they are; 404 may be an object that is not there.
            if response.status_code != 405 and opened != may and not (may and response.status_code == 404):
                wrong.append((name, ask.__name__, response.status_code))
            assert response.status_code < 500, (name, url, response.status_code)
    assert wrong == []


def test_a_stranger_cannot_tell_a_workflow_from_none(workflow: Workflow, people: dict[str, Client]) -> None:
    item, told = make_task(workflow).item, []
    for name in (name for name in sorted(PAGES) if "slug" in PAGES[name].pattern.converters):
        url = address(name, workflow, item)
        nowhere = url.replace(f"/w/{workflow.slug}/", "/w/nowhere/")
        for ask in (people["stranger"].get, people["stranger"].post):
            with undone():
                if ask(url).status_code != ask(nowhere).status_code:
                    told.append((name, ask.__name__))
    assert told == []


def test_an_item_is_found_in_its_own_workflow_only(
    workflow: Workflow, other_workflow: Workflow, people: dict[str, Client]
) -> None:
    theirs = make_task(other_workflow).item
    url = reverse("insights:item", kwargs={"slug": workflow.slug, "item_id": theirs.pk})
    assert people["manager"].get(url).status_code == 404
