"""Names and texts that try to be more than text, and a workflow made of them."""

from __future__ import annotations

import json

SCRIPT = "<script>window.__pwned=1</script>"
IMAGE = '"><img src=x onerror="window.__pwned=1">'
RTL = "\u202efdp.exe\u202e"
"""Without an end: it would turn whatever follows it."""
HIDDEN = "a\u200bb\u2066c\ufeffd"
LONG = "Donaudampfschiff" * 60
ALL = f"{SCRIPT}{IMAGE}{RTL}{HIDDEN} {{{{ 7*7 }}}} javascript:window.__pwned=1 &lt;b&gt;"
NAME = f"{SCRIPT}{RTL}{HIDDEN} ' \" & <b>"


def quoted(text: str) -> str:
    """A basic string of TOML, which takes the escapes of JSON."""
    return json.dumps(text)


ODD_WORKFLOW = f"""
[workflow]
slug = "odd"
name = {quoted(NAME)}
description = {quoted(ALL)}

[[questions]]
id = "kind"
kind = "choice"
routing = true
instructions = {quoted("What is it? " + ALL)}

[[questions.options]]
id = {quoted("a" + SCRIPT)}
name = {quoted("1 " + NAME)}
description = {quoted(ALL)}
tag = {quoted(SCRIPT[:60])}
examples = ["I want to buy a lamp", {quoted(ALL)}]

[[questions.options]]
id = "b'\\""
name = {quoted("2 " + RTL + " שלום עולם")}
description = {quoted(LONG)}
examples = ["My lamp is broken", "The bulb does not work any more"]

[[questions]]
id = "urgent"
kind = "noul"
instructions = {quoted("Urgent? " + ALL)}
yes = {quoted(ALL)}
no = "It can wait."

[[questions]]
id = "severity"
kind = "score"
instructions = {quoted(LONG)}
levels = [{quoted("none " + NAME)}, "some", {quoted("much " + LONG[:100])}]

[policy]
margin = 0.1
review_cost = 1
audit_rate = 0.1
automatic_audit_rate = 0.02
blind_share = 0

[[policy.overrides]]
id = "odd"
name = {quoted("Rule " + NAME)}
kind = "text"
words = ["fdp.exe", "<script>*", "lamp*"]

[[policy.overrides]]
id = "odd-data"
name = {quoted("Data " + RTL)}
kind = "metadata"
field = {quoted(SCRIPT)}
op = "="
value = {quoted(ALL[:200])}

[[policy.holds]]
question = "urgent"
low = 0
high = 1

[[policy.holds]]
question = "severity"
min_share = 1
"""
