from __future__ import annotations

import json
import math
from typing import Any

import pytest

from apps.routing.types import Gate, MetadataOp, MetadataOverride

from .situations import codes, gate, route_of, rules


def gate_of(op: MetadataOp, value: Any, metadata: dict[str, Any], field: str = "amount") -> Gate:
    override = MetadataOverride("o", "O", field, op, value)
    return gate(route_of(metadata=metadata, under=rules(overrides=(override,))), "override:o")


def test_it_works() -> None:
    big = MetadataOverride("big", "Big deal", "amount", ">", 10_000)
    assert codes(route_of(metadata={"amount": 12_500}, under=rules(overrides=(big,)))) == ["override:big"]
    assert codes(route_of(metadata={"amount": 10_000}, under=rules(overrides=(big,)))) == []


@pytest.mark.parametrize(
    ("op", "value", "found", "is_open"),
    [
        (">=", 5, 5, False),
        (">=", 5, 4.9, True),
        ("<", 5, 4, False),
        ("<", 5, 5, True),
        ("<=", 5, 5, False),
        ("<=", 5, 6, True),
        (">", 5, 10**400, False),
        ("=", "DE", " de ", False),
        ("=", "DE", "FR", True),
        ("=", True, True, False),
        ("=", True, False, True),
        ("=", 1, 1.0, False),
        ("!=", "DE", "FR", False),
        ("!=", "DE", "De", True),
        ("in", ["a", "b"], "B", False),
        ("in", ("a", "b"), "c", True),
        ("not in", ["a", "b"], "c", False),
        ("not in", ["a", 3], 3, True),
        ("contains", "vip", "a VIP client", False),
        ("contains", "vip", ["new", "VIP"], False),
        ("contains", "vip", ["new"], True),
        ("contains", "vip", [], True),
        ("present", None, 0, False),
        ("missing", None, False, True),
    ],
)
def test_each_comparison(op: MetadataOp, value: Any, found: Any, is_open: bool) -> None:
    assert gate_of(op, value, {"amount": found}).is_open is is_open


@pytest.mark.parametrize(
    ("op", "value", "found"),
    [
        (">", 10_000, "12,000 EUR"),
        (">", 10_000, True),
        (">", 10_000, math.nan),
        ("<", 10_000, math.inf),
        (">", 10_000, [1, 2]),
        (">", 10_000, {"value": 1}),
        ("=", "DE", 49),
        ("=", 1, True),
        ("in", ["a"], 3),
        ("contains", "vip", 3),
        ("contains", "vip", [{"name": "vip"}]),
    ],
)
def test_what_cannot_be_compared_is_held_and_said(op: MetadataOp, value: Any, found: Any) -> None:
    closed = gate_of(op, value, {"amount": found})
    assert not closed.is_open
    assert closed.numbers["problem"]


@pytest.mark.parametrize("metadata", [{}, {"amount": None}, {"amount": " "}, {"amount": []}])
@pytest.mark.parametrize(
    ("op", "value", "is_open"),
    [
        (">", 1, True),
        ("=", "a", True),
        ("!=", "a", False),
        ("not in", ["a"], False),
        ("missing", None, False),
    ],
)
def test_a_missing_value(metadata: dict[str, Any], op: MetadataOp, value: Any, is_open: bool) -> None:
    field = "amount.net" if metadata.get("amount") == [] else "amount"
    assert gate_of(op, value, metadata, field).is_open is is_open


@pytest.mark.parametrize(
    ("metadata", "is_open"),
    [
        ({"order": {"total": 20}}, False),
        ({"order.total": 20}, False),
        ({"order": [{"total": 1}, {"total": 20}]}, False),
        ({"order": {"total": 1}, "order.total": 20}, False),
        ({"order": [{"total": 1}, {"other": 20}]}, True),
        ({"order": "20 pieces"}, False),
    ],
)
def test_a_path_leads_through_objects_lists_and_dotted_keys(metadata: dict[str, Any], is_open: bool) -> None:
    assert gate_of(">", 10, metadata, "order.total").is_open is is_open


def test_metadata_nested_very_deep() -> None:
    deep: Any = 20
    for _ in range(50_000):
        deep = [deep]
    assert not gate_of(">", 10, {"a": [{"b": deep}]}, "a.c").numbers["found"]
    assert not gate_of("present", None, {"a": {"b": [deep]}}, "a.b.c").is_open


def test_no_text_of_the_item_is_kept_with_its_route() -> None:
    routed = route_of(
        text="call Jane Roe",
        metadata={"sender": "jane@roe.example"},
        under=rules(overrides=(MetadataOverride("o", "O", "sender", "!=", "x"),)),
    )
    assert "roe" not in json.dumps([each.to_json() for each in routed.gates]).lower()


@pytest.mark.parametrize(
    ("field", "op", "value", "named"),
    [
        ("", "=", 1, "field"),
        ("a..b", "=", 1, "field"),
        ("a", "~", 1, "op"),
        ("a", ">", "10", "value"),
        ("a", ">", True, "value"),
        ("a", ">", math.nan, "value"),
        ("a", "=", None, "value"),
        ("a", "in", [], "value"),
        ("a", "in", "abc", "value"),
        ("a", "missing", 1, "value"),
    ],
)
def test_a_rule_that_could_not_be_obeyed_is_refused(field: str, op: Any, value: Any, named: str) -> None:
    with pytest.raises(ValueError, match=f"^{named}: "):
        MetadataOverride("o", "O", field, op, value)
