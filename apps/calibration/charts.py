"""Charts as SVG, drawn here: no script, no library, nothing from outside.

One drawing serves the page and the file. Colours are presentation attributes, right on paper and in a file; a page
gives them its own through the classes (static/calibration.css). What differs also differs in shape or in dashes, so
that a chart can be read in grey. Numbers run from left to right in every script.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Literal
from xml.etree import ElementTree as ET

WIDTH, LEFT, RIGHT = 480, 50, 454
_TOP, _PLOT_HEIGHT, _ROW = 42, 210, 18

Mark = Literal["dot", "square"]
Line = Literal["estimate", "bound", "target", "ideal"]
Sample = Literal[
    "dot", "hollow", "square", "estimate", "bound", "target", "ideal", "band", "certified", "force"
]

_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_INK, _SOFT, _ACCENT, _HELD, _BAD, _GOOD = "#1a1b1e", "#595b60", "#2f4fb5", "#804c00", "#a52020", "#1b663a"
_LOOKS: dict[str, dict[str, str]] = {
    "paper": {"fill": "#ffffff"},
    "grid": {"stroke": "#e3e3dc"},
    "axis": {"stroke": "#8a8b83"},
    "words": {"fill": _SOFT, "font-size": "12"},
    "caption": {"fill": _INK, "font-size": "13", "font-weight": "600"},
    "estimate": {"fill": "none", "stroke": _ACCENT, "stroke-width": "2"},
    "bound": {"fill": "none", "stroke": _HELD, "stroke-width": "2", "stroke-dasharray": "6 3"},
    "target": {"fill": "none", "stroke": _BAD, "stroke-width": "1.5", "stroke-dasharray": "9 3 2 3"},
    "ideal": {"fill": "none", "stroke": "#8a8b83", "stroke-width": "1.5", "stroke-dasharray": "2 4"},
    "band": {"fill": _ACCENT, "fill-opacity": "0.18"},
    "certified": {"fill": "#e4f3e9"},
    "certified-edge": {"stroke": _GOOD, "stroke-width": "4"},
    "force": {"stroke": _INK, "stroke-width": "1.5", "fill": _INK},
    "whisker": {"stroke": _ACCENT, "stroke-width": "1.5"},
    "dot": {"fill": _ACCENT, "stroke": _ACCENT, "stroke-width": "1.5"},
    "square": {"fill": _HELD, "stroke": _HELD, "stroke-width": "1.5"},
    "hollow": {"fill": "#ffffff", "stroke": _ACCENT, "stroke-width": "1.5"},
    "hollow-square": {"fill": "#ffffff", "stroke": _HELD, "stroke-width": "1.5"},
    "whisker-square": {"stroke": _HELD, "stroke-width": "1.5"},
    "chosen": {"stroke": _INK, "stroke-width": "1", "fill": "none"},
}


@dataclass(frozen=True, slots=True)
class Axis:
    """A scale of shares from `low` to `high`, with a line at every `step`; `name` says of what."""

    name: str
    low: float = 0.0
    high: float = 1.0
    step: float = 0.2

    def place(self, value: float) -> float:
        """0 at the low end, 1 at the high end; beyond them the end itself."""
        return min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)

    @property
    def ticks(self) -> list[float]:
        count = round((self.high - self.low) / self.step)
        return [round(self.low + place * self.step, 10) for place in range(count + 1)]

    @classmethod
    def up_to(cls, name: str, most: float) -> Axis:
        """From 0 to a round number at or above `most`."""
        ends = ((0.01, 0.002), (0.02, 0.005), (0.05, 0.01), (0.1, 0.02), (0.2, 0.05), (0.4, 0.1), (0.6, 0.1))
        for high, step in ends:
            if most <= high:
                return cls(name, 0.0, high, step)
        return cls(name)

    @classmethod
    def down_to(cls, name: str, least: float) -> Axis:
        """From a round number at or below `least` to 1."""
        for low, step in ((0.9, 0.02), (0.8, 0.05), (0.6, 0.1), (0.5, 0.1), (0.4, 0.1), (0.2, 0.2)):
            if least >= low:
                return cls(name, low, 1.0, step)
        return cls(name)


def to_percent(share: float) -> str:
    """0.025 as "2.5 %": every digit that was set."""
    return f"{round(share * 100, 10):.12g} %"


class Drawing:
    """A plot with its axes, caption and legend; what is drawn later lies on top.

    `caption` stands above it and the lines of `source` below, both also in the file; `about` says in a sentence
    what is seen. `has_top_ticks` leaves room for a second scale above the plot.
    """

    def __init__(
        self, *, caption: str, about: str, source: str, x: Axis, y: Axis, has_top_ticks: bool = False
    ) -> None:
        self.caption, self.source = caption, source
        self.x, self.y = x, y
        self.top = _TOP + (_ROW if has_top_ticks else 0)
        self.bottom = self.top + _PLOT_HEIGHT
        self._legend: list[tuple[Sample, str]] = []
        self._svg = ET.Element(
            "svg",
            {
                "xmlns": "http://www.w3.org/2000/svg",
                "class": "chart",
                "role": "img",
                "direction": "ltr",
                "font-family": "system-ui, sans-serif",
            },
        )
        self._svg.set("aria-label", _clean(f"{caption}. {about}"))
        ET.SubElement(self._svg, "title").text = _clean(caption)
        ET.SubElement(self._svg, "desc").text = _clean(about)
        self._paper = self._add("rect", "paper", width=WIDTH)
        self._axes()

    # Places in the drawing.

    def across(self, value: float) -> float:
        return round(LEFT + self.x.place(value) * (RIGHT - LEFT), 1)

    def upwards(self, value: float) -> float:
        return round(self.bottom - self.y.place(value) * _PLOT_HEIGHT, 1)

    # What can be drawn.

    def curve(self, points: Iterable[tuple[float, float]], look: Line) -> None:
        """Points above the plot are left out: at its upper edge they would look like what they are not."""
        places = " ".join(f"{self.across(x)},{self.upwards(y)}" for x, y in points if y <= self.y.high)
        if places:
            self._add("polyline", look, points=places)

    def band(self, points: Sequence[tuple[float, float, float]]) -> None:
        """Between the low and the high of (x, low, high)."""
        there = [f"{self.across(x)},{self.upwards(high)}" for x, _, high in points]
        back = [f"{self.across(x)},{self.upwards(low)}" for x, low, _ in reversed(points)]
        if points:
            self._add("polygon", "band", points=" ".join((*there, *back)))

    def whisker(self, x: float, low: float, high: float, mark: Mark = "dot", *, moved: float = 0) -> None:
        look = "whisker" if mark == "dot" else "whisker-square"
        at = self.across(x) + moved
        for x1, x2, y1, y2 in ((0, 0, low, high), (-3, 3, low, low), (-3, 3, high, high)):
            self._add("line", look, x1=at + x1, x2=at + x2, y1=self.upwards(y1), y2=self.upwards(y2))

    def stretch(self, low: float, high: float, y: float, mark: Mark = "dot", *, moved: float = 0) -> None:
        """A level line: a mark stands for all from `low` to `high`."""
        look = "whisker" if mark == "dot" else "whisker-square"
        at = self.upwards(y)
        self._add("line", look, x1=self.across(low) + moved, x2=self.across(high) + moved, y1=at, y2=at)

    def mark(
        self, x: float, y: float, says: str, mark: Mark = "dot", *, is_hollow: bool = False, moved: float = 0
    ) -> None:
        """`says` is read where the pointer rests."""
        across, up = self.across(x) + moved, self.upwards(y)
        if mark == "dot":
            shape = self._add("circle", "hollow" if is_hollow else "dot", cx=across, cy=up, r=4)
        else:
            look = "hollow-square" if is_hollow else "square"
            shape = self._add("rect", look, x=across - 3.5, y=up - 3.5, width=7, height=7)
        ET.SubElement(shape, "title").text = _clean(says)

    def certified(self, low: float, high: float) -> None:
        """A shaded range of x, with a thick line along the axis: a single value is seen as well."""
        start, end = self.across(low), max(self.across(high), self.across(low) + 1)
        self._add("rect", "certified", x=start, y=self.top, width=round(end - start, 1), height=_PLOT_HEIGHT)
        start, end = (start - 2, end + 2) if end - start < 4 else (start, end)
        self._add("line", "certified-edge", x1=start, x2=end, y1=self.bottom - 2, y2=self.bottom - 2)

    def force(self, x: float) -> None:
        """An upright line with a triangle at its head: what is in force."""
        at = self.across(x)
        self._add("line", "force", x1=at, x2=at, y1=self.top, y2=self.bottom)
        self._add("polygon", "force", points=f"{at - 5},{self.top} {at + 5},{self.top} {at},{self.top + 8}")

    def top_ticks(self, ticks: Iterable[tuple[float, str]]) -> None:
        """A second scale above the plot; of two that would touch the first one stays."""
        taken: list[float] = []
        for value, words in ticks:
            at = self.across(value)
            if all(abs(at - other) >= 76 for other in taken):
                taken.append(at)
                self._add("line", "axis", x1=at, x2=at, y1=self.top - 4, y2=self.top)
                is_last = at > RIGHT - 30
                place = WIDTH - 4 if is_last else at
                self._words(words, place, self.top - 7, anchor="end" if is_last else "middle")

    def chosen(self) -> None:
        """A marker that a script moves to what the reader chose; nothing is seen of it before."""
        group = ET.SubElement(self._svg, "g", {"class": "chart-chosen", "visibility": "hidden"})
        for tag, places in (
            ("line", {"x1": LEFT, "x2": LEFT, "y1": self.top, "y2": self.bottom}),
            ("circle", {"r": 6, "cx": LEFT, "cy": self.top}),
        ):
            ET.SubElement(group, tag, {**_look("chosen"), **{k: str(v) for k, v in places.items()}})

    def legend(self, *entries: tuple[Sample, str]) -> None:
        self._legend.extend(entries)

    def to_svg(self) -> str:
        """The drawing as it is by now. `width` and `height` are for the file; a page sets its own."""
        done = deepcopy(self)
        done._finish()
        return ET.tostring(done._svg, encoding="unicode")

    def _finish(self) -> None:
        start = self.bottom + 52
        for place, (sample, words) in enumerate(self._legend):
            x, y = LEFT + place % 2 * 204, start + place // 2 * _ROW
            self._sample(sample, x, y - 4)
            self._words(words, x + 28, y)
        end = start + (len(self._legend) + 1) // 2 * _ROW
        for place, line in enumerate(self.source.splitlines()):
            self._words(line, LEFT, end + 2 + place * _ROW)
        height = end + 14 + self.source.count("\n") * _ROW
        self._paper.set("height", str(height))
        for name, value in (("viewBox", f"0 0 {WIDTH} {height}"), ("width", WIDTH), ("height", height)):
            self._svg.set(name, str(value))

    def _axes(self) -> None:
        self._words(self.caption, LEFT, 15, look="caption")
        self._words(self.y.name, LEFT, 33)
        for value in self.y.ticks:
            at = self.upwards(value)
            self._add("line", "grid", x1=LEFT, x2=RIGHT, y1=at, y2=at)
            self._words(to_percent(value), LEFT - 6, at + 4, anchor="end")
        for value in self.x.ticks:
            at = self.across(value)
            self._add("line", "axis", x1=at, x2=at, y1=self.bottom, y2=self.bottom + 4)
            self._words(to_percent(value), at, self.bottom + 17, anchor="middle")
        self._add("line", "axis", x1=LEFT, x2=RIGHT, y1=self.bottom, y2=self.bottom)
        self._words(self.x.name, LEFT, self.bottom + 33)

    def _sample(self, sample: Sample, x: float, y: float) -> None:
        if sample in ("dot", "hollow"):
            self._add("circle", sample, cx=x + 10, cy=y, r=4)
        elif sample == "square":
            self._add("rect", sample, x=x + 6.5, y=y - 3.5, width=7, height=7)
        elif sample == "band":
            self._add("rect", sample, x=x, y=y - 5, width=20, height=10)
        elif sample == "certified":
            self._add("rect", sample, x=x, y=y - 5, width=20, height=10)
            self._add("line", "certified-edge", x1=x, x2=x + 20, y1=y + 3, y2=y + 3)
        elif sample == "force":
            self._add("line", sample, x1=x + 10, x2=x + 10, y1=y - 6, y2=y + 6)
            self._add("polygon", sample, points=f"{x + 5},{y - 6} {x + 15},{y - 6} {x + 10},{y + 2}")
        else:
            self._add("line", sample, x1=x, x2=x + 20, y1=y, y2=y)

    def _add(self, tag: str, look: str, **places: float | str) -> ET.Element:
        attributes = {
            name: f"{value:g}" if isinstance(value, float) else str(value) for name, value in places.items()
        }
        return ET.SubElement(self._svg, tag, _look(look) | attributes)

    def _words(self, words: str, x: float, y: float, *, anchor: str = "start", look: str = "words") -> None:
        element = ET.SubElement(
            self._svg, "text", _look(look) | {"x": f"{x:g}", "y": f"{y:g}", "text-anchor": anchor}
        )
        element.text = _clean(words)


def _look(name: str) -> dict[str, str]:
    return {"class": f"chart-{name}", **_LOOKS[name]}


def _clean(text: str) -> str:
    """Without the characters that no XML file may hold."""
    return _NOT_IN_XML.sub("\ufffd", text)
