from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.core.errors import FermataError
from apps.policies.files import from_toml, to_toml
from apps.policies.models import Policy
from apps.policies.readable import policy_diff
from apps.policies.rules import PolicyFile, read_rules
from apps.policies.selectors import active_policy, open_drafts
from apps.policies.services import create_draft
from apps.workflows.models import Question, Workflow
from apps.workflows.selectors import current_question_set

UNUSABLE = 2
DIFFERENT = 1
_ACTIONS = {
    "export": "write the active version",
    "import": "make a draft, which a manager can activate",
    "diff": "compare the active version with FILE, or with the newest draft; exit 1 when they differ",
}


class Command(BaseCommand):
    help = "A policy as a readable file."

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        for name, what in _ACTIONS.items():
            action = actions.add_parser(name, help=what)
            action.add_argument("--workflow", required=True, metavar="SLUG")
            action.add_argument("file", nargs="?", metavar="FILE", help="TOML; - is standard input or output")
            if name == "export":
                action.add_argument(
                    "--version-number", type=int, metavar="N", help="instead of the active one"
                )

    def handle(self, *args: Any, **options: Any) -> None:
        workflow = Workflow.objects.filter(slug=options["workflow"]).first()
        if workflow is None:
            raise CommandError(f"There is no workflow {options['workflow']}.", returncode=UNUSABLE)
        file: str | None = options["file"]
        try:
            if options["action"] == "export":
                self._export(_version(workflow, options["version_number"]), file)
            elif options["action"] == "import":
                self._import(workflow, file)
            else:
                self._diff(workflow, file)
        except FermataError as error:
            raise CommandError(str(error), returncode=UNUSABLE) from error

    def _export(self, policy: Policy, file: str | None) -> None:
        # The database keeps no order of names; the file has that of PolicyFile.
        rules = PolicyFile.model_validate(policy.rules).to_stored()
        text = f"# {policy.workflow.slug}, version {policy.version}, {policy.status}\n\n{to_toml(rules)}"
        if file is None or file == "-":
            self.stdout.write(text, ending="")
            return
        try:
            Path(file).write_text(text, encoding="utf-8")
        except OSError as error:
            raise CommandError(f"{file} cannot be written: {error.strerror}.", returncode=UNUSABLE) from error

    def _import(self, workflow: Workflow, file: str | None) -> None:
        if file is None:
            raise CommandError("Say which FILE to import; - is standard input.", returncode=UNUSABLE)
        rules = read_rules(from_toml(_text(file)), _questions(workflow))
        note = f"Imported from {Path(file).name}"[:300] if file != "-" else "Imported"
        draft = create_draft(
            workflow=workflow, rules=rules, based_on=active_policy(workflow), user=None, note=note
        )
        self.stdout.write(f"Version {draft.version} is a draft. Activate it on /w/{workflow.slug}/policy/.")

    def _diff(self, workflow: Workflow, file: str | None) -> None:
        active, questions = _version(workflow, None), _questions(workflow)
        if file is not None:
            name, rules = file, read_rules(from_toml(_text(file)), questions)
        else:
            draft = open_drafts(workflow).first()
            if draft is None:
                raise CommandError("There is no draft to compare with; name a FILE.", returncode=UNUSABLE)
            name, rules = f"version {draft.version}", draft.rules
        changes = policy_diff(active.rules, rules, questions)
        for change in changes:
            self.stdout.write(f"{change.path}: {change.old} → {change.new}")
        if changes:
            sys.exit(DIFFERENT)
        self.stdout.write(f"Version {active.version} and {name} say the same.")


def _version(workflow: Workflow, number: int | None) -> Policy:
    if number is None:
        policy = active_policy(workflow)
    else:
        policy = Policy.objects.filter(workflow=workflow, version=number).first()
    if policy is None:
        what = "active policy" if number is None else f"version {number}"
        raise CommandError(f"{workflow.slug} has no {what}.", returncode=UNUSABLE)
    return policy


def _questions(workflow: Workflow) -> list[Question]:
    return list(current_question_set(workflow).questions.all())


def _text(file: str) -> str:
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return data.decode("utf-8")
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}.", returncode=UNUSABLE) from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{file} is no UTF-8 text: {error.reason}.", returncode=UNUSABLE) from error
