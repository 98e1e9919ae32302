"""Line charts: within their frame for one round and for many, and told in words."""

import re
from xml.etree import ElementTree as ET

import pytest

from agent_league.web.player.charts import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    ChartAxes,
    ChartLine,
    choose_marks,
    draw_line_chart,
)


def drawn(values: list[int], *, first: int = 1, upside_down: bool = False) -> ET.Element:
    axes = ChartAxes("round", "points", first, len(values), min(0, *values), max(1, *values), upside_down)
    text = draw_line_chart("c", "A <b> title", "A & summary", axes, [ChartLine(values)])
    return ET.fromstring(text)


def points(chart: ET.Element) -> list[tuple[float, float]]:
    (line,) = chart.findall("polyline")
    return [(float(x), float(y)) for x, y in (pair.split(",") for pair in line.attrib["points"].split())]


@pytest.mark.parametrize("rounds", [1, 2, 7, 199])
def test_every_point_is_within_the_frame_and_in_order(rounds: int) -> None:
    found = points(drawn([(number * 7) % 30 for number in range(rounds)]))
    assert len(found) == rounds
    assert all(LEFT <= x <= WIDTH - RIGHT and TOP <= y <= HEIGHT - BOTTOM for x, y in found)
    assert [x for x, _ in found] == sorted({x for x, _ in found})


def test_a_mark_of_four_digits_below_zero_is_within_the_frame_on_a_phone_too() -> None:
    digit = 0.64 * 12  # the widest letters, in the size of phones
    marks = [text for text in drawn([-1138, 500]).findall("text") if text.attrib.get("text-anchor") == "end"]
    assert "-1138" in [mark.text for mark in marks]
    assert all(float(mark.attrib["x"]) >= digit * len(mark.text or "") for mark in marks)


def test_more_is_higher_and_a_better_rank_is_higher_too() -> None:
    low, high = points(drawn([0, 9]))
    assert low[1] > high[1]
    first, last = points(drawn([1, 9], upside_down=True))
    assert first[1] < last[1]


def test_title_and_summary_are_named_and_escaped() -> None:
    chart = drawn([1, 2])
    named = chart.attrib["aria-labelledby"].split()
    assert [chart.find(tag).attrib["id"] for tag in ("title", "desc")] == named  # type: ignore[union-attr]
    assert (chart.findtext("title"), chart.findtext("desc")) == ("A <b> title", "A & summary")


def test_a_chart_has_no_style_of_its_own() -> None:
    text = ET.tostring(drawn([1, 2, 3]), encoding="unicode")
    assert not re.search(r"style=|fill=|stroke=", text)


def test_dots_give_way_to_a_line_where_there_are_many() -> None:
    assert len(drawn(list(range(10))).findall("circle")) == 10
    assert len(drawn(list(range(100))).findall("circle")) == 1


@pytest.mark.parametrize(
    ("low", "high", "found"),
    [
        (1, 1, [1]),
        (0, 1, [0, 1]),
        (0, 6, [0, 1, 2, 3, 4, 5, 6]),
        (0, 12, [0, 2, 4, 6, 8, 10, 12]),
        (1, 100, [1, 20, 40, 60, 80, 100]),
        (0, 192, [0, 50, 100, 150, 192]),
        (1, 199, [1, 50, 100, 150, 199]),
        (-3, 3, [-3, -2, -1, 0, 1, 2, 3]),
    ],
)
def test_marks_are_round_and_few(low: int, high: int, found: list[int]) -> None:
    assert choose_marks(low, high) == found


def test_a_line_of_some_steps_stands_at_these_and_its_band_around_it() -> None:
    axes = ChartAxes("round", "Elo", 1, 10, -100, 200)
    line = ChartLine([0, 50, 100], places=[0, 4, 9], intervals=[(-100, 100), (0, 100), (50, 200)])
    chart = ET.fromstring(draw_line_chart("c", "Rating", "A summary", axes, [line]))
    assert [x for x, _ in points(chart)] == [pytest.approx(axes.x_position(at), abs=0.1) for at in (0, 4, 9)]
    (band,) = chart.findall("polygon")
    around = [tuple(map(float, pair.split(","))) for pair in band.attrib["points"].split()]
    assert len(around) == 6
    for (x, y), (_, low), (_, high) in zip(points(chart), around[:3], around[:2:-1], strict=True):
        assert x in {one for one, _ in around}
        assert high < y < low
