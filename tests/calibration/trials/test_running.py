from __future__ import annotations

import json
from datetime import timedelta
from decimal import Decimal

import httpx
import pytest
from django.utils import timezone

from apps.calibration.models import Trial, TrialAnswer
from apps.calibration.trials.running import claim_trial, work_on_next_trial
from apps.calibration.trials.services import ask_again, choices_for, price_of, start_trial
from apps.clef.errors import EndpointMisconfigured
from apps.core.errors import Conflict
from apps.workflows.models import Endpoint, Workflow
from tests.calibration.trials.trialled import answering, make_trial, reply_to, run, with_server
from tests.factories import NOW

pytestmark = pytest.mark.django_db
SAYS_SPAM = answering(lambda text: "spam")


def started(workflow: Workflow, *names: str, content: bytes | None = None) -> Trial:
    trial = make_trial(workflow, content) if content else make_trial(workflow)
    return start_trial(trial=trial, models=choices_for(workflow, names or ("stand-in",)))


def work(client_for: object = SAYS_SPAM, slice_s: float = 20.0) -> bool:
    return work_on_next_trial(now=lambda: NOW, client_for=client_for, slice_s=slice_s)  # type: ignore[arg-type]  # wrong ones on purpose


def test_it_works(workflow: Workflow) -> None:
    Endpoint.objects.update(price_per_million=Decimal("0.25"))
    workflow.refresh_from_db()
    trial = run(make_trial(workflow), SAYS_SPAM, "stand-in")
    assert (trial.status, trial.finished_at, trial.claim_token) == ("done", NOW, None)
    answer = TrialAnswer.objects.filter(trial_model__name="stand-in").first()
    assert answer is not None
    assert (answer.values, answer.model) == ({"intent": "spam", "money": "false"}, "model-1")
    assert (answer.input_tokens, answer.cost) == (100, Decimal("0.000025"))
    assert answer.latency_s is not None


def test_a_slice_ends_and_the_next_goes_on(workflow: Workflow) -> None:
    content = b"id,text,intent\n" + b"".join(b"%d,Hello,spam\n" % number for number in range(70))
    trial = started(workflow, content=content)
    assert work(slice_s=0)
    trial.refresh_from_db()
    assert (trial.status, TrialAnswer.objects.count()) == ("waiting", 32)
    while work():
        pass
    assert TrialAnswer.objects.filter(error="").count() == 70


def test_a_dead_workers_trial_is_taken_up_and_in_the_end_given_up(workflow: Workflow) -> None:
    trial = started(workflow)
    for _ in range(3):
        assert claim_trial(now=NOW) is not None
        assert claim_trial(now=NOW) is None
        Trial.objects.update(claimed_until=timezone.now() - timedelta(seconds=1))
    assert claim_trial(now=NOW) is None
    trial.refresh_from_db()
    assert (trial.status, "3 times" in trial.error) == ("failed", True)


def test_who_lost_the_claim_writes_nothing(workflow: Workflow) -> None:
    started(workflow)

    def respond(request: httpx.Request) -> httpx.Response:
        return httpx.Response(500)

    def late(model: object) -> object:
        Trial.objects.update(claim_token="00000000-0000-0000-0000-000000000001")
        return with_server(respond)(model)  # type: ignore[arg-type]  # passed on as it came

    assert work(late)
    assert not TrialAnswer.objects.filter(trial_model__endpoint__isnull=False).exists()


def test_an_endpoint_in_trouble_ends_its_own_column(workflow: Workflow) -> None:
    content = b"id,text,intent\n" + b"".join(b"%d,Hello,spam\n" % number for number in range(40))
    asked = []

    def respond(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(401, json={"error": "no"})

    trial = run(make_trial(workflow, content), with_server(respond), "stand-in")
    assert (trial.status, TrialAnswer.objects.exclude(error="").count()) == ("done", 40)
    assert len(asked) <= 8
    assert "address, account or key" in TrialAnswer.objects.all()[0].error


def test_what_failed_is_asked_again(workflow: Workflow) -> None:
    trial = run(make_trial(workflow), with_server(lambda _: httpx.Response(401)), "stand-in")
    ask_again(trial=trial)
    assert work()
    assert not TrialAnswer.objects.exclude(error="").exists()
    trial.refresh_from_db()
    with pytest.raises(Conflict, match="nothing to ask again"):
        ask_again(trial=trial)


def test_a_missing_secret_is_an_answer_of_its_own(workflow: Workflow) -> None:
    def no_client(model: object) -> object:
        raise EndpointMisconfigured("the environment variable KEY is not set", code="env.KEY")

    started(workflow)
    assert work(no_client)
    assert "KEY is not set" in TrialAnswer.objects.exclude(error="")[0].error


def test_one_refused_example_stops_no_other(workflow: Workflow) -> None:
    def respond(request: httpx.Request) -> httpx.Response:
        if b"Win a prize" in request.content:
            return httpx.Response(422, json={"detail": "no"})
        return httpx.Response(200, json=reply_to(json.loads(request.content), lambda text: "spam"))

    trial = run(make_trial(workflow), with_server(respond), "stand-in")
    assert trial.status == "done"
    assert TrialAnswer.objects.exclude(error="").count() == 1


def test_the_price_of_another_model_is_the_catalogues_or_unknown(workflow: Workflow) -> None:
    trial = started(workflow, "clef-flash", "mystery")
    prices = {each.name: price_of(each) for each in trial.models.all()}
    assert prices == {"present": None, "clef-flash": Decimal("0.09"), "mystery": None}


def test_given_answers_alone_are_done_at_once(workflow: Workflow) -> None:
    trial = make_trial(workflow)
    start_trial(trial=trial, models=[])
    assert work()
    trial.refresh_from_db()
    assert trial.status == "done"
