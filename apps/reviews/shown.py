"""What the desk reads of a task: by itself, or along with the statement that puts the task on a desk."""

from __future__ import annotations

from apps.core.db import Columns
from apps.items.models import Decision, Item, ItemContent, Route
from apps.reviews.models import ReviewTask

TASK, ITEM, CONTENT = Columns(ReviewTask), Columns(Item), Columns(ItemContent)
ROUTE = Columns(Route, "id", "item", "workflow", "decision", "policy", "reasons")
DECISION = Columns(Decision, "id", "model", "answers")
COLUMNS = f"""
    {TASK.of("task")}, {ITEM.of("item")}, {CONTENT.of("content")}, {ROUTE.of("route")}, {DECISION.of("decision")},
    EXISTS (SELECT 1 FROM items_mail mail WHERE mail.item_id = item.id),
    EXISTS (SELECT 1 FROM items_attachment attachment WHERE attachment.item_id = item.id),
    EXISTS (SELECT 1 FROM reviews_taskevent event WHERE event.task_id = task.id),
    EXISTS (SELECT 1 FROM workflows_membership member WHERE member.workflow_id = task.workflow_id
            AND member.user_id = %(user)s AND (member.is_senior OR member.role = 'manager')),
    (SELECT own.keys FROM reviews_deskpreferences own WHERE own.user_id = %(user)s)
"""  # noqa: S608 - our own columns
BESIDE_TASK = """
    JOIN items_item item ON item.id = task.item_id
    JOIN items_itemcontent content ON content.item_id = item.id
    JOIN items_route route ON route.id = task.route_id
    LEFT JOIN items_decision decision ON decision.id = route.decision_id
"""
