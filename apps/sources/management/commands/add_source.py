from __future__ import annotations

import os
from argparse import ArgumentParser
from collections import defaultdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.urls import reverse

from apps.core.errors import FermataError
from apps.core.secrets import is_set, secret
from apps.sources.configuring import SETTINGS, save_source
from apps.sources.mailbox.connection import Mailbox
from apps.sources.mailbox.settings import imap_settings
from apps.sources.models import Source
from apps.sources.webhooks.working import pause, resume
from apps.workflows.models import Workflow

SHOWN_FOLDERS = 50


class Command(BaseCommand):
    help = (
        "Adds a mailbox that is read or an address that others post to; for a name that is there, changes what is "
        "given. Secrets are named, not given: the setting holds the name of an environment variable that workers "
        "and the web process have, or NAME_FILE of a file. Example: add_source --workflow support --kind imap "
        "--name desk --set host=imap.gmail.com --set user=desk@example.org --set password_variable=DESK_PASSWORD "
        "--try"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--workflow", required=True, metavar="SLUG")
        parser.add_argument("--name", required=True)
        parser.add_argument("--kind", choices=list(SETTINGS), help="needed for a new one")
        parser.add_argument(
            "--set",
            action="append",
            default=[],
            metavar="KEY=VALUE",
            help="; ".join(f"{kind}: {', '.join(model.model_fields)}" for kind, model in SETTINGS.items())
            + ". Several folders: several times folders=…",
        )
        parser.add_argument("--try", action="store_true", help="look at the mailbox once, reading no mail")
        change = parser.add_mutually_exclusive_group()
        change.add_argument("--pause", action="store_true", help="a mailbox is not read; posts are kept")
        change.add_argument("--resume", action="store_true")
        change.add_argument("--remove", action="store_true", help="its items stay")

    def handle(self, *args: Any, **options: Any) -> None:
        workflow = Workflow.objects.filter(slug=options["workflow"]).first()
        if workflow is None:
            known = ", ".join(Workflow.objects.order_by("slug").values_list("slug", flat=True)) or "none yet"
            raise CommandError(f"There is no workflow {options['workflow']!r}; there are: {known}.")
        try:
            if not (options["pause"] or options["resume"] or options["remove"]):
                self._save(workflow, options)
                return
            source = _existing(workflow, options["name"])
            self._change(source, options)
        except FermataError as error:
            raise CommandError(str(error)) from error

    def _change(self, source: Source, options: dict[str, Any]) -> None:
        if options["remove"]:
            source.delete()
            self.stdout.write(f"{source.name} is removed; its items stay.")
        elif options["pause"]:
            pause(source=source)
            self.stdout.write(f"{source.name} is paused.")
        else:
            resume(source=source)
            self.stdout.write(f"{source.name} goes on.")

    def _save(self, workflow: Workflow, options: dict[str, Any]) -> None:
        kind = options["kind"] or _existing(workflow, options["name"]).kind
        source, is_new = save_source(
            workflow=workflow, kind=kind, name=options["name"], given=_given(options["set"])
        )
        self.stdout.write(f"{source.name} is {'added' if is_new else 'there'}: {source.get_kind_display()}.")
        if source.kind != Source.Kind.IMAP:
            path = reverse("sources:hook", args=[source.public_id])
            self.stdout.write(f"Post to {path} of this site.")
        else:
            self.stdout.write(f"Workers look every {source.settings['poll_seconds']} s, and change nothing.")
        for name, variable in source.settings.items():
            if name.endswith("_variable") and variable and not is_set(variable, os.environ):
                self.stderr.write(f"{variable} is not set here; web process and workers need it.")
        if options["try"]:
            self._try(source)

    def _try(self, source: Source) -> None:
        if source.kind != Source.Kind.IMAP:
            raise CommandError("--try is for mailboxes: others post by themselves.")
        settings = imap_settings(source)
        with Mailbox(settings, secret(settings.password_variable)) as mailbox:
            found = mailbox.folders(most=SHOWN_FOLDERS)
            for folder in settings.folders:
                mailbox.examine(folder)
        self.stdout.write(f"{settings.user} is let in. Folders, with mails in each:")
        for name, mails in found:
            is_read = "read" if name in settings.folders else "not read"
            printable = "".join(each if each.isprintable() else "�" for each in name)
            self.stdout.write(f"  {printable}: {mails:,} ({is_read})")


def _existing(workflow: Workflow, name: str) -> Source:
    source = Source.objects.filter(workflow=workflow, name=name).first()
    if source is None:
        known = ", ".join(workflow.sources.order_by("name").values_list("name", flat=True)) or "none yet"
        raise CommandError(
            f"{workflow.slug} has no source {name!r}; it has: {known}. A new one needs --kind."
        )
    return source


def _given(settings: list[str]) -> dict[str, list[str]]:
    given: dict[str, list[str]] = defaultdict(list)
    for each in settings:
        key, equals, value = each.partition("=")
        if not equals:
            raise CommandError(f"--set {each!r} is not KEY=VALUE.")
        given[key.strip()].append(value)
    return given
