from __future__ import annotations

from pathlib import Path

from apps.config.env import configuration_table

ROOT = Path(__file__).resolve().parents[2]


def test_the_configuration_table_is_the_one_in_code() -> None:
    """`python -m apps.config.env` prints what belongs between the two markers."""
    _, rest = (ROOT / "README.md").read_text(encoding="utf-8").split("<!-- python -m apps.config.env -->\n")
    assert rest.split("\n<!-- end -->")[0] == configuration_table()


def test_what_the_readme_names_is_there() -> None:
    for name in ("Makefile", ".env.example", "docker-compose.yml", "apps/demo/samples/leads.toml"):
        assert (ROOT / name).exists(), name
