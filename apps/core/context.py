from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from apps import __version__


def site(request: HttpRequest) -> dict[str, Any]:
    """What every page needs; without queries, because error pages render it too."""
    return {"fermata_version": __version__}
