from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest

from apps import demo
from apps.accounts.models import User
from apps.actions.models import Action, ActionRun
from apps.core.errors import Conflict, InvalidInput
from apps.pipeline.setup import Installed, check_workflow_file, install_workflow, read_workflow_file
from apps.policies.models import Policy
from apps.policies.selectors import active_policy
from apps.policies.services import activate, create_draft
from apps.workflows.models import Endpoint, Membership, Role, Workflow
from tests.factories import NOW, make_endpoint, make_item, make_route, make_user
from tests.workflows.files import choice, policy, workflow_file

pytestmark = pytest.mark.django_db
SAMPLES = Path(demo.__file__).parent / "samples"


@pytest.fixture
def endpoint() -> Endpoint:
    return make_endpoint()


@pytest.fixture
def owner() -> User:
    return make_user("mara")


@pytest.fixture
def installed(endpoint: Endpoint, owner: User) -> Installed:
    return install_workflow(
        file=check_workflow_file(workflow_file()), endpoint=endpoint, owner=owner, now=NOW
    )


def again(owner: User, **more: Any) -> Installed:
    return install_workflow(
        file=check_workflow_file(workflow_file(**more)), endpoint=None, owner=owner, now=NOW
    )


def tags() -> dict[str, str]:
    return {action.label: action.settings["tag"] for action in Action.objects.all()}


def test_it_works(installed: Installed, owner: User) -> None:
    assert installed.created
    assert (installed.question_set.version, installed.question_set.questions.count()) == (1, 2)
    assert (installed.policy.version, installed.policy.status) == (1, Policy.Status.ACTIVE)
    assert tags() == {"lead": "lead", "spam": "spam"}
    assert Membership.objects.get(user=owner).role == Role.MANAGER


@pytest.mark.parametrize("sample", sorted(path.name for path in SAMPLES.glob("*.toml")))
def test_every_sample_installs(sample: str, endpoint: Endpoint, owner: User) -> None:
    file = read_workflow_file(SAMPLES / sample)

    assert install_workflow(file=file, endpoint=endpoint, owner=owner, now=NOW).created


def test_a_second_run_changes_nothing(installed: Installed, owner: User) -> None:
    second = again(owner)

    assert (second.created, second.policy, second.question_set) == (
        False,
        installed.policy,
        installed.question_set,
    )
    assert Policy.objects.count() == 1
    assert all("unchanged" in message for message in second.messages)


def test_changed_questions_are_a_new_version(installed: Installed, owner: User) -> None:
    questions = [choice(instructions="What kind of mail is it?"), workflow_file()["questions"][1]]

    second = again(owner, questions=questions)

    assert (second.question_set.version, second.question_set.is_current) == (2, True)
    assert installed.workflow.question_sets.filter(is_current=True).count() == 1


def test_a_changed_policy_is_a_draft_made_once(installed: Installed, owner: User) -> None:
    changed = policy(margin=0.2)

    again(owner, policy=changed)
    second = again(owner, policy=changed)

    assert second.policy == installed.policy
    assert [each.status for each in Policy.objects.order_by("version")] == ["active", "draft"]


def test_questions_that_the_active_policy_needs_stay(installed: Installed, owner: User) -> None:
    with pytest.raises(Conflict, match=r"version 1.*holds\[0\]\.question"):
        again(owner, questions=[choice()], policy=policy(overrides=[], holds=[]))

    assert installed.workflow.question_sets.count() == 1


def test_a_changed_tag_changes_the_action_alone(installed: Installed, owner: User) -> None:
    options = choice()["options"]
    options[1]["tag"] = "junk"

    second = again(owner, questions=[choice(options=options), workflow_file()["questions"][1]])

    assert tags() == {"lead": "lead", "spam": "junk"}
    assert second.question_set.version == 1


def test_a_tag_taken_away_takes_the_action(installed: Installed, owner: User) -> None:
    options = choice()["options"]
    del options[1]["tag"]

    again(owner, questions=[choice(options=options), workflow_file()["questions"][1]])

    assert tags() == {"lead": "lead"}


@pytest.fixture
def acted(installed: Installed) -> ActionRun:
    item = make_item(installed.workflow)
    route = make_route(item)
    return ActionRun.objects.create(
        item=item,
        action=Action.objects.get(label="spam"),
        route=route,
        started_by="people",
        settings={"tag": "spam"},
        not_before=NOW,
        idempotency_key=uuid.uuid4(),
        created_at=NOW,
    )


def test_a_tag_that_was_written_is_not_taken_away(acted: ActionRun, owner: User) -> None:
    options = choice()["options"]
    del options[1]["tag"]

    with pytest.raises(Conflict, match="action of spam has acted before"):
        again(owner, questions=[choice(options=options), workflow_file()["questions"][1]])


def test_an_answer_that_is_gone_leaves_its_past(acted: ActionRun, owner: User) -> None:
    activate_rules(acted.item.workflow, labels={}, costs={})
    options = [option for option in choice()["options"] if option["id"] != "spam"]

    second = again(
        owner,
        questions=[choice(options=options), workflow_file()["questions"][1]],
        policy=policy(labels={}, costs={}),
    )

    assert "Action: spam is no answer any more; the action stays with what it did." in second.messages


def activate_rules(workflow: Workflow, **changed: Any) -> None:
    draft = create_draft(
        workflow=workflow, rules=policy(**changed), based_on=active_policy(workflow), user=None
    )
    activate(policy=draft, user=None, now=NOW)


def test_words_about_a_workflow_are_updated(installed: Installed, owner: User) -> None:
    second = again(owner, workflow={"slug": "mail", "name": "<script>alert(1)</script>", "time_zone": "UTC"})

    assert second.messages[0] == "Workflow mail: exists; changed: name, time_zone."


def test_a_new_workflow_needs_an_endpoint(owner: User) -> None:
    with pytest.raises(InvalidInput, match="endpoint"):
        again(owner)


def test_paths_are_those_of_the_file() -> None:
    with pytest.raises(InvalidInput) as refused:
        check_workflow_file(workflow_file(policy=policy(labels={"spam": {"threshold": float("nan")}})))

    assert [problem.path for problem in refused.value.problems] == [
        "policy.labels.spam.threshold",
        "policy.labels.spam.autonomy",
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"[workflow\n", "is no TOML file"),
        (b'name = "\xff"', "is no TOML file"),
        (b"a = " + b"[" * 20_000, "is no TOML file"),
        (b"#" * 1_000_001, "1,000,000 bytes"),
        (b"", "policy: must be given"),
    ],
)
def test_files_that_are_none(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(content)

    with pytest.raises(InvalidInput, match=said):
        read_workflow_file(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"nowhere\.toml: cannot be read"):
        read_workflow_file(tmp_path / "nowhere.toml")
