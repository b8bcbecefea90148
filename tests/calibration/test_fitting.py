from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

from apps.accounts.models import User
from apps.calibration.counting.evidence import changed_gates
from apps.calibration.counting.judged import Judged
from apps.calibration.fitting import fit, propose_map, read_maps
from apps.core.errors import Conflict
from apps.policies.models import Policy
from apps.policies.services import activate
from apps.stats.maps import Temperature, fit_temperature
from apps.workflows.models import Workflow
from tests.calibration.test_sides import HOLD, Doubt, follow, insert
from tests.conftest import SignIn
from tests.factories import NOW, RULES, make_workflow

pytestmark = pytest.mark.slow


def judged(size: int, *, overconfident: float = 1.0, none: int = 0, seed: int = 3) -> Judged:
    """Answers of a model whose honest probabilities were sharpened; the last `none` are no option."""
    chance = np.random.default_rng(seed)
    honest = chance.dirichlet([0.8, 0.8, 0.8], size)
    truth = np.array([chance.choice(3, p=row) for row in honest], np.intp)
    truth[size - none :] = 3
    given = Temperature(1 / overconfident).apply(honest)
    return Judged(
        options=("a", "b", "c", ""),
        p=np.column_stack([given, np.zeros(size)]),
        truth=truth,
        pi=np.ones(size),
        automatic=np.zeros(size, np.bool_),
        days=tuple((NOW - timedelta(days=1)).date() for _ in range(size)),
    )


def test_it_works() -> None:
    found = fit(judged(3_000, overconfident=2.0), 3)
    assert (found.older, found.newer) == (1_800, 1_200)
    assert found.t == pytest.approx(2.0, rel=0.1)
    assert found.helps
    assert found.after is not None
    assert found.before is not None
    assert found.after < found.before


def test_honest_probabilities_get_no_map() -> None:
    found = fit(judged(3_000), 3)
    assert found.t == pytest.approx(1.0, rel=0.1)
    assert not found.helps


def test_too_few_effective_answers_get_no_map() -> None:
    few = fit(judged(333, overconfident=2.0), 3)
    assert (few.t, few.helps, few.n_eff) == (None, False, 199)
    assert fit(judged(334, overconfident=2.0), 3).t is not None


def test_it_is_fitted_on_the_older_part() -> None:
    # Newest first: only the newer answers are of the overconfident model, so the map of the older helps nobody.
    new, old = judged(400, overconfident=3.0), judged(600)
    both = Judged(
        new.options,
        np.vstack([new.p, old.p]),
        np.append(new.truth, old.truth),
        np.ones(1_000),
        np.zeros(1_000, np.bool_),
        new.days + old.days,
    )
    found = fit(both, 3)
    assert found.t == pytest.approx(fit_on(old), rel=1e-6)


def fit_on(found: Judged) -> float:
    return fit_temperature(found.p[::-1, :3], found.truth[::-1], found.weights[::-1]).t


def test_answers_that_are_no_option_are_left_out() -> None:
    found = fit(judged(1_000, none=40), 3)
    assert (found.left_out, found.older + found.newer) == (40, 960)


@pytest.fixture
def workflow(db: None) -> Workflow:
    return make_workflow(rules=RULES | {"holds": [HOLD]})


@pytest.fixture
def asked(workflow: Workflow) -> Workflow:
    """A noul that says 99 % and is right in 80 %; all of it is checked."""
    answers = (["true"] * 4 + ["false"]) * 120
    insert(workflow, [Doubt(p=0.99, drawn=True, pi=1.0, answer=answer) for answer in answers])
    return workflow


def test_a_map_is_proposed_where_it_helps(asked: Workflow, mara: User) -> None:
    draft = propose_map(workflow=asked, question="money", user=mara, now=NOW)
    assert draft.status == "proposed"
    assert draft.rules["maps"]["money"]["t"] == pytest.approx(3.3, abs=0.1)
    assert changed_gates(asked.policies.get(status="active"), draft) == ()
    activate(policy=draft, user=mara, now=NOW)
    with pytest.raises(Conflict, match="that map already"):
        propose_map(workflow=asked, question="money", user=mara, now=NOW)


def test_a_map_that_no_longer_helps_is_proposed_to_go(asked: Workflow, mara: User) -> None:
    activate(policy=propose_map(workflow=asked, question="money", user=mara, now=NOW), user=mara, now=NOW)
    later = NOW + timedelta(weeks=9)
    honest = [Doubt(p=0.8, drawn=True, pi=1.0, answer=a, at=later) for a in (["true"] * 4 + ["false"]) * 120]
    insert(asked, honest)
    draft = propose_map(workflow=asked, question="money", user=mara, now=later)
    assert "maps" not in draft.rules


def test_too_few_answers_propose_nothing(workflow: Workflow, mara: User) -> None:
    assert [each.t for each in read_maps(workflow=workflow, now=NOW)] == [None, None]
    with pytest.raises(Conflict, match="Not enough answers for a map: 0 effective"):
        propose_map(workflow=workflow, question="money", user=mara, now=NOW)


def test_where_people_follow_the_model_only_blind_reviews_fit_it(workflow: Workflow, rosa: User) -> None:
    follow(workflow, rosa)
    found = next(each for each in read_maps(workflow=workflow, now=NOW) if each.question.key == "money")
    assert (found.older + found.newer, found.is_blind_only) == (100, True)


def test_the_map_of_the_routing_question_is_a_gate(workflow: Workflow) -> None:
    active = workflow.policies.get()
    mapped = Policy(
        workflow=workflow, rules=active.rules | {"maps": {"intent": {"kind": "temperature", "t": 2.0}}}
    )
    assert changed_gates(active, mapped) == (
        "how probabilities are mended before costs are expected from them",
    )


def test_the_page_shows_readings_and_proposes(asked: Workflow, mara: User, signed_in: SignIn) -> None:
    browser = signed_in(mara)
    page = browser.get("/w/leads/calibration/maps/").content.decode()
    assert "Not enough answers for a map" in page
    assert "holds no item for doubt about a level" in page
    response = browser.post("/w/leads/calibration/maps/map/", {"question": "gone"}, follow=True)
    assert "the question is not asked now" in response.content.decode()
