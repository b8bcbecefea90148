"""The very numbers of the pages."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from ninja import Query, Router
from pydantic import BaseModel, ConfigDict, Field

from apps.api.docs import described
from apps.api.door import token_of, workflow_of
from apps.api.errors import ApiError
from apps.api.paging import refuse_unknown
from apps.api.times import MOMENT
from apps.insights.metrics import workflow_metrics
from apps.insights.metrics_values import GROUPS, parse_window
from apps.workflows.access import is_manager
from apps.workflows.models import Scope

router = Router(tags=["metrics"])


class MetricsQuery(BaseModel):
    from_: str | None = Field(default=None, alias="from", description=f"The first when left out: {MOMENT}.")
    to: str | None = Field(default=None, description=f"Now when left out; a day counts whole: {MOMENT}.")
    group: str | None = Field(
        default=None,
        description=f"One of {', '.join(GROUPS)}. By question: how good its probabilities are (Brier, log loss, "
        "calibration error, error among automatic items), weighted by the chance to be asked; of whole days, "
        "the last eight weeks when `from` is left out.",
    )


class Metric(BaseModel):
    """A share with its 95 % interval. Unknown is null, never 0, and `reason` says why."""

    model_config = ConfigDict(extra="allow")

    value: int | float | None
    numerator: int | float | None
    denominator: int | float | None
    low: float | None
    high: float | None
    exact: bool | None = Field(
        default=None, description="True: everything was counted, so there is no interval."
    )
    reason: str | None = Field(default=None, description="Why there is no value.")
    unit: str | None = Field(default=None, description="Of what is no share and no count.")


class MetricsGroup(BaseModel):
    key: str | None
    name: str
    metrics: dict[str, Metric]
    about: dict[str, Any] | None = Field(
        default=None,
        description="Of a question: its kind, model and days, and whether only its newest answers were read.",
    )


class MetricsOut(BaseModel):
    model_config = ConfigDict(extra="allow")

    workflow: str
    time_zone: str
    group: str | None
    metrics: dict[str, Metric]
    groups: list[MetricsGroup]


@router.get(
    "/workflows/{str:slug}/metrics",
    exclude_unset=True,
    **described("Rates and counts", Scope.READ, {200: MetricsOut}, refusals=(404, 422)),
)
def metrics_show(request: HttpRequest, slug: str, query: Query[MetricsQuery]) -> Any:
    """What the overview shows, to whom it is shown: the token's person must manage the workflow."""
    workflow = workflow_of(request, slug, Scope.READ)
    if not is_manager(user=token_of(request, Scope.READ).user, workflow=workflow):
        # Figures of a few minutes would also tell a reviewer what the model said of an item asked blind.
        raise ApiError(403, "managers_only", "Figures are for managers; this token's person only reviews.")
    refuse_unknown(request.GET, ("from", "to", "group"))
    window = parse_window(request.GET.dict(), workflow)
    figures = workflow_metrics(
        workflow=workflow, start=window.start, end=window.end, group=query.group or None, now=timezone.now()
    )
    return figures.to_json()
