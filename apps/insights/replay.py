"""A stored decision through a policy again: the same pure function, the same draw, nothing asked of the model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apps.items.models import Item, Route
from apps.pipeline.rulebook import Rulebook
from apps.pipeline.writing import reroute
from apps.policies.models import Policy
from apps.policies.selectors import active_policy
from apps.routing.types import Route as PureRoute


@dataclass(frozen=True, slots=True)
class Replay:
    """`differs`: what comes out otherwise than it is stored; `is_own`: through the policy that made the route."""

    policy: Policy
    is_own: bool
    outcome: str
    label: str | None
    differs: tuple[str, ...]

    @property
    def is_other_way(self) -> bool:
        """Whether the item would go elsewhere, not only by other numbers."""
        return "outcome" in self.differs


def replays_of(*, route: Route, item: Item) -> tuple[Replay, ...]:
    """Through the policy that made the route, and through the one in force when that is another.

    Empty when the model gave no answer: there is nothing to replay.
    """
    if route.decision is None:
        return ()
    active = active_policy(item.workflow)
    policies = [route.policy, *([active] if active and active.pk != route.policy_id else [])]
    return tuple(_replay(route, item, route.decision.answers, policy) for policy in policies)


def _replay(route: Route, item: Item, answers: Mapping[str, Any], policy: Policy) -> Replay:
    book = Rulebook(
        workflow=item.workflow,
        question_set=route.question_set,
        policy=policy,
        actions={},
    )
    pure = reroute(book, item, item.content, answers)
    return Replay(
        policy=policy,
        is_own=policy.pk == route.policy_id,
        outcome=pure.outcome.value,
        label=pure.label,
        differs=tuple(_differences(route, pure)),
    )


def _differences(route: Route, pure: PureRoute) -> list[str]:
    plain = {
        "outcome": (route.outcome, pure.outcome.value),
        "label": (route.label, pure.label),
        "probability": (route.p, pure.p),
        "chance of a review": (route.pi, pure.pi),
        "drawn": (route.drawn, pure.drawn),
    }
    lists: dict[str, tuple[list[Any], list[Any]]] = {
        "gates": (route.gates, _as_stored([gate.to_json() for gate in pure.gates])),
        "reasons": (route.reasons, _as_stored([reason.to_json() for reason in pure.reasons])),
    }
    return [name for name, (stored, fresh) in {**plain, **lists}.items() if stored != fresh]


def _as_stored(value: list[Any]) -> list[Any]:
    """What a JSON column gives back: tuples become lists."""
    stored: list[Any] = json.loads(json.dumps(value))
    return stored
