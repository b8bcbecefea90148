from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.core.errors import InvalidInput
from apps.policies.files import from_toml, to_toml
from tests.workflows.files import policy

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
SCALAR = (
    TEXT | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
)
TABLE = st.dictionaries(TEXT, SCALAR | st.lists(SCALAR), max_size=4)


def test_it_works() -> None:
    assert from_toml(to_toml(policy())) == policy()


def test_it_reads_well() -> None:
    written = to_toml({"margin": 0.1, "costs": {"spam": {"lead": 6}}, "holds": [{"question": "a.b"}]})

    assert written == (
        '[policy]\nmargin = 0.1\n\n[policy.costs.spam]\nlead = 6\n\n[[policy.holds]]\nquestion = "a.b"\n'
    )


@given(
    table=TABLE, inner=st.dictionaries(TEXT, TABLE, max_size=3), rows=st.lists(TABLE, min_size=1, max_size=3)
)
def test_any_text_and_number_comes_back(
    table: dict[str, Any], inner: dict[str, Any], rows: list[dict[str, Any]]
) -> None:
    rules = {"labels": table, "costs": inner, "overrides": rows}

    assert tomllib.loads(to_toml(rules))["policy"] == rules


@pytest.mark.parametrize("text", ["", "policy = ", "[workflow]\nslug = 1", "a = " + "[" * 20_000])
def test_files_that_are_none(text: str) -> None:
    with pytest.raises(InvalidInput):
        from_toml(text)
