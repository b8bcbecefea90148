"""Markup of questions is made once for all desks: none of them shows what belongs to another."""

from __future__ import annotations

from apps.accounts.models import User
from apps.reviews.keys import with_usual
from apps.reviews.preferences import save_preferences
from apps.workflows.models import Workflow
from tests.conftest import SignIn
from tests.factories import make_task
from tests.reviews.desk_forms import DESK, HTMX, lease_on, open_desk


def test_it_works(signed_in: SignIn, rosa: User, ravi: User, workflow: Workflow) -> None:
    make_task(workflow, p=0.7)
    make_task(workflow, p=0.6)
    first, second = open_desk(signed_in(rosa)), open_desk(signed_in(ravi))
    assert ("70.0 %" in first, "60.0 %" in first) == (True, False)
    assert ("70.0 %" in second, "60.0 %" in second) == (False, True)
    assert lease_on(first) != lease_on(second)
    assert str(lease_on(first)) not in second


def test_the_blind_desk_after_one_that_sees(
    signed_in: SignIn, rosa: User, ravi: User, workflow: Workflow
) -> None:
    make_task(workflow, p=0.7)
    assert "is-suggested" in open_desk(signed_in(rosa))
    make_task(workflow, kind="audit", p=0.7)
    page = open_desk(signed_in(ravi))
    assert "Quality check" in page
    assert not any(hint in page for hint in ("is-suggested", "Suggested", "70.0", 'class="bar'))


def test_other_suggestions_stand_at_other_options(
    signed_in: SignIn, rosa: User, ravi: User, workflow: Workflow
) -> None:
    make_task(workflow, label="spam")
    make_task(workflow, label="lead")
    suggested = 'class="option is-suggested" type="submit" name="q:intent" value="o:{}"'
    assert suggested.format("spam") in open_desk(signed_in(rosa))
    assert suggested.format("lead") in open_desk(signed_in(ravi))


def test_everybodys_own_keys(signed_in: SignIn, rosa: User, ravi: User, workflow: Workflow) -> None:
    make_task(workflow)
    make_task(workflow)
    save_preferences(user=ravi, keys=with_usual({}) | {"option_1": "w"}, languages=[])
    assert 'data-key="w' not in open_desk(signed_in(rosa))
    assert 'data-key="w' in open_desk(signed_in(ravi))


def test_what_somebody_typed_stays_theirs(
    signed_in: SignIn, rosa: User, ravi: User, workflow: Workflow
) -> None:
    make_task(workflow)
    make_task(workflow)
    client = signed_in(rosa)
    form = {"lease": str(lease_on(open_desk(client))), "q:intent": "none", "said:intent": "Refund " * 40}
    page = client.post(f"{DESK}submit/", form | {"note": "Asked twice"}, headers=HTMX).content.decode()
    assert ("Refund" in page, "Asked twice" in page) == (True, True)
    assert page.count('name="said:intent"') == 4, "the option missing, and three reasons, as before"
    other = open_desk(signed_in(ravi))
    assert ("Refund" in other, "Asked twice" in other) == (False, False)


def test_a_filter_is_carried_by_who_chose_it(
    signed_in: SignIn, rosa: User, ravi: User, workflow: Workflow
) -> None:
    make_task(workflow)
    make_task(workflow)
    carried = 'name="filter" value="label=spam"'
    assert open_desk(signed_in(rosa), f"{DESK}?label=spam").count(carried) == 4
    assert carried not in open_desk(signed_in(ravi))
