from __future__ import annotations

import uuid
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from apps.core.errors import FermataError
from apps.core.secrets import SecretMissing
from apps.outbox.events import EVENT_TYPES, MAILED_TYPES
from apps.outbox.letters import NO_SERVER, mail_event, mail_is_on
from apps.outbox.models import Event, Subscription
from apps.outbox.posting import Outcome, post_event, signers
from apps.outbox.subscribing import save_subscription
from apps.workflows.models import Workflow


class Command(BaseCommand):
    help = (
        "Tells an address of yours, or people by mail, what happens in a workflow; for an address that is there, "
        "changes what it is told. The signing secret is named, not given: the name of an environment variable that "
        "workers have, or NAME_FILE of a file. Example: add_subscription --workflow support "
        "--webhook https://example.org/fermata --secret-variable FERMATA_HOOK_SECRET --events item.settled --try"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--workflow", required=True, metavar="SLUG")
        where = parser.add_mutually_exclusive_group(required=True)
        where.add_argument("--webhook", metavar="URL")
        where.add_argument("--mail", metavar="ADDRESS")
        parser.add_argument(
            "--secret-variable", default="", metavar="NAME", help="for webhooks: holds whsec_…"
        )
        parser.add_argument(
            "--events",
            default="",
            help=f"separated by commas; of {', '.join(EVENT_TYPES)}; without it: {', '.join(MAILED_TYPES)}",
        )
        parser.add_argument("--try", action="store_true", help="send it something now, of the type test")
        parser.add_argument("--remove", action="store_true", help="with all that waits for it")

    def handle(self, *args: Any, **options: Any) -> None:
        workflow = Workflow.objects.filter(slug=options["workflow"]).first()
        if workflow is None:
            known = ", ".join(Workflow.objects.order_by("slug").values_list("slug", flat=True)) or "none yet"
            raise CommandError(f"There is no workflow {options['workflow']!r}; there are: {known}.")
        kind = Subscription.Kind.WEBHOOK if options["webhook"] else Subscription.Kind.MAIL
        address = options["webhook"] or options["mail"]
        if options["remove"]:
            self._remove(workflow, kind, address)
            return
        events = [each.strip() for each in options["events"].split(",") if each.strip()] or MAILED_TYPES
        try:
            subscription, is_new = save_subscription(
                workflow=workflow,
                kind=kind,
                address=address,
                events=events,
                secret_variable=options["secret_variable"],
            )
        except FermataError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(
            f"{address} {'is told' if is_new else 'is told from now on'} {', '.join(subscription.events)}."
        )
        self._warn(subscription)
        if options["try"]:
            self._try(subscription)

    def _remove(self, workflow: Workflow, kind: str, address: str) -> None:
        found = Subscription.objects.filter(workflow=workflow, kind=kind, address=address)
        if not found.delete()[0]:
            raise CommandError(f"{workflow.slug} has no such subscription.")
        self.stdout.write(f"{address} is told nothing any more.")

    def _warn(self, subscription: Subscription) -> None:
        if subscription.kind == Subscription.Kind.MAIL:
            if not mail_is_on():
                self.stderr.write(NO_SERVER)
            return
        try:
            signers(subscription.secret_variable)
        except SecretMissing as error:
            self.stderr.write(f"Here {error}; workers need it.")

    def _try(self, subscription: Subscription) -> None:
        """Straight from here: nothing is kept of it."""
        event = Event(
            workflow=subscription.workflow,
            public_id=uuid.uuid4(),
            type="test",
            data={
                "workflow": subscription.workflow.slug,
                "text": "A test: this address is told what happens.",
            },
            created_at=timezone.now(),
        )
        if subscription.kind == Subscription.Kind.MAIL:
            outcome: Outcome = mail_event(event, subscription)
        else:
            outcome = post_event(event, subscription, allow_private=settings.ALLOW_PRIVATE_WEBHOOKS)
        if not outcome.is_sent:
            raise CommandError(f"The test did not get through. {outcome.error}")
        self.stdout.write("The test got through.")
