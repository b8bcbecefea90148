"""A whole workflow from its file: questions, policy, actions. Safe to run again; says what it found and did."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models import ProtectedError

from apps.accounts.models import User
from apps.actions.models import Action
from apps.core.errors import Conflict, FieldProblem, InvalidInput
from apps.policies.models import Policy
from apps.policies.rules import read_rules
from apps.policies.selectors import active_policy, open_drafts
from apps.policies.services import activate, create_draft
from apps.reviews.guidance import copy_guidance, take_from_file
from apps.workflows.definitions import Definition, read_definition
from apps.workflows.models import Endpoint, Membership, QuestionSet, Role, Workflow
from apps.workflows.selectors import current_question_set
from apps.workflows.services import add_question_set_version, create_workflow, set_membership

MAX_FILE_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class WorkflowFile:
    """A workflow file that was checked; `rules` are in the form that `Policy.rules` stores."""

    definition: Definition
    rules: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Installed:
    """`policy` is the active version; `messages` say in sentences what was made, found or left to people."""

    workflow: Workflow
    created: bool
    question_set: QuestionSet
    policy: Policy
    messages: tuple[str, ...]


def read_workflow_file(path: Path) -> WorkflowFile:
    """Raises InvalidInput when the file cannot be read, is no TOML, or says something that cannot be obeyed."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise InvalidInput(FieldProblem(path.name, f"cannot be read: {error.strerror}")) from error
    return read_workflow(content, path.name)


def read_workflow(content: bytes, name: str) -> WorkflowFile:
    """As `read_workflow_file`, of what was read already; `name` is what problems call it."""
    if len(content) > MAX_FILE_BYTES:
        raise InvalidInput(FieldProblem(name, f"has more than {MAX_FILE_BYTES:,} bytes"))
    try:
        return check_workflow_file(tomllib.loads(content.decode("utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(FieldProblem(name, f"is no TOML file: {error}")) from error


def check_workflow_file(data: Mapping[str, Any]) -> WorkflowFile:
    """`data` is the file's content: `workflow`, `questions`, `policy`. Raises InvalidInput naming each problem."""
    if "policy" not in data:
        raise InvalidInput(FieldProblem("policy", "must be given"))
    definition = read_definition({name: part for name, part in data.items() if name != "policy"})
    try:
        rules = read_rules(data["policy"], definition.to_questions())
    except InvalidInput as error:
        raise InvalidInput(
            *(FieldProblem(f"policy.{problem.path}", problem.message) for problem in error.problems)
        ) from None
    return WorkflowFile(definition, rules)


@transaction.atomic
def install_workflow(
    *, file: WorkflowFile, endpoint: Endpoint | None, owner: User | None, now: datetime
) -> Installed:
    """The workflow of `file`, made or brought up to date; `endpoint` None keeps the one it has.

    A new workflow gets the file's policy in force. In an existing one changed questions become a new version,
    a changed policy becomes a draft: activating it is a manager's decision. Raises InvalidInput, and Conflict
    when the active policy does not fit the new questions or an action that has acted would have to go.
    """
    workflow = (
        Workflow.objects.select_for_update(no_key=True).filter(slug=file.definition.workflow.slug).first()
    )
    if workflow is None:
        return _install_new(file, endpoint, owner, now)
    messages = [*_update_workflow(workflow, file.definition, endpoint), *_add_owner(workflow, owner)]
    question_set, said = _update_questions(workflow, file.definition, owner, now)
    policy, said_of_policy = _update_policy(workflow, file.rules, owner, now)
    messages += [*said, *said_of_policy, *_update_actions(workflow, file.definition)]
    return Installed(workflow, False, question_set, policy, tuple(messages))


def _install_new(
    file: WorkflowFile, endpoint: Endpoint | None, owner: User | None, now: datetime
) -> Installed:
    if endpoint is None:
        raise InvalidInput(FieldProblem("endpoint", "must be given: the workflow does not exist yet"))
    workflow = create_workflow(definition=file.definition, endpoint=endpoint, owner=owner)
    draft = create_draft(workflow=workflow, rules=file.rules, based_on=None, user=owner, note="From its file")
    policy = activate(policy=draft, user=owner, now=now)
    message = f"Workflow {workflow.slug}: made, with questions version 1 and policy version 1 in force."
    question_set = current_question_set(workflow)
    said = [
        *_update_actions(workflow, file.definition),
        *_update_guidelines(question_set, file.definition, owner, now),
    ]
    return Installed(workflow, True, question_set, policy, (message, *said))


def _update_workflow(workflow: Workflow, definition: Definition, endpoint: Endpoint | None) -> list[str]:
    wanted: dict[str, Any] = definition.workflow.model_dump()
    if endpoint is not None:
        wanted["endpoint"] = endpoint
    changed = [name for name, value in wanted.items() if getattr(workflow, name) != value]
    for name in changed:
        setattr(workflow, name, wanted[name])
    workflow.save(update_fields=changed)
    exists = f"Workflow {workflow.slug}: exists"
    return [f"{exists}; changed: {', '.join(changed)}." if changed else f"{exists}, unchanged."]


def _add_owner(workflow: Workflow, owner: User | None) -> list[str]:
    if owner is None or Membership.objects.filter(user=owner, workflow=workflow, role=Role.MANAGER).exists():
        return []
    set_membership(user=owner, workflow=workflow, role=Role.MANAGER)
    return [f"{owner} is a manager of it now."]


def _update_questions(
    workflow: Workflow, definition: Definition, user: User | None, now: datetime
) -> tuple[QuestionSet, list[str]]:
    before = current_question_set(workflow)
    active = active_policy(workflow)
    question_set = add_question_set_version(workflow=workflow, definition=definition, user=user)
    if question_set == before:
        said = [f"Questions: version {before.version}, unchanged."]
    else:
        if active is not None:
            _check_fits(active, definition)
        copy_guidance(before=before, after=question_set)
        said = [f"Questions: changed, version {question_set.version} is asked from now on."]
    return question_set, [*said, *_update_guidelines(question_set, definition, user, now)]


def _update_guidelines(
    question_set: QuestionSet, definition: Definition, user: User | None, now: datetime
) -> list[str]:
    new = take_from_file(question_set=question_set, texts=definition.guidelines, user=user, now=now)
    return [f"Guidelines: {new} new from the file."] if new else []


def _check_fits(active: Policy, definition: Definition) -> None:
    try:
        read_rules(active.rules, definition.to_questions())
    except InvalidInput as error:
        raise Conflict(
            f"The active policy (version {active.version}) speaks of what the new questions do not have "
            f"({error}). Activate a policy without it first, then change the questions."
        ) from error


def _update_policy(
    workflow: Workflow, rules: dict[str, Any], user: User | None, now: datetime
) -> tuple[Policy, list[str]]:
    active = active_policy(workflow)
    if active is not None and active.rules == rules:
        return active, [f"Policy: version {active.version} in force, unchanged."]
    draft = next((draft for draft in open_drafts(workflow) if draft.rules == rules), None)
    if draft is None:
        draft = create_draft(workflow=workflow, rules=rules, based_on=active, user=user, note="From its file")
    if active is None:
        return activate(policy=draft, user=user, now=now), [f"Policy: version {draft.version} in force."]
    return active, [
        f"Policy: the file differs from version {active.version}, which stays in force; "
        f"the file's is version {draft.version}, a draft for a manager to activate."
    ]


def _update_actions(workflow: Workflow, definition: Definition) -> list[str]:
    tags = definition.tags
    labels = {
        label
        for question in definition.to_questions()
        if question.is_routing
        for label in question.option_ids
    }
    actions = {action.label: action for action in Action.objects.filter(workflow=workflow)}
    said = [
        _remove_action(action, is_asked=label in labels)
        for label, action in actions.items()
        if label not in tags
    ]
    for label, tag in tags.items():
        settings = {"tag": tag}
        if label not in actions:
            Action.objects.create(workflow=workflow, label=label, kind=Action.Kind.TAG, settings=settings)
            said.append(f"Action: {label} writes the tag {tag}.")
        elif actions[label].settings != settings:
            Action.objects.filter(pk=actions[label].pk).update(settings=settings)
            said.append(f"Action: {label} writes the tag {tag} from now on.")
    return said


def _remove_action(action: Action, *, is_asked: bool) -> str:
    try:
        action.delete()
    except ProtectedError as error:
        if is_asked:
            raise Conflict(
                f"The action of {action.label} has acted before: its tag can be changed but not taken away."
            ) from error
        # Nothing new can have this label; what it did keeps its action.
        return f"Action: {action.label} is no answer any more; the action stays with what it did."
    return f"Action: {action.label} does nothing from now on."
