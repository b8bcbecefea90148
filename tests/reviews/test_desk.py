from __future__ import annotations

from django.test import Client

from apps.accounts.models import User
from apps.items.models import ItemContent
from apps.reviews.leases import take_next_task
from apps.reviews.models import Lease
from apps.workflows.models import Workflow
from tests.conftest import SignIn
from tests.factories import make_task
from tests.reviews.desk_forms import DESK, HTMX, lease_on, open_desk, submit


def test_it_works(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    task = make_task(workflow, label="spam", p=0.7)
    page = open_desk(signed_in(rosa))
    assert task.item.external_id in page
    assert "70.0 %" in page
    assert "Held because" in page


def test_a_reload_shows_the_same_item(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    make_task(workflow)
    make_task(workflow)
    client = signed_in(rosa)
    assert lease_on(open_desk(client)) == lease_on(open_desk(client))


def test_two_people_never_see_one_item(signed_in: SignIn, rosa: User, ravi: User, workflow: Workflow) -> None:
    make_task(workflow)
    assert "data-lease" in open_desk(signed_in(rosa))
    assert "data-lease" not in open_desk(signed_in(ravi))


def test_htmx_gets_the_fragment_alone(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    make_task(workflow)
    page = signed_in(rosa).get(DESK, headers=HTMX).content.decode()
    assert page.lstrip().startswith('<section id="desk"')


def test_a_blind_task_shows_nothing_of_the_model(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    make_task(workflow, kind="audit")
    page = open_desk(signed_in(rosa))
    assert "Quality check" in page
    for hint in (
        "standin",
        "Suggested",
        "is-suggested",
        'class="bar',
        "70.0",
        "s:intent",
        "Enter</kbd></span>",
    ):
        assert hint not in page


def test_what_came_in_is_shown_and_not_run(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    task = make_task(workflow)
    evil = "<script>alert(1)</script>"
    ItemContent.objects.filter(item=task.item).update(state={evil: {"b": [evil]}}, text=evil)
    page = open_desk(signed_in(rosa))
    assert evil not in page
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") == 2


def test_nothing_on_the_page_needs_unsafe_rules(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    make_task(workflow)
    page = open_desk(signed_in(rosa))
    for forbidden in (" style=", "<style", " onclick", "hx-on", "javascript:", "hx-vals='js"):
        assert forbidden not in page


def test_an_empty_queue_says_so(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    answer = signed_in(rosa).get(DESK)
    assert answer.status_code == 200
    assert "No item waits for a person" in answer.content.decode()


def test_what_colleagues_hold_is_told(signed_in: SignIn, rosa: User, ravi: User, workflow: Workflow) -> None:
    make_task(workflow)
    lease = take_next_task(user=ravi, workflow=workflow)
    page = open_desk(signed_in(rosa))
    assert "1 item is on colleagues’ desks" in page
    assert lease is not None
    assert lease.expires_at.isoformat()[:16] in page


def test_looking_at_the_desk_of_others_is_refused(
    signed_in: SignIn, nora: User, rosa: User, other_workflow: Workflow
) -> None:
    assert signed_in(nora).get(DESK).status_code == 404
    assert signed_in(rosa).get("/w/elsewhere/review/").status_code == 404


def test_a_question_with_many_options_can_be_filtered(
    signed_in: SignIn, rosa: User, workflow: Workflow
) -> None:
    question = workflow.question_sets.get().questions.get(key="intent")
    question.options = [
        {"id": f"o{n}", "name": f"Topic {n}", "description": "", "examples": []} for n in range(12)
    ]
    question.none_of_these = ""
    question.save()
    make_task(workflow, label="spam", blind=True)
    page = open_desk(signed_in(rosa))
    assert 'data-filters="options-1"' in page
    assert page.count('data-key="') > 12
    assert 'data-key="10' not in page


def test_a_head_request_takes_nothing(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    make_task(workflow)
    assert signed_in(rosa).head(DESK).status_code == 405
    assert not Lease.objects.exists()


def test_signed_out_is_sent_to_the_door(client: Client, workflow: Workflow) -> None:
    assert client.get(DESK).headers["Location"] == f"/sign-in/?next={DESK}"


def test_the_item_just_answered_is_linked(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    task = make_task(workflow)
    client = signed_in(rosa)
    assert "Last:" not in open_desk(client)
    submit(client, lease_on(open_desk(client)), intent="o:spam")
    page = open_desk(client)
    assert f'Last: <a href="/w/leads/items/{task.item_id}/"><bdi>{task.item.external_id}</bdi></a>' in page


def test_several_questions_say_what_their_button_does(
    signed_in: SignIn, rosa: User, workflow: Workflow
) -> None:
    make_task(workflow, asked=("intent", "money"))
    page = open_desk(signed_in(rosa))
    assert "Accept the suggestions</span>" in page
    assert "Save, the rest as suggested</span>" in page
    for described in ("about-1", "about-2"):
        assert page.count(f'aria-describedby="{described}"') == page.count(f'id="{described}"') == 1
