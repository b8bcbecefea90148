"""In which language an item is: as its source says, else as its workflow's items are."""

from __future__ import annotations

from typing import Any

import pytest

from apps.items.models import Item
from apps.pipeline.incoming import Incoming, IncomingMail
from apps.pipeline.intake import add_items
from apps.workflows.models import Workflow
from tests.factories import NOW


def added(workflow: Workflow, **more: Any) -> str:
    intake = add_items(workflow=workflow, incoming=[Incoming("a", "Hello", **more)], source="test", now=NOW)
    return Item.objects.get(pk=intake.added[0].item_id).language


def mail(*headers: tuple[str, str]) -> IncomingMail:
    return IncomingMail(headers=headers, parts=(), html="", sha256="0" * 64, size=1)


def test_it_works(workflow: Workflow) -> None:
    assert added(workflow, metadata={"language": "pt_br"}) == "pt-BR"


@pytest.mark.parametrize("said", ["Portuguese", "", 7, None, {"a": 1}])
def test_what_says_none_is_in_the_workflows(workflow: Workflow, said: object) -> None:
    Workflow.objects.update(content_language="ar")
    workflow.refresh_from_db()
    assert added(workflow, metadata={"language": said}) == "ar"


def test_a_mail_says_it_in_a_header(workflow: Workflow) -> None:
    assert added(workflow, mail=mail(("Subject", "Hi"), ("content-Language", "de-AT"))) == "de-AT"


def test_metadata_count_before_the_header(workflow: Workflow) -> None:
    more = {"metadata": {"language": "fr"}, "mail": mail(("Content-Language", "de"))}
    assert added(workflow, **more) == "fr"


def test_of_no_one_language_is_for_everybody(workflow: Workflow) -> None:
    assert added(workflow, metadata={"language": "mul"}) == ""
