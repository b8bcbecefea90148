"""What a workflow's model reads of what came in; people always see all of it."""

from __future__ import annotations

from apps.workflows.models import Workflow


def update_reading(
    *, workflow: Workflow, reads_quoted: bool, reads_signature: bool, reads_images: bool, fits_images: bool
) -> Workflow:
    """Quoted history and signatures: of mail that comes from now on. Images: of items the model has not read yet."""
    changed = Workflow.objects.get(pk=workflow.pk)
    changed.reads_quoted, changed.reads_signature = reads_quoted, reads_signature
    changed.reads_images, changed.fits_images = reads_images, fits_images
    changed.save(update_fields=["reads_quoted", "reads_signature", "reads_images", "fits_images"])
    return changed
