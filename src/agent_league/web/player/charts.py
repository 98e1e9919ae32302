"""Line charts as SVG. Colours are in the style sheet; each chart has a text summary for screen readers."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

WIDTH, HEIGHT = 380, 210
LEFT, RIGHT, TOP, BOTTOM = 38, 14, 12, 34
MOST_DOTS = 40
"""With more points than this, only the last one gets a dot."""
MOST_MARKS = 6
NICE_STEPS = (1, 2, 5)


@dataclass(frozen=True, slots=True)
class ChartLine:
    """A line of a chart: one value per step."""

    values: Sequence[int]
    kind: str = "own"
    """CSS class: `own`, or `other` for a line to compare with."""


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
    parts = [
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="{name}-title {name}-desc">',
        f'<title id="{name}-title">{escape(title)}</title><desc id="{name}-desc">{escape(summary)}</desc>',
        *_draw_y_marks(axes),
        *_draw_x_marks(axes),
        *(part for line in lines for part in _draw_line(axes, line)),
        "</svg>",
    ]
    return Markup("".join(parts))  # noqa: S704 - numbers, and words that were escaped


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


def _draw_y_marks(axes: ChartAxes) -> list[str]:
    lines = []
    for mark in choose_marks(axes.lowest, axes.highest):
        y = _number(axes.y_position(mark))
        lines.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>')
        lines.append(f'<text x="{LEFT - 6}" y="{y}" dy="0.35em" text-anchor="end">{mark}</text>')
    middle = (TOP + HEIGHT - BOTTOM) / 2
    turned = f'transform="rotate(-90 9 {_number(middle)})"'
    lines.append(
        f'<text class="axis" x="9" y="{_number(middle)}" text-anchor="middle" {turned}>{escape(axes.up)}</text>'
    )
    return lines


def _draw_x_marks(axes: ChartAxes) -> list[str]:
    bottom = HEIGHT - BOTTOM
    last = axes.first_step + axes.step_count - 1
    lines = []
    for mark in choose_marks(axes.first_step, last):
        x = _number(axes.x_position(mark - axes.first_step))
        lines.append(f'<text x="{x}" y="{bottom + 15}" text-anchor="middle">{mark}</text>')
    middle = _number((LEFT + WIDTH - RIGHT) / 2)
    lines.append(f'<text class="axis" x="{middle}" y="{HEIGHT - 4}" text-anchor="middle">{escape(axes.across)}</text>')
    return lines


def _draw_line(axes: ChartAxes, line: ChartLine) -> list[str]:
    places = [(_number(axes.x_position(at)), _number(axes.y_position(value))) for at, value in enumerate(line.values)]
    if not places:
        return []
    points = " ".join(f"{x},{y}" for x, y in places)
    drawn = [f'<polyline class="line {line.kind}" points="{points}"/>']
    if line.kind == "own":
        dots = places if len(places) <= MOST_DOTS else places[-1:]
        drawn += [f'<circle class="dot" cx="{x}" cy="{y}" r="3"/>' for x, y in dots]
    return drawn


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
