from __future__ import annotations

from pathlib import Path

import pytest
from django.core.management.base import CommandError

from apps.policies.files import from_toml, to_toml
from apps.policies.models import Policy
from apps.workflows.models import Workflow
from tests.calibration.commands import run
from tests.factories import RULES

pytestmark = pytest.mark.django_db


@pytest.fixture
def wider(tmp_path: Path) -> str:
    path = tmp_path / "wider.toml"
    path.write_text(to_toml(RULES | {"margin": 0.3}), encoding="utf-8")
    return str(path)


def test_it_works(workflow: Workflow) -> None:
    assert from_toml(run("policy", "export", "--workflow", "leads")) == RULES


def test_a_file_goes_out_and_comes_in(workflow: Workflow, tmp_path: Path) -> None:
    path = str(tmp_path / "policy.toml")
    run("policy", "export", "--workflow", "leads", path)

    assert "say the same" in run("policy", "diff", "--workflow", "leads", path)
    assert "Version 2 is a draft" in run("policy", "import", "--workflow", "leads", path)


def test_import_activates_nothing(workflow: Workflow, wider: str) -> None:
    run("policy", "import", "--workflow", "leads", wider)

    draft = workflow.policies.get(version=2)
    assert (draft.status, draft.rules["margin"]) == (Policy.Status.DRAFT, 0.3)
    assert draft.based_on == workflow.policies.get(version=1)


def test_diff_with_the_newest_draft(
    workflow: Workflow, wider: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run("policy", "import", "--workflow", "leads", wider)

    with pytest.raises(SystemExit) as ended:
        run("policy", "diff", "--workflow", "leads")

    assert ended.value.code == 1


def test_an_older_version_can_be_exported(workflow: Workflow, wider: str) -> None:
    run("policy", "import", "--workflow", "leads", wider)

    assert "margin = 0.3" in run("policy", "export", "--workflow", "leads", "--version-number", "2")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("export", "--workflow", "nothing"), "no workflow nothing"),
        (("export", "--workflow", "leads", "--version-number", "9"), "no version 9"),
        (("export", "--workflow", "leads", "/nowhere/x.toml"), "cannot be written"),
        (("import", "--workflow", "leads"), "which FILE"),
        (("import", "--workflow", "leads", "/nowhere/x.toml"), "cannot be read"),
        (("diff", "--workflow", "leads"), "no draft"),
    ],
)
def test_what_is_refused(workflow: Workflow, arguments: tuple[str, ...], said: str) -> None:
    with pytest.raises(CommandError, match=said) as refused:
        run("policy", *arguments)

    assert refused.value.returncode == 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xff", "no UTF-8"),
        (b"[policy", "no TOML"),
        (b"[policy]\nmargin = nan", "margin: must be a finite number"),
        (b"[policy.labels.nope]\nthreshold = 0.5\nautonomy = 'suggest'", "margin: must be given"),
    ],
)
def test_files_that_are_refused(workflow: Workflow, tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "policy.toml"
    path.write_bytes(content)

    with pytest.raises(CommandError, match=said):
        run("policy", "import", "--workflow", "leads", str(path))

    assert workflow.policies.count() == 1
