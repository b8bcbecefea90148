"""What became of items, one line each, for the terminal the demo was started in."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.utils import timezone

from apps.items.models import Route
from apps.workflows.models import Endpoint

MOST_LINES = 6
AT_ONCE = timedelta(seconds=3)
"""Workers that notice the same trouble each set the pause, one a moment after the other: told once."""


@dataclass(slots=True)
class Watch:
    """Remembers how far it has told; `pauses`: of which endpoints until when."""

    last_route: int
    pauses: dict[int, datetime] = field(default_factory=dict)

    def news(self) -> list[str]:
        """What became of items and of the models they wait for, since the last call."""
        return [*self._endpoints(), *self._decisions()]

    def _endpoints(self) -> list[str]:
        said = []
        for endpoint in Endpoint.objects.exclude(workflows=None).distinct().order_by("name"):
            until, told = endpoint.paused_until, self.pauses.get(endpoint.pk)
            if until is not None and (told is None or until - told > AT_ONCE):
                self.pauses[endpoint.pk] = until
                clock = timezone.localtime(until)
                said.append(f"{endpoint.pause_reason}: {endpoint.name} is asked again at {clock:%H:%M:%S}")
            elif until is None and told is not None:
                del self.pauses[endpoint.pk]
                said.append(f"{endpoint.name} answers again")
        return said

    def _decisions(self) -> list[str]:
        """Many at once in one line."""
        routes = list(
            Route.objects.filter(pk__gt=self.last_route)
            .select_related("item", "workflow")
            .order_by("pk")[:500]
        )
        if not routes:
            return []
        self.last_route = routes[-1].pk
        if len(routes) > MOST_LINES:
            by_itself = sum(route.outcome == Route.Outcome.AUTOMATIC for route in routes)
            return [
                f"{len(routes)} items decided: {by_itself} automatic, {len(routes) - by_itself} for people"
            ]
        return [_line(route) for route in routes]


def watch_from_now() -> Watch:
    return Watch(Route.objects.order_by("-pk").values_list("pk", flat=True).first() or 0)


def _line(route: Route) -> str:
    answer = "no answer from the model" if route.label is None else f"{route.label} {route.p:.2f}"
    where = "automatic" if route.outcome == Route.Outcome.AUTOMATIC else "for people"
    why = ", ".join(reason["code"] for reason in route.reasons)
    return f"{route.item.external_id}: {answer} → {where}{f' ({why})' if why else ''}"
