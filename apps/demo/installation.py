"""What the demo consists of: people, a model, workflows from `samples/`, and `demo.json`, which tells scripts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection

from apps.accounts.models import User
from apps.clef.local.embeddings import e5_is_installed
from apps.clef.local.reading import E5_MODEL, NGRAM_MODEL
from apps.core.embedded import owner_of
from apps.core.embedded_processes import give, write_private
from apps.pipeline.endpoints import CLOUDFLARE_ACCOUNT, CLOUDFLARE_PRICES
from apps.pipeline.setup import install_workflow, read_workflow_file
from apps.workflows.access import get_token_for
from apps.workflows.models import ApiToken, Endpoint, Role, Scope, Workflow
from apps.workflows.services import create_token, set_endpoint, set_membership

SAMPLES = Path(__file__).parent / "samples"
PASSWORD = "fermata-demo"  # noqa: S105 - known to everybody, which is why the demo listens on loopback only
PEOPLE = {"rosa": "reviewer", "ravi": "reviewer", "mara": "manager", "olga": "operator"}
TOKEN_NAME = "demo"  # noqa: S105 - what the token is called
STAND_IN_MODEL = E5_MODEL if e5_is_installed() else NGRAM_MODEL


def set_model(cloudflare_secret: str | None, *, stand_in_url: str) -> Endpoint:
    """The endpoint of the sample workflows. It is asked at once, whatever it was paused for when the demo ended.

    `cloudflare_secret` names the variable that holds its token; None: the stand-in.
    """
    if cloudflare_secret is None:
        endpoint = set_endpoint(
            name="Stand-in", kind="systemone", base_url=stand_in_url, model=STAND_IN_MODEL
        )
    else:
        endpoint = set_endpoint(
            name="Clef",
            kind="workers-ai",
            base_url=settings.CLOUDFLARE_API_BASE,
            model="clef",
            account_variable=CLOUDFLARE_ACCOUNT,
            secret_variable=cloudflare_secret,
            price_per_million=CLOUDFLARE_PRICES["clef"],
        )
    endpoint.paused_until, endpoint.pause_reason, endpoint.failures_in_a_row = None, "", 0
    endpoint.save()
    return endpoint


def strangers() -> list[str]:
    """A few people of this database who are not the demo's: then it is somebody's real one."""
    if User._meta.db_table not in connection.introspection.table_names():
        return []
    return list(User.objects.exclude(username__in=PEOPLE).values_list("username", flat=True)[:3])


def add_people() -> dict[str, User]:
    """Those who are there keep their password."""
    known = {user.username: user for user in User.objects.filter(username__in=PEOPLE)}
    return {
        name: known.get(name) or User.objects.create_user(name, PASSWORD, is_operator=role == "operator")
        for name, role in PEOPLE.items()
    }


def sample_files() -> list[Path]:
    """Of each sample workflow: those whose items are lines of one file, then those that have a folder of files."""
    folders = sorted(path for path in SAMPLES.iterdir() if (path / f"{path.name}.toml").exists())
    return [
        *sorted(SAMPLES.glob("*.toml")),
        *(folder / f"{folder.name}.toml" for folder in reversed(folders)),
    ]


def install_samples(endpoint: Endpoint, people: Mapping[str, User], *, now: datetime) -> list[Workflow]:
    """One workflow a sample file, with its manager and reviewers."""
    workflows = []
    for path in sample_files():
        installed = install_workflow(
            file=read_workflow_file(path), endpoint=endpoint, owner=people["mara"], now=now
        )
        for name in ("rosa", "ravi"):
            set_membership(user=people[name], workflow=installed.workflow, role=Role.REVIEWER)
        workflows.append(installed.workflow)
    return workflows


def keep_tokens(
    workflows: Sequence[Workflow], user: User, known: Mapping[str, str], *, now: datetime
) -> dict[str, str]:
    """A working token of `user` for each workflow: the known one, else a new one in place of the old."""
    return {workflow.slug: _keep_token(workflow, user, known, now) for workflow in workflows}


def _keep_token(workflow: Workflow, user: User, known: Mapping[str, str], now: datetime) -> str:
    secret = known.get(workflow.slug, "")
    token = get_token_for(secret=secret, now=now) if secret else None
    if token is not None and token.workflow == workflow:
        return secret
    ApiToken.objects.filter(workflow=workflow, user=user, name=TOKEN_NAME, revoked_at=None).update(
        revoked_at=now
    )
    return create_token(workflow=workflow, user=user, name=TOKEN_NAME, scopes=Scope.values)[1]


def known_tokens(path: Path) -> dict[str, str]:
    """Those an earlier start wrote down; none when the file is gone, damaged or not ours to read."""
    try:
        tokens = json.loads(path.read_text(encoding="utf-8"))["tokens"]
        return {str(slug): str(secret) for slug, secret in tokens.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def write_facts(path: Path, *, url: str, tokens: Mapping[str, str], model: str) -> None:
    facts: dict[str, Any] = {
        "url": url,
        "users": [{"username": name, "password": PASSWORD, "role": role} for name, role in PEOPLE.items()],
        "tokens": dict(tokens),
        "model": model,
    }
    whole = path.with_suffix(".new")
    write_private(whole, json.dumps(facts, indent=2) + "\n")
    give(whole, *owner_of(path.parent))
    whole.replace(path)
