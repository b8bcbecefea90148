from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from apps.calibration.charts import Axis, Drawing, to_percent

NS = "{http://www.w3.org/2000/svg}"


def drawn(
    caption: str = "Error: Spam", about: str = "What is seen.", source: str = "answers of a model"
) -> Drawing:
    return Drawing(caption=caption, about=about, source=source, x=Axis("Share"), y=Axis.up_to("Error", 0.05))


def parts(drawing: Drawing, look: str) -> list[ET.Element]:
    return [each for each in parsed(drawing).iter() if each.get("class") == f"chart-{look}"]


def parsed(drawing: Drawing) -> ET.Element:
    return ET.fromstring(drawing.to_svg())  # noqa: S314 - what was drawn a line before


def test_it_works() -> None:
    drawing = drawn()
    drawing.curve([(0, 0), (0.5, 0.05), (1, 0.02)], "bound")
    svg = parsed(drawing)
    assert svg.get("role") == "img"
    assert [svg.findtext(f"{NS}{tag}") for tag in ("title", "desc")] == ["Error: Spam", "What is seen."]
    assert parts(drawing, "bound")[0].get("points") == "50.0,252.0 252.0,42.0 454.0,168.0"


def test_what_lies_outside_stays_inside() -> None:
    drawing = drawn()
    drawing.mark(1.5, 0.9, "far off")
    (dot,) = parts(drawing, "dot")
    assert (dot.get("cx"), dot.get("cy")) == ("454", "42")


def test_few_answers_are_hollow() -> None:
    drawing = drawn()
    drawing.mark(0.5, 0.01, "7 answers", is_hollow=True)
    drawing.mark(0.6, 0.01, "70 answers")
    assert len(parts(drawing, "hollow")) == len(parts(drawing, "dot")) == 1
    assert parts(drawing, "hollow")[0].findtext(f"{NS}title") == "7 answers"


def test_lines_differ_without_colour() -> None:
    drawing = drawn()
    for look in ("estimate", "bound", "target", "ideal"):
        drawing.curve([(0, 0), (1, 0.05)], look)
    dashes = {
        look: parts(drawing, look)[0].get("stroke-dasharray") for look in ("estimate", "bound", "target")
    }
    assert len({*dashes.values(), parts(drawing, "ideal")[0].get("stroke-dasharray")}) == 4


def test_names_are_only_text() -> None:
    svg = drawn("<script>alert(1)</script> \x00\x07 & رسالة").to_svg()
    assert "&lt;script&gt;alert(1)&lt;/script&gt; \ufffd\ufffd &amp; رسالة" in svg
    assert "<script" not in svg


def test_numbers_run_from_left_to_right() -> None:
    assert parsed(drawn()).get("direction") == "ltr"


def test_top_ticks_keep_their_distance() -> None:
    drawing = drawn()
    drawing.top_ticks([(0.5, "from 90 %"), (0.51, "from 89 %"), (0.9, "from 50 %")])
    words = [each.text for each in parts(drawing, "words")]
    assert "from 90 %" in words
    assert "from 50 %" in words
    assert "from 89 %" not in words


def test_a_certified_point_is_seen() -> None:
    drawing = drawn()
    drawing.certified(0.5, 0.5)
    (edge,) = parts(drawing, "certified-edge")
    assert float(edge.get("x2", 0)) - float(edge.get("x1", 0)) >= 4


def test_reading_it_twice_gives_the_same() -> None:
    drawing = drawn()
    drawing.legend(("bound", "upper bound"), ("target", "target"), ("band", "interval"))
    assert drawing.to_svg() == drawing.to_svg()
    assert drawing.to_svg().count("upper bound") == 1


@pytest.mark.parametrize(("most", "high"), [(0.004, 0.01), (0.05, 0.05), (0.051, 0.1), (0.7, 1.0), (3, 1.0)])
def test_axes_end_at_round_numbers(most: float, high: float) -> None:
    axis = Axis.up_to("Error", most)
    assert axis.high == high
    assert axis.ticks[-1] == high


@pytest.mark.parametrize(("least", "low"), [(0.93, 0.9), (0.79, 0.6), (0.3, 0.2), (0.1, 0.0)])
def test_axes_begin_at_round_numbers(least: float, low: float) -> None:
    axis = Axis.down_to("Agreed", least)
    assert (axis.low, axis.ticks[-1]) == (low, 1.0)


def test_shares_keep_their_digits() -> None:
    assert [to_percent(each) for each in (0.995, 0.57, 1, 0.025)] == ["99.5 %", "57 %", "100 %", "2.5 %"]
