"""Line charts as SVG. Colours are in the style sheet; each chart has a text summary for screen readers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from agent_league.web.rendering import LiveSite, render

WIDTH, HEIGHT = 380, 210
LEFT, RIGHT, TOP, BOTTOM = 50, 14, 12, 34
MOST_DOTS = 40
"""With more points than this, only the last one gets a dot."""
MOST_MARKS = 6
NICE_STEPS = (1, 2, 5)


@dataclass(frozen=True, slots=True)
class ChartLine:
    """A line of a chart."""

    values: Sequence[int]
    kind: str = "own"
    """CSS class: `own`, or `other` for a line to compare with."""
    places: Sequence[int] = ()
    """The steps of the values, counted from 0; empty: there is a value for each step."""
    intervals: Sequence[tuple[int, int]] = ()
    """How sure each value is, drawn as a band behind the line; empty: there is none."""


@dataclass(frozen=True, slots=True)
class ChartAxes:
    """Labels and ranges of both axes; steps count from `first_step`. Inverted, the lowest value is at the top."""

    across: str
    up: str
    first_step: int
    step_count: int
    lowest: int
    highest: int
    is_inverted: bool = False

    def x_position(self, at: int) -> float:
        room = WIDTH - LEFT - RIGHT
        return LEFT + (room / 2 if self.step_count < 2 else room * at / (self.step_count - 1))

    def y_position(self, value: float) -> float:
        room = HEIGHT - TOP - BOTTOM
        span = self.highest - self.lowest
        share = (value - self.lowest) / span if span else 0.5
        return TOP + room * (share if self.is_inverted else 1 - share)


def draw_line_chart(name: str, title: str, summary: str, axes: ChartAxes, lines: Sequence[ChartLine]) -> Markup:
    """Draw a chart; `name` must be unique on the page, `summary` describes it for screen readers."""
    last_step = axes.first_step + axes.step_count - 1
    told = {
        "name": name,
        "title": title,
        "summary": summary,
        "axes": axes,
        "wide": WIDTH,
        "high": HEIGHT,
        "left": LEFT,
        "right": WIDTH - RIGHT,
        "bottom": HEIGHT - BOTTOM,
        "middle_x": _number((LEFT + WIDTH - RIGHT) / 2),
        "middle_y": _number((TOP + HEIGHT - BOTTOM) / 2),
        "y_marks": [(_number(axes.y_position(mark)), mark) for mark in choose_marks(axes.lowest, axes.highest)],
        "x_marks": [
            (_number(axes.x_position(mark - axes.first_step)), mark)
            for mark in choose_marks(axes.first_step, last_step)
        ],
        "bands": [_place_band(axes, line) for line in lines if line.intervals],
        "lines": [_place_line(axes, line) for line in lines],
    }
    return Markup(render("_chart.html", LiveSite(), told))  # noqa: S704 - our template's own text, escaped


def choose_marks(low: int, high: int) -> list[int]:
    """Choose at most a few round numbers between two ends as axis marks; both ends of a short scale."""
    step, power = 1, 1
    while (high - low) / step > MOST_MARKS:
        at = NICE_STEPS.index(step // power)
        step, power = (NICE_STEPS[at + 1] * power, power) if at < 2 else (10 * power, 10 * power)
    first = -(-low // step) * step
    inner = [mark for mark in range(first, high + 1, step) if mark - low >= step / 2]
    found = [low, *inner]
    return [*found, high] if high - found[-1] >= step / 2 else found


def _place_line(axes: ChartAxes, line: ChartLine) -> tuple[str, list[tuple[str, str]], list[tuple[str, str]]]:
    """Return a line's kind, its points, and those of them that get a dot."""
    places = [(_number(axes.x_position(at)), _number(axes.y_position(value))) for at, value in _iter_points(line)]
    dots = places if len(places) <= MOST_DOTS else places[-1:]
    return line.kind, places, dots if line.kind == "own" else []


def _place_band(axes: ChartAxes, line: ChartLine) -> list[tuple[str, str]]:
    """Return the outline of a line's intervals: along the lower ends, and back along the upper ones."""
    ends = [(at, interval) for (at, _), interval in zip(_iter_points(line), line.intervals, strict=True)]
    around = [(at, low) for at, (low, _) in ends] + [(at, high) for at, (_, high) in reversed(ends)]
    return [(_number(axes.x_position(at)), _number(axes.y_position(value))) for at, value in around]


def _iter_points(line: ChartLine) -> Iterator[tuple[int, int]]:
    return zip(line.places or range(len(line.values)), line.values, strict=True)


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
