"""Which items a policy's rules on text and metadata hold: as found when the items came, or looked at again.

A rule that stood word for word in the policy that routed the item gave its answer then. For any other the items'
metadata, and their texts where a rule needs them, are read and tried by routing itself; that takes its time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from apps.calibration.replay.rows import Batch
from apps.items.models import Item
from apps.policies.models import Policy
from apps.policies.rules import to_rules
from apps.routing.bulk import Bools, held_by
from apps.routing.types import AnswerOverride, ItemFacts, Override, Rules, TextOverride
from apps.workflows.models import QuestionSet, Workflow


def on_items(rules: Rules) -> list[Override]:
    """The overrides that look at text or metadata."""
    return [each for each in rules.overrides if not isinstance(each, AnswerOverride)]


def overrides_by_policy(workflow: Workflow, question_set: QuestionSet) -> dict[int, list[Override]]:
    """Of every version that was ever in force."""
    used = Policy.objects.filter(workflow=workflow, activated_at__isnull=False)
    return {policy.pk: on_items(to_rules(policy.rules, question_set)) for policy in used}


@dataclass(frozen=True, slots=True)
class Held:
    """`by_policy` are the overrides each policy had when it routed (`overrides_by_policy`)."""

    by_policy: Mapping[int, Sequence[Override]]

    def needs_items(self, rules: Rules) -> bool:
        """Whether some item would have to be looked at again."""
        return any(_id_in(each, had) is None for each in on_items(rules) for had in self.by_policy.values())

    def columns(self, batch: Batch, rules: Rules) -> dict[str, Bools]:
        """What `bulk.route_all` wants to know: for each override, by its id, the items it holds."""
        found = {each.id: np.zeros(len(batch), np.bool_) for each in on_items(rules)}
        unknown = {each.id: np.zeros(len(batch), np.bool_) for each in on_items(rules)}
        for policy_id in np.unique(batch.policy_id).tolist():
            mine = batch.policy_id == policy_id
            for override in on_items(rules):
                was = _id_in(override, self.by_policy.get(policy_id, ()))
                if was is None:
                    unknown[override.id] |= mine
                else:
                    held_then = np.array([was in ids for ids in batch.held_ids], np.bool_)
                    found[override.id] |= mine & held_then[batch.held]
        asked = [each for each in on_items(rules) if unknown[each.id].any()]
        if asked:
            self._look(batch, asked, unknown, found)
        return found

    def _look(
        self,
        batch: Batch,
        asked: Sequence[Override],
        unknown: Mapping[str, Bools],
        found: Mapping[str, Bools],
    ) -> None:
        rows = np.flatnonzero(np.logical_or.reduce([unknown[each.id] for each in asked]))
        facts = _facts_of(
            batch.item_id[rows].tolist(), with_text=any(isinstance(each, TextOverride) for each in asked)
        )
        for row in rows.tolist():
            held = held_by(asked, facts[int(batch.item_id[row])])
            for override, is_held in zip(asked, held, strict=True):
                if unknown[override.id][row]:
                    found[override.id][row] = is_held


def _id_in(override: Override, overrides: Sequence[Override]) -> str | None:
    """The id of the same rule among these, whatever it was called."""
    wanted = replace(override, id="", name="")
    return next((each.id for each in overrides if replace(each, id="", name="") == wanted), None)


def _facts_of(item_ids: Sequence[int], *, with_text: bool) -> dict[int, ItemFacts]:
    """An item whose content was erased has no text any more."""
    items = Item.objects.filter(pk__in=item_ids)
    if not with_text:
        return {pk: ItemFacts("", metadata) for pk, metadata in items.values_list("pk", "metadata")}
    rows = items.values_list("pk", "metadata", "content__text")
    return {pk: ItemFacts(text or "", metadata) for pk, metadata, text in rows}
