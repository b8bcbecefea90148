"""A workflow that asks two questions of every item and leaves a third to read."""

from __future__ import annotations

SEVERAL_WORKFLOW = """
[workflow]
slug = "several"
name = "Several questions"

[[questions]]
id = "kind"
kind = "choice"
routing = true
instructions = "What is it?"

[[questions.options]]
id = "order"
name = "Order"
description = "Somebody wants a lamp."
tag = "order"
examples = ["I want to buy a lamp", "Please send three lamps"]

[[questions.options]]
id = "fault"
name = "Fault"
description = "A lamp does not work."
tag = "fault"
examples = ["My lamp is broken", "The bulb does not work any more"]

[[questions]]
id = "urgent"
kind = "noul"
instructions = "Is it urgent?"
yes = "It has to be today."
no = "It can wait."

[[questions]]
id = "severity"
kind = "score"
instructions = "How bad is it?"
levels = ["none", "some", "much"]

[policy]
margin = 0.1
review_cost = 1
audit_rate = 0.1
automatic_audit_rate = 0.02
blind_share = 0

[[policy.overrides]]
id = "lamps"
name = "Lamps"
kind = "text"
words = ["lamp*"]

[[policy.holds]]
question = "urgent"
low = 0
high = 1
"""
