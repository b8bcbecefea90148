"""Trials for tests: examples of the workflow of tests.factories, and a model that is a function."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any

import httpx

from apps.accounts.models import User
from apps.calibration.models import Trial, TrialModel
from apps.calibration.trials.files import Example, read_examples
from apps.calibration.trials.running import AT_ONCE, ClientFor, work_on_next_trial
from apps.calibration.trials.services import choices_for, create_trial, start_trial
from apps.clef.client import ClefClient
from apps.pipeline.endpoints import to_settings
from apps.workflows.models import Workflow
from apps.workflows.selectors import current_question_set
from tests.factories import NOW

CSV = (
    b"external_id,text,intent,money,out_of_scope,present\n"
    b"1,I want to buy,lead,yes,,lead\n"
    b"2,Where is my order,customer,no,,spam\n"
    b"3,Win a prize,spam,yes,,spam\n"
    b"4,Open on Sunday?,,no,yes,lead\n"
)
Says = Callable[[str], str]
"""From a text to the option of `intent` the model finds most probable."""


def examples_of(workflow: Workflow, content: bytes = CSV, name: str = "examples.csv") -> list[Example]:
    questions = list(current_question_set(workflow).questions.all())
    return read_examples(BytesIO(content), content, name=name, questions=questions)


def make_trial(
    workflow: Workflow, content: bytes = CSV, *, user: User | None = None, name: str = "examples.csv"
) -> Trial:
    return create_trial(
        workflow=workflow, name="March", examples=examples_of(workflow, content, name), user=user, now=NOW
    )


def answering(says: Says, **more: Any) -> ClientFor:
    """Clients of a server that answers `intent` as `says` does, and no to `money`."""

    def respond(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json=reply_to(json.loads(request.content), says) | more)

    return with_server(respond)


def with_server(respond: Callable[[httpx.Request], httpx.Response]) -> ClientFor:
    def client_for(model: TrialModel) -> ClefClient:
        assert model.endpoint is not None
        return ClefClient(
            to_settings(model.endpoint),
            pool_size=AT_ONCE,
            transport=httpx.MockTransport(respond),
            sleep=lambda _: None,
        )

    return client_for


def reply_to(body: Mapping[str, Any], says: Says) -> dict[str, Any]:
    said = says(body["state"])
    others = [each for each in ("lead", "customer", "spam", "other") if each != said]
    intent = {said: 0.7} | dict.fromkeys(others, 0.1)
    return {
        "model": "model-1",
        "usage": {"input_tokens": 100, "output_tokens": 0},
        "answers": {
            "intent": {"type": "choice", "choice": said, "probabilities": intent, "confidence": 0.36},
            "money": {"type": "noul", "noul": 0.2},
        },
    }


def run(trial: Trial, client_for: ClientFor, *names: str) -> Trial:
    """Started with these models and worked on until nothing waits."""
    start_trial(trial=trial, models=choices_for(trial.workflow, names))
    while work_on_next_trial(now=lambda: NOW, client_for=client_for):
        pass
    trial.refresh_from_db()
    return trial
