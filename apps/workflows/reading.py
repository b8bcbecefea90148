"""What a workflow's model reads of what came in; people always see all of it, chosen fields first."""

from __future__ import annotations

from collections.abc import Sequence

from apps.core.errors import FieldProblem, InvalidInput
from apps.core.text import unstorable_at
from apps.workflows.models import Workflow

MOST_TOP_FIELDS = 20


def update_reading(
    *, workflow: Workflow, reads_quoted: bool, reads_signature: bool, reads_images: bool, fits_images: bool
) -> Workflow:
    """Quoted history and signatures: of mail that comes from now on. Images: of items the model has not read yet."""
    changed = Workflow.objects.get(pk=workflow.pk)
    changed.reads_quoted, changed.reads_signature = reads_quoted, reads_signature
    changed.reads_images, changed.fits_images = reads_images, fits_images
    changed.save(update_fields=["reads_quoted", "reads_signature", "reads_images", "fits_images"])
    return changed


def set_top_fields(*, workflow: Workflow, fields: Sequence[str]) -> Workflow:
    """What people see first of an item that is a JSON object, in this order; `order.total` is a field inside one.

    Raises InvalidInput, whose path is `top_fields`.
    """
    if len(fields) > MOST_TOP_FIELDS:
        raise InvalidInput(FieldProblem("top_fields", f"at most {MOST_TOP_FIELDS} fields"))
    for field in fields:
        if not 1 <= len(field) <= 100 or unstorable_at(field) is not None:
            raise InvalidInput(FieldProblem("top_fields", "a field has 1 to 100 characters"))
    changed = Workflow.objects.get(pk=workflow.pk)
    changed.top_fields = list(dict.fromkeys(fields))
    changed.save(update_fields=["top_fields"])
    return changed
