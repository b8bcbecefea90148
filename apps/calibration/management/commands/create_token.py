from __future__ import annotations

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from apps.accounts.models import User
from apps.core.errors import InvalidInput
from apps.workflows.models import Scope, Workflow
from apps.workflows.services import create_token


class Command(BaseCommand):
    help = "Makes an API token and prints it once, alone on standard output; it cannot be shown again."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--user", required=True, help="the member it acts as")
        parser.add_argument("--workflow", required=True, metavar="SLUG")
        parser.add_argument("--name", default="from the shell", help="shown in the list of tokens")
        parser.add_argument(
            "--scope",
            action="append",
            choices=Scope.values,
            help="repeat for several; default: ingest and read",
        )
        parser.add_argument("--days", type=int, help="how long it is valid; default: until it is revoked")

    def handle(self, *args: Any, **options: Any) -> None:
        workflow = Workflow.objects.filter(slug=options["workflow"]).first()
        user = User.objects.filter(username__iexact=options["user"], is_active=True).first()
        if workflow is None:
            raise CommandError(f"There is no workflow {options['workflow']}.")
        if user is None:
            raise CommandError(f"There is no active person {options['user']}.")
        days = options["days"]
        if days is not None and not 1 <= days <= 36_500:
            raise CommandError("--days must be 1 to 36500.")
        try:
            token, secret = create_token(
                workflow=workflow,
                user=user,
                name=options["name"],
                scopes=options["scope"] or [Scope.INGEST, Scope.READ],
                expires_at=timezone.now() + timedelta(days=days) if days else None,
            )
        except InvalidInput as error:
            raise CommandError(str(error)) from error
        self.stderr.write(
            f"Token {token.prefix}… of {user} for {workflow.slug}: {', '.join(token.scopes)}. Keep it now."
        )
        self.stdout.write(secret)
