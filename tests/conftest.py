"""Four people with names: rosa reviews (and ravi with her), mara manages, ivan integrates, nora belongs to nothing."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from hypothesis import settings as hypothesis_settings
from pytest_django import DjangoDbBlocker
from pytest_socket import socket_allow_hosts

from apps.accounts.models import User
from apps.workflows.models import Role, Workflow
from tests.factories import join, make_user, make_workflow
from tests.template import kept_template

# The machine is shared: a slow example says nothing about the code.
hypothesis_settings.register_profile("fermata", deadline=None)
hypothesis_settings.load_profile("fermata")


def pytest_runtest_setup() -> None:
    """The network is closed; loopback and sockets of the file system stay."""
    socket_allow_hosts(["127.0.0.1", "::1"], allow_unix_socket=True)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings_parallel_suffix: None, django_db_blocker: DjangoDbBlocker
) -> None:
    """A run's own database is a copy of the kept template."""
    with django_db_blocker.unblock():
        connection.settings_dict["TEST"]["TEMPLATE"] = kept_template()


@pytest.fixture
def workflow(db: None) -> Workflow:
    return make_workflow()


@pytest.fixture
def other_workflow(workflow: Workflow) -> Workflow:
    return make_workflow("elsewhere")


@pytest.fixture
def rosa(workflow: Workflow) -> User:
    return _member("rosa", workflow, Role.REVIEWER)


@pytest.fixture
def ravi(workflow: Workflow) -> User:
    return _member("ravi", workflow, Role.REVIEWER)


@pytest.fixture
def mara(workflow: Workflow) -> User:
    return _member("mara", workflow, Role.MANAGER)


@pytest.fixture
def nora(db: None) -> User:
    return make_user("nora")


@pytest.fixture
def olga(db: None) -> User:
    return make_user("olga", is_operator=True)


def _member(name: str, workflow: Workflow, role: Role) -> User:
    user = make_user(name)
    join(user, workflow, role)
    return user


class SignIn:
    """`signed_in(rosa)` is rosa's browser, as far as Django's client can be one."""

    def __call__(self, user: User) -> Client:
        client = Client()
        client.force_login(user)
        return client


@pytest.fixture
def signed_in() -> SignIn:
    return SignIn()
