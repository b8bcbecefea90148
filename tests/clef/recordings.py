"""Published recordings of real replies: the numbers are theirs, ids and states are short words of our own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from apps.clef.types import ChoiceQuestion, EndpointKind, NoulQuestion, Question, ScoreQuestion

Shares = Mapping[str, float]


@dataclass(frozen=True)
class Recording:
    """`answers` maps question id to P(yes), or to (choice or score, probabilities, confidence)."""

    name: str
    kind: EndpointKind
    model: str
    answers: Mapping[str, float | tuple[str | float, Shares, float | None]]
    usage: Mapping[str, float] | None
    enveloped: bool = True
    legend: bool = True
    warnings: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def questions(self) -> tuple[Question, ...]:
        return tuple(_question(id_, answer) for id_, answer in self.answers.items())

    @property
    def document(self) -> dict[str, Any]:
        answers = {id_: self._wire(answer) for id_, answer in self.answers.items()}
        body: dict[str, Any] = {"model": self.model, "answers": answers, **self.extra}
        if self.usage is not None:
            body["usage"] = dict(self.usage)
        return {"result": body, "success": True, "errors": [], "messages": []} if self.enveloped else body

    def _wire(self, answer: float | tuple[str | float, Shares, float | None]) -> dict[str, Any]:
        if not isinstance(answer, tuple):
            return {"type": "noul", "noul": answer}
        top, shares, confidence = answer
        wire: dict[str, Any] = {"probabilities": dict(shares)}
        if confidence is not None:
            wire["confidence"] = confidence
        if isinstance(top, str):
            return {"type": "choice", "choice": top, **wire}
        if self.legend:
            wire["legend"] = {level: f"level {level}" for level in shares}
        return {"type": "score", "score": top, **wire}


def _question(id_: str, answer: object) -> Question:
    if not isinstance(answer, tuple):
        return NoulQuestion(id_, "Is it so?")
    top, shares, _ = answer
    if isinstance(top, str):
        return ChoiceQuestion(id_, "Which one?", dict.fromkeys(shares))
    return ScoreQuestion(id_, "How much?", tuple(f"level {level}" for level in shares))


def _named(options: str, *shares: float) -> Shares:
    return dict(zip(options.split(), shares, strict=True))


def _levels(*shares: float) -> Shares:
    return {str(level): p for level, p in enumerate(shares)}


def _tokens(count: int, output: int = 0) -> Mapping[str, float]:
    return {"input_tokens": count, "output_tokens": output}


TEAM = "billing technical sales"
WA1 = Recording(
    "WA1",
    "workers-ai",
    "clef",
    {
        "urgent": 0.9906,
        "team": ("technical", _named(TEAM, 0.1762, 0.8088, 0.0150), 0.5281),
        "severity": (2.9573, _levels(0.0042, 0.0043, 0.0215, 0.9700), 0.9220),
    },
    _tokens(346),
)
WA2 = Recording(
    "WA2",
    "workers-ai",
    "clef-flash",
    {
        "urgent": 0.9551,
        "team": ("technical", _named(TEAM, 0.0505, 0.9355, 0.0140), 0.8170),
        "severity": (2.7182, _levels(0.0151, 0.0144, 0.2077, 0.7628), 0.5005),
    },
    _tokens(346),
)
WA3 = Recording(
    "WA3",
    "workers-ai",
    "clef-flash",
    {"team": ("technical", _named(TEAM, 0.0332, 0.9518, 0.0150), 0.8609)},
    _tokens(142),
)
WA4 = Recording(
    "WA4",
    "workers-ai",
    "clef-flash",
    {
        "topic": (
            "bug_report",
            _named("bug_report feature praise other", 0.9664, 0.0135, 0.0058, 0.0143),
            0.9126,
        ),
        "impact": (1.1069, _levels(0.0636, 0.7660, 0.1704), 0.4298),
        "angry": 0.5355,
    },
    _tokens(395),
)
WA5 = Recording(
    "WA5",
    "workers-ai",
    "clef-flash",
    {"memo": ("check", _named("idea todo check diary", 0.1477, 0.0151, 0.7676, 0.0696), 0.4880)},
    _tokens(194),
)
WA6 = Recording(
    "WA6",
    "workers-ai",
    "clef-flash",
    {"broken": 0.9661, "trade": ("mechanical", _named("mechanical electrical", 0.8954, 0.1046), 0.6254)},
    _tokens(217),
)
WA7 = Recording(
    "WA7",
    "workers-ai",
    "clef",
    {"urgent": 0.9912, "team": ("technical", _named("billing technical", 0.1632, 0.8368), 0.4538)},
    _tokens(222),
)
WA8 = Recording(
    "WA8",
    "workers-ai",
    "clef",
    {"malicious": 0.9813, "severity": (1.9206, _levels(0.0191, 0.0411, 0.9398), 0.8278)},
    _tokens(254),
)
WA9 = Recording(
    "WA9", "workers-ai", "clef", {"question": 0.6615, "request": 0.3572}, _tokens(294), enveloped=False
)
WA10 = Recording("WA10", "workers-ai", "clef-flash", {"is_invoice": 0.9590}, _tokens(677), enveloped=False)
J1 = Recording(
    "J1",
    "systemone",
    "jev-1.13.0",
    {
        "refund": 0.95,
        "team": ("billing", _named(TEAM, 0.88, 0.12, 0), 0.81),
        "severity": (1.05, _levels(0, 0.95, 0.05), 0.92),
    },
    _tokens(304, 18),
    enveloped=False,
)
J2 = Recording(
    "J2",
    "systemone",
    "jev-1.13.0",
    {
        "team": ("a", _named("a b c d", 0.95, 0.05, 0, 0), 0.93),
        "severity": (2.78, _levels(0, 0, 0.22, 0.78), 0.78),
    },
    None,
    enveloped=False,
    legend=False,
    warnings=("no usage",),
)
J3 = Recording(
    "J3",
    "systemone",
    "typesafe/jev-1.13",
    {"team": ("billing", _named(TEAM, 0.93, 0.05, 0.02), None)},
    {**_tokens(476, 70), "cost": 0.000019992},
    enveloped=False,
    warnings=("team: no readable confidence",),
)
C1 = Recording(
    "C1",
    "systemone",
    "colibri",
    {
        "team": ("b", _named("a b c", 0.059806, 0.939983, 0.000211), 0.909974),
        "severity": (2.831772, _levels(0.044403, 0.02624, 0.034899, 0.842097, 0.052361), 0.802621),
    },
    {**_tokens(210), "cost": 0},
    enveloped=False,
    warnings=("2 fields beside model, answers and usage",),
    extra={"id": "dec-1", "provider": "local"},
)
RECORDINGS = (WA1, WA2, WA3, WA4, WA5, WA6, WA7, WA8, WA9, WA10, J1, J2, J3, C1)
