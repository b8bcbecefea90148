"""The house stands as drawn: imports go down, pure packages stay pure, files stay short enough to read."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

APPS = Path(__file__).resolve().parents[2] / "apps"
FLOORS = (
    ("routing", "stats", "clef"),
    ("core",),
    ("accounts",),
    ("workflows",),
    ("outbox",),
    ("policies",),
    ("items",),
    ("actions",),
    ("reviews",),
    ("pipeline",),
    ("sources",),
    ("calibration",),
    ("insights",),
    ("api", "demo"),
    ("config",),
)
FLOOR_OF = {app: height for height, floor in enumerate(FLOORS) for app in floor}
PURE = {"routing", "stats", "clef"}
LONGEST_FILE = 400
LONGEST_TEMPLATE = 200


MODULES = sorted(path for path in APPS.rglob("*.py") if "migrations" not in path.parts)
TEMPLATES = sorted((APPS.parent / "templates").rglob("*.html"))


def name_of(path: Path) -> str:
    return str(path.relative_to(APPS.parent))


def imports(path: Path) -> Iterator[tuple[str, ast.stmt]]:
    """Every module a file imports, relative ones made whole, wherever in the file it does so."""
    package = ("apps", *path.relative_to(APPS).parts[:-1])
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            yield ".".join((*base, *([node.module] if node.module else []))), node


def app_of(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[0] == "apps" else None


def test_every_app_has_a_floor() -> None:
    apps = {path.name for path in APPS.iterdir() if (path / "__init__.py").exists()}
    assert apps <= set(FLOOR_OF)


def test_imports_go_down() -> None:
    wrong = {
        name_of(path): module
        for path in MODULES
        if (own := path.relative_to(APPS).parts[0]) in FLOOR_OF
        for module, _ in imports(path)
        if (other := app_of(module)) is not None and other != own and FLOOR_OF[other] >= FLOOR_OF[own]
    }
    assert wrong == {}


@pytest.mark.parametrize("app", sorted(PURE))
def test_pure_packages_know_no_django(app: str) -> None:
    found = {module.split(".")[0] for path in (APPS / app).rglob("*.py") for module, _ in imports(path)}
    assert not found & {"django", "celery", "psycopg", "redis"}


def test_no_import_hides_in_a_function() -> None:
    """An import inside a function usually hides a cycle."""
    hidden = {
        name_of(path): node.lineno
        for path in MODULES
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert hidden == {}


def test_files_stay_readable() -> None:
    lengths = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert {
        name for name, lines in lengths.items() if lines > LONGEST_FILE and "settings" not in name
    } == set()


def test_templates_stay_readable() -> None:
    lengths = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in TEMPLATES}
    assert {name for name, lines in lengths.items() if lines > LONGEST_TEMPLATE} == set()
