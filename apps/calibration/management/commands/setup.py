from __future__ import annotations

import getpass
import os
import secrets
import sys
from argparse import ArgumentParser
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.auth.password_validation import password_validators_help_texts, validate_password
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.core.errors import FermataError, FieldProblem, InvalidInput
from apps.core.secrets import is_set
from apps.pipeline.endpoints import CLOUDFLARE_ACCOUNT, CLOUDFLARE_PRICES, cloudflare_secret
from apps.pipeline.setup import (
    MAX_FILE_BYTES,
    WorkflowFile,
    install_workflow,
    read_workflow,
    read_workflow_file,
)
from apps.workflows.models import Endpoint, Workflow
from apps.workflows.services import set_endpoint

EXAMPLE = Path(__file__).resolve().parents[3] / "demo" / "samples" / "leads.toml"
STANDARD_INPUT = Path("-")
MOST_TRIES = 3


class Command(BaseCommand):
    help = (
        "The first day: migrations, an administrator, a workflow with questions, policy and actions from a file, "
        "the endpoint of its model. Safe to run again: says what exists, changes what the file changed, and "
        "leaves a changed policy as a draft for a manager."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "file",
            nargs="?",
            type=Path,
            default=EXAMPLE,
            metavar="FILE",
            help="TOML; - is standard input; default: the sample workflow leads",
        )
        parser.add_argument(
            "--admin",
            metavar="NAME",
            help="operator, and manager of the workflow; default: who operates already",
        )
        parser.add_argument(
            "--password-file", type=Path, help="its first line is the administrator's password"
        )
        parser.add_argument(
            "--no-input", action="store_true", help="ask nothing; a password is made and printed"
        )
        model = parser.add_argument_group("the model; without these an existing workflow keeps its own")
        model.add_argument(
            "--cloudflare", action="store_true", help="Clef on Workers AI, by CLOUDFLARE_… variables"
        )
        model.add_argument("--endpoint", metavar="URL", help="a server with /v1/systemone")
        model.add_argument("--model", metavar="NAME", help="default with Cloudflare: clef")
        model.add_argument(
            "--secret-variable", metavar="NAME", default="", help="the variable holding the token"
        )
        model.add_argument("--price", metavar="USD", help="per million input tokens")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            file = _read(options["file"])
            call_command("migrate", interactive=False, verbosity=0)
            self.stdout.write("Database: every migration applied.")
            # All or nothing; what was made is told after it is there to stay.
            with transaction.atomic():
                messages = _set_up(file, options)
        except InvalidInput as error:
            lines = [f"  {problem.path}: {problem.message}" for problem in error.problems]
            raise CommandError("\n".join(["Nothing was set up.", *lines])) from error
        except FermataError as error:
            raise CommandError(f"Nothing was set up. {error}") from error
        for message in messages:
            self.stdout.write(message)


def _set_up(file: WorkflowFile, options: dict[str, Any]) -> list[str]:
    is_new = not Workflow.objects.filter(slug=file.definition.workflow.slug).exists()
    # The model first: nobody chooses a password for a set-up that then cannot be done.
    endpoint = _endpoint(options, is_new=is_new)
    admin, said = _administrator(options)
    # An existing workflow has its people: somebody joins them only when named.
    owner = admin if is_new or options["admin"] else None
    installed = install_workflow(file=file, endpoint=endpoint, owner=owner, now=timezone.now())
    used = installed.workflow.endpoint
    variables = [name for name in (used.account_variable, used.secret_variable) if name]
    said += [*installed.messages, f"Model: {used.model}, asked at {used.name}."]
    said += [
        f"{name} is not set in this shell: the workers need it."
        for name in variables
        if not is_set(name, os.environ)
    ]
    return said


def _read(path: Path) -> WorkflowFile:
    if path == STANDARD_INPUT:
        return read_workflow(sys.stdin.buffer.read(MAX_FILE_BYTES + 1), "standard input")
    return read_workflow_file(path)


def _administrator(options: dict[str, Any]) -> tuple[User, list[str]]:
    may_ask = not options["no_input"] and options["file"] != STANDARD_INPUT and sys.stdin.isatty()
    name: str | None = options["admin"]
    if name is None:
        known = User.objects.filter(is_operator=True, is_active=True).order_by("pk").first()
        if known is not None:
            return known, [f"Administrator: {known} exists."]
        name = (input("Name of the administrator [admin]: ").strip() if may_ask else "") or "admin"
    user = User.objects.filter(username__iexact=name).first()
    if user is not None:
        return user, _make_operator(user)
    try:
        User(username=name).clean_fields(exclude=["password"])
        password, said = _password(options["password_file"], name, may_ask=may_ask)
        validate_password(password, User(username=name))
        user = User.objects.create_user(name, password, is_operator=True)
    except ValidationError as error:
        raise InvalidInput(FieldProblem("administrator", " ".join(error.messages))) from error
    return user, [f"Administrator: {user} made.", *said]


def _make_operator(user: User) -> list[str]:
    if not user.is_active:
        raise CommandError(f"{user} was deactivated and cannot be the administrator.")
    if user.is_operator:
        return [f"Administrator: {user} exists; the password stays as it is."]
    user.is_operator = True
    user.save(update_fields=["is_operator"])
    return [f"Administrator: {user} exists and is an operator now; the password stays as it is."]


def _password(path: Path | None, name: str, *, may_ask: bool) -> tuple[str, list[str]]:
    if path is not None:
        try:
            return path.read_text(encoding="utf-8").partition("\n")[0].strip(), []
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"{path} cannot be read as a password file.") from error
    if not may_ask:
        made = secrets.token_urlsafe(12)
        return made, [f"Password, shown this once: {made}"]
    return choose_password(User(username=name), ask=getpass.getpass, tell=sys.stderr.write), []


def choose_password(user: User, *, ask: Callable[[str], str], tell: Callable[[str], object]) -> str:
    """One that was typed twice and keeps the rules. Raises CommandError after the third that does not."""
    tell("".join(f"{rule}\n" for rule in password_validators_help_texts()))
    for _ in range(MOST_TRIES):
        password = ask("Password: ")
        try:
            validate_password(password, user)
        except ValidationError as error:
            tell(f"{' '.join(error.messages)}\n")
            continue
        if password == ask("Password again: "):
            return password
        tell("The two passwords differ.\n")
    raise CommandError("Nothing was set up: no password was chosen.")


def _endpoint(options: dict[str, Any], *, is_new: bool) -> Endpoint | None:
    """The endpoint that was asked for; None keeps the workflow's own."""
    if options["endpoint"] and options["cloudflare"]:
        raise CommandError("--endpoint and --cloudflare exclude each other.")
    if options["endpoint"]:
        return _own_endpoint(options)
    if options["cloudflare"] or (is_new and cloudflare_secret(os.environ)):
        return _cloudflare_endpoint(options)
    if is_new:
        raise CommandError(
            "Which model decides? Set CLOUDFLARE_ACCOUNT_ID and CLOUDFLARE_API_TOKEN, or give --endpoint URL "
            "--model NAME, with --secret-variable NAME when it wants a token."
        )
    if options["model"] or options["secret_variable"] or options["price"]:
        raise CommandError(
            "The workflow has a model: to change it say --cloudflare, or --endpoint URL as well."
        )
    return None


def _own_endpoint(options: dict[str, Any]) -> Endpoint:
    if not options["model"]:
        raise CommandError("--endpoint needs --model NAME.")
    return set_endpoint(
        name=f"{options['model']} at {options['endpoint'].partition('://')[2]}"[:80],
        kind="systemone",
        base_url=options["endpoint"],
        model=options["model"],
        secret_variable=options["secret_variable"],
        price_per_million=_price(options["price"] or "0"),
    )


def _cloudflare_endpoint(options: dict[str, Any]) -> Endpoint:
    model = options["model"] or "clef"
    price = _price(options["price"]) if options["price"] else CLOUDFLARE_PRICES.get(model)
    if price is None:
        raise CommandError(f"The price of {model} is not known here: give --price USD.")
    return set_endpoint(
        name=f"Cloudflare {model}"[:80],
        kind="workers-ai",
        base_url=settings.CLOUDFLARE_API_BASE,
        model=model,
        account_variable=CLOUDFLARE_ACCOUNT,
        secret_variable=options["secret_variable"] or cloudflare_secret(os.environ) or "CLOUDFLARE_API_TOKEN",
        price_per_million=price,
    )


def _price(text: str) -> Decimal:
    try:
        price = Decimal(text)
    except InvalidOperation as error:
        raise CommandError("--price must be a number of USD.") from error
    if not price.is_finite() or price < 0:
        raise CommandError("--price must be a number of USD.")
    return price
