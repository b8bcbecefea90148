from __future__ import annotations

from re import sub

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from apps.accounts.models import User
from apps.calibration.models import Trial, TrialExample
from apps.calibration.trials.running import work_on_next_trial
from apps.pipeline.limits import MAX_TRIAL_FILE_BYTES
from apps.workflows.models import Workflow
from tests.calibration.trials.trialled import CSV, answering, make_trial, run
from tests.conftest import SignIn
from tests.factories import NOW

pytestmark = pytest.mark.django_db
BASE = "/w/leads/calibration/trials/"


@pytest.fixture
def client(mara: User, signed_in: SignIn) -> Client:
    return signed_in(mara)


def read(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200
    return sub(r"\s+", " ", sub(r"<[^>]+>", " ", response.content.decode()))


def send(client: Client, content: bytes = CSV, **more: object) -> int:
    said = {"name": "March", "origin": "file", "size": 50, "seed": 1} | more
    response = client.post(f"{BASE}new/", said | {"file": SimpleUploadedFile("a.csv", content)})
    return response.status_code


def test_it_works(client: Client) -> None:
    assert "column named like" not in read(client, f"{BASE}new/")
    assert send(client) == 302
    trial = Trial.objects.get()
    page = f"{BASE}{trial.pk}/"
    assert "4, 0 of them without a label" in read(client, page)
    assert client.post(f"{page}start/", {"models": ["stand-in"]}).status_code == 302
    assert "of 4 asked" in read(client, page)
    assert work_on_next_trial(now=lambda: NOW, client_for=answering(lambda text: "spam"))
    results = read(client, page)
    assert "2 wrong of 3: the true error could still be up to 98.3%." in results
    assert "so few examples cannot tell them apart" in results
    assert "1 of 3" in results
    assert "choice S2" in results
    assert "March" in read(client, BASE)


def test_what_is_wrong_with_a_file_is_shown(client: Client) -> None:
    assert send(client, b"id,text,intent\n1,Hello,<b>junk\n") == 422
    assert not Trial.objects.exists()


def test_a_body_that_is_too_large_is_not_read(client: Client) -> None:
    response = client.post(f"{BASE}new/", {}, headers={"Content-Length": str(MAX_TRIAL_FILE_BYTES * 2)})
    assert response.status_code == 413


def test_items_with_answers_are_a_source(client: Client) -> None:
    assert send(client, origin="labelled") == 422
    assert send(client, origin="recent", size=0) == 422


def test_the_desk_asks_one_question_a_key(workflow: Workflow, rosa: User, signed_in: SignIn) -> None:
    trial = make_trial(workflow, b"id,text,intent\n1,Hello there,\n2,Hi,\n")
    desk, person = f"{BASE}{trial.pk}/label/", signed_in(rosa)
    assert "Hello there" in read(person, desk)
    first = TrialExample.objects.get(external_id="1")
    half = {"example": str(first.pk), "q:intent": "o:spam"}
    assert "Question 2 of 2" in sub(r"<[^>]+>", " ", person.post(desk, half).content.decode())
    assert not TrialExample.objects.filter(truth__isnull=False).exists()
    person.post(desk, half | {"q:money": "cannot_tell"})
    assert TrialExample.objects.get(truth={"intent": "spam"}, labelled_by=rosa) == first
    person.post(f"{desk}undo/")
    assert not TrialExample.objects.filter(truth__isnull=False).exists()


def test_the_desk_tells_nothing_of_any_answer(workflow: Workflow, rosa: User, signed_in: SignIn) -> None:
    trial = make_trial(workflow, b"id,text,intent,present\n1,Hello,,Newsletter\n")
    page = signed_in(rosa).get(f"{BASE}{trial.pk}/label/").content.decode()
    assert "Hello" in page
    assert "Newsletter" not in page
    assert "Suggested" not in page


def test_a_colleague_who_was_faster_is_told(workflow: Workflow, rosa: User, signed_in: SignIn) -> None:
    trial = make_trial(workflow, b"id,text,intent\n1,Hello,\n")
    said = {"example": str(TrialExample.objects.get().pk), "q:intent": "o:spam", "q:money": "o:true"}
    desk = f"{BASE}{trial.pk}/label/"
    assert signed_in(rosa).post(desk, said).status_code == 200
    assert signed_in(rosa).post(desk, said).status_code == 409


def test_an_unlabelled_trial_does_not_start(client: Client, workflow: Workflow) -> None:
    trial = make_trial(workflow, b"id,text,intent\n1,Hello,\n")
    assert client.post(f"{BASE}{trial.pk}/start/", {"models": ["stand-in"]}).status_code == 409
    assert client.post(f"{BASE}{trial.pk}/start/", {"models": ["nowhere"]}).status_code == 422


def test_what_people_wrote_is_escaped(client: Client, workflow: Workflow) -> None:
    content = b"id,text,intent,present\n<script>x,Hello,spam,<img src=x>\n"
    trial = run(make_trial(workflow, content), answering(lambda text: "lead"), "stand-in")
    page = client.get(f"{BASE}{trial.pk}/").content.decode()
    assert "<script>x" not in page
    assert "<img src=x>" not in page


def test_adopting_and_deleting_from_the_page(client: Client, workflow: Workflow) -> None:
    trial = run(make_trial(workflow), answering(lambda text: "lead"), "stand-in")
    assert client.post(f"{BASE}{trial.pk}/adopt/").status_code == 302
    assert client.post(f"{BASE}{trial.pk}/again/").status_code == 409
    assert client.post(f"{BASE}{trial.pk}/delete/").status_code == 302
    assert not Trial.objects.exists()


def test_another_workflows_trial_is_not_found(client: Client, other_workflow: Workflow) -> None:
    trial = make_trial(other_workflow)
    assert client.get(f"{BASE}{trial.pk}/").status_code == 404
    assert client.post(f"{BASE}{trial.pk}/delete/").status_code == 404


def test_results_are_a_file(client: Client, workflow: Workflow) -> None:
    content = CSV.replace(b"1,I want", b"=cmd(),I want")
    trial = run(make_trial(workflow, content), answering(lambda text: "spam"), "stand-in")
    response = client.get(f"{BASE}{trial.pk}/results.csv")
    lines = response.getvalue().decode("utf-8-sig").splitlines()
    assert lines[0].startswith("external_id,question,truth,belongs_nowhere,model,answer,probability")
    assert "'=cmd(),intent,lead,false,stand-in,spam,0.7," in "\n".join(lines)
    assert "2,intent,customer,false,present,spam,,," in lines
    assert len(lines) == 1 + 4 * 2 * 2


def test_a_file_of_another_workflow_is_not_found(client: Client, other_workflow: Workflow) -> None:
    trial = make_trial(other_workflow)
    assert client.get(f"{BASE}{trial.pk}/results.csv").status_code == 404
