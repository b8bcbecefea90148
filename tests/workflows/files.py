"""A small workflow file as data: two questions and a policy with one rule of each kind."""

from __future__ import annotations

from typing import Any


def workflow_file(**more: Any) -> dict[str, Any]:
    return {
        "workflow": {"slug": "mail", "name": "Mail", "time_zone": "Europe/Berlin"},
        "questions": [choice(), {"id": "money", "kind": "noul", "instructions": "Is it about money?"}],
        "policy": policy(),
    } | more


def choice(**more: Any) -> dict[str, Any]:
    options = [
        {
            "id": "lead",
            "name": "Lead",
            "description": "Wants to buy.",
            "examples": ["A quote?"],
            "tag": "lead",
        },
        {"id": "spam", "name": "Spam", "description": "Unasked.", "tag": "spam"},
        {"id": "other", "name": "None of these"},
    ]
    return {
        "id": "intent",
        "kind": "choice",
        "routing": True,
        "instructions": "What is it?",
        "none_of_these": "other",
        "options": options,
    } | more


def score(**more: Any) -> dict[str, Any]:
    return {"id": "severity", "kind": "score", "instructions": "How bad?", "levels": ["Fine", "Bad"]} | more


def policy(**more: Any) -> dict[str, Any]:
    return {
        "margin": 0.1,
        "review_cost": 0.6,
        "audit_rate": 0.1,
        "automatic_audit_rate": 0.02,
        "blind_share": 0.1,
        "labels": {"spam": {"threshold": 0.8, "autonomy": "audited"}},
        "costs": {"spam": {"lead": 6}},
        "critical": {"lead": 0.3},
        "overrides": [
            {"id": "words", "name": "Refund", "kind": "text", "words": ["refund*"]},
            {"id": "big", "name": "Large", "kind": "metadata", "field": "amount", "op": ">", "value": 10_000},
            {"id": "paid", "name": "Money", "kind": "answer", "question": "money", "at_least": 0.2},
        ],
        "holds": [{"question": "money", "low": 0.2, "high": 0.8}],
    } | more
