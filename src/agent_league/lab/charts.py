"""Charts as self-contained SVG, for light and dark, with a description in words: of an evaluation, and their parts.

Pure: numbers in, text out.
"""

import math
from collections.abc import Iterator, Sequence
from html import escape

from agent_league.lab.evaluation.criteria import RANDOM_OPPONENT, REQUIRED_WIN_RATE
from agent_league.lab.evaluation.model import Evaluation, GameEnding, OpponentSeries
from agent_league.ratings.statistics import Estimate

PLOT_WIDTH = 560
"""So narrow that a chart as wide as a phone can be read."""
MAX_CURVE_POINTS = 200
"""Most points of a curve."""
BINS_PER_DECADE = 6
"""Bars of the histogram per power of ten."""
PLOT_STYLE = """
.lp { font-family: system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; font-size: 13px; }
.lp text { fill: #1c2430; } .lp .soft { fill: #5d6775; font-size: 12px; } .lp .name { font-weight: 600; }
.lp .head { font-size: 15px; font-weight: 600; } .lp .paper { fill: #ffffff; } .lp .grid { stroke: #dfe3e8; }
.lp .axis { stroke: #9aa5b1; } .lp .win { fill: #2a78b5; } .lp .draw { fill: #c3cad2; } .lp .loss { fill: #dd8a33; }
.lp .technical { fill: #a3303c; } .lp .curve { stroke: #2a78b5; fill: none; stroke-width: 2; stroke-linejoin: round; }
.lp .band { fill: #2a78b5; fill-opacity: .18; } .lp .mark { stroke: #a3303c; stroke-width: 1.5; stroke-dasharray: 5 4; }
.lp .whisker { stroke: #1c2430; stroke-width: 2; } .lp .halo { stroke: #ffffff; stroke-width: 5; }
.lp .dot { fill: #1c2430; stroke: #ffffff; stroke-width: 1.5; }
@media (prefers-color-scheme: dark) {
.lp text { fill: #e4e8ee; } .lp .soft { fill: #a3adb8; } .lp .paper { fill: #14181d; } .lp .grid { stroke: #2b333c; }
.lp .axis { stroke: #5d6875; } .lp .win { fill: #4d9fdc; } .lp .draw { fill: #5a6572; } .lp .loss { fill: #d99145; }
.lp .technical { fill: #d75f6c; } .lp .curve { stroke: #4d9fdc; } .lp .band { fill: #4d9fdc; fill-opacity: .25; }
.lp .mark { stroke: #e08089; } .lp .whisker { stroke: #f2f5f8; } .lp .halo { stroke: #14181d; }
.lp .dot { fill: #f2f5f8; stroke: #14181d; } }
"""
BARS = (
    (GameEnding.WIN, "win", "won"),
    (GameEnding.DRAW, "draw", "drawn"),
    (GameEnding.LOSS, "loss", "lost"),
    (GameEnding.TECHNICAL_LOSS, "technical", "lost technically"),
)
"""Endings of games with the look of their bars and their word, from left to right."""
MARK_LABEL = f"mark: {REQUIRED_WIN_RATE:.0%}"


def draw_svg(title: str, told: str, height: float, parts: Sequence[str]) -> str:
    """Draw a chart of these parts with a title and, for screen readers, a description."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="lp" viewBox="0 0 {PLOT_WIDTH} {height:g}" '
        f'width="{PLOT_WIDTH}" '
        f'height="{height:g}" role="img">\n<title>{escape(title)}</title>\n<desc>{escape(told)}</desc>\n'
        f'<style>{PLOT_STYLE}</style>\n<rect class="paper" width="{PLOT_WIDTH}" height="{height:g}" rx="6"/>\n'
        f'<text class="head" x="8" y="24">{escape(title)}</text>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def draw_text(look: str, x: float, y: float, words: str, anchor: str = "start") -> str:
    place = f'x="{_coordinate(x)}" y="{_coordinate(y)}"'
    return f'<text class="{look}" {place} text-anchor="{anchor}">{escape(words)}</text>'


def draw_line(look: str, x: float, y: float, *, to_x: float | None = None, to_y: float | None = None) -> str:
    """Draw a line that is horizontal unless it has an end `to_y`, and vertical unless it has an end `to_x`."""
    x2, y2 = _coordinate(x if to_x is None else to_x), _coordinate(y if to_y is None else to_y)
    return f'<line class="{look}" x1="{_coordinate(x)}" x2="{x2}" y1="{_coordinate(y)}" y2="{y2}"/>'


def draw_bar(look: str, x: float, y: float, width: float, height: float, corner: float = 0) -> str:
    place = f'x="{_coordinate(x)}" y="{_coordinate(y)}"'
    return f'<rect class="{look}" {place} width="{_coordinate(width)}" height="{_coordinate(height)}" rx="{corner:g}"/>'


def draw_dot(look: str, x: float, y: float, radius: float) -> str:
    return f'<circle class="{look}" cx="{_coordinate(x)}" cy="{_coordinate(y)}" r="{radius:g}"/>'


def _coordinate(value: float) -> str:
    return f"{round(value, 1):g}"


def draw_outcomes(evaluation: Evaluation) -> str:
    """Draw a bar of wins, draws and losses for each opponent, with the interval of the win rate."""
    left, width, top, row = 116, 250, 94, 46
    tried = [series for series in evaluation.series if series.valid_games]
    bottom = top + row * max(len(tried), 1)
    parts = [*_draw_legend(left, 50)]
    for share in (0, 0.2, 0.4, 0.6, 0.8, 1):
        parts.append(draw_line("grid", left + width * share, top, to_y=bottom))
        parts.append(draw_text("soft", left + width * share, bottom + 20, f"{share:.0%}", "middle"))
    for number, series in enumerate(tried):
        parts += _draw_outcome_row(series, left, width, top + row * number, row)
    if not tried:
        parts.append(draw_text("soft", left, top + 28, "No game was played."))
    told = "; ".join(f"{series.opponent}: {_format_counts(series, '{} won, {} drawn, {} lost')}" for series in tried)
    description = f"Share of games, with the 95% interval of the wins. {told}."
    return draw_svg("Results by opponent", description, bottom + 36, parts)


def _draw_legend(left: float, y: float) -> Iterator[str]:
    x = left
    for _, look, word in BARS:
        yield draw_bar(look, x, y - 10, 12, 12, corner=2)
        yield draw_text("soft", x + 18, y, word)
        x += 34 + 6.6 * len(word)
    yield draw_line("whisker", left, y + 16, to_x=left + 20)
    yield draw_dot("dot", left + 10, y + 16, 4)
    yield draw_text("soft", left + 27, y + 20, "share won, 95% interval")
    yield draw_line("mark", left + 184, y + 8, to_y=y + 24)
    yield draw_text("soft", left + 191, y + 20, MARK_LABEL)


def _draw_outcome_row(series: OpponentSeries, left: float, width: float, y: float, row: float) -> Iterator[str]:
    games, middle = len(series.valid_games), y + row / 2
    yield draw_text("name", left - 12, middle + 4, series.opponent, "end")
    x = left
    for ending, look, _ in BARS:
        share = series.count_ending(ending) / games * width
        if share:
            yield draw_bar(look, x, y + 11, share, row - 22)
        x += share
    if series.opponent == RANDOM_OPPONENT:
        yield draw_line("mark", left + width * REQUIRED_WIN_RATE, y + 5, to_y=y + row - 5)
    won = series.score.win_rate
    low, high = (_coordinate(left + width * end) for end in (won.low, won.high))
    for look in ("halo", "whisker"):
        yield f'<path class="{look}" d="M{low} {middle:g}H{high}M{low} {middle - 5:g}v10M{high} {middle - 5:g}v10"/>'
    yield draw_dot("dot", left + width * won.value, middle, 4.5)
    yield draw_text("", left + width + 14, middle + 4, _format_counts(series, "{} / {} / {}"))
    yield draw_text("soft", PLOT_WIDTH - 8, middle + 4, f"{games} games", "end")


def _format_counts(series: OpponentSeries, form: str) -> str:
    return form.format(series.wins, series.count_ending(GameEnding.DRAW), series.losses)


def draw_progress(evaluation: Evaluation) -> str:
    """Draw the win rate game by game, a small panel for each opponent."""
    tried = [series for series in evaluation.series if series.valid_games]
    wide, high, gap, top = 258, 140, 66, 72
    parts: list[str] = []
    for number, series in enumerate(tried):
        parts += _draw_panel(series, 44 + (number % 2) * (wide + 22), top + number // 2 * (high + gap), wide - 76, high)
    if not tried:
        parts.append(draw_text("soft", 8, top, "No game was played."))
    bottom = top + -(-len(tried) // 2) * (high + gap) - 30
    told = "; ".join(f"{series.opponent}: {series.score.win_rate.value:.0%} at the end" for series in tried)
    description = f"With its 95% interval as a band. {told}."
    return draw_svg("Share of games won, game by game", description, max(bottom, 110), parts)


def _draw_panel(series: OpponentSeries, left: float, top: float, width: float, height: float) -> Iterator[str]:
    games, right, bottom = len(series.valid_games), left + width, top + height

    def y_of(share: float) -> float:
        return top + height * (1 - share)

    def points(curve: Sequence[tuple[int, float]]) -> str:
        return " ".join(f"{_coordinate(left + width * count / games)},{_coordinate(y_of(at))}" for count, at in curve)

    yield draw_text("name", left, top - 12, series.opponent)
    for share in (0, 0.5, 1):
        yield draw_line("grid", left, y_of(share), to_x=right)
        yield draw_text("soft", left - 6, y_of(share) + 4, f"{share:.0%}", "end")
    if series.opponent == RANDOM_OPPONENT:
        yield draw_line("mark", left, y_of(REQUIRED_WIN_RATE), to_x=right)
        yield draw_text("soft", right, y_of(REQUIRED_WIN_RATE) - 5, MARK_LABEL, "end")
    curve = list(_win_rate_curve(series))
    band = [*((count, rate.high) for count, rate in curve), *((count, rate.low) for count, rate in reversed(curve))]
    yield f'<polygon class="band" points="{points(band)}"/>'
    yield f'<polyline class="curve" points="{points([(count, rate.value) for count, rate in curve])}"/>'
    end = curve[-1][1].value
    yield draw_dot("win", right, y_of(end), 3.5)
    yield draw_text("", right + 8, y_of(end) + 4, f"{end:.0%}")
    yield draw_text("soft", left, bottom + 17, "game 1")
    yield draw_text("soft", right, bottom + 17, str(games), "end")


def _win_rate_curve(series: OpponentSeries) -> Iterator[tuple[int, Estimate]]:
    """Return some points of the win rate: number of games and estimate."""
    games = len(series.valid_games)
    step = max(1, -(-games // MAX_CURVE_POINTS))
    shown = sorted({1, *range(step, games + 1, step), games})
    return zip(shown, series.estimate_win_rates(shown), strict=True)


def draw_times(evaluation: Evaluation) -> str:
    """Draw a histogram of response times on a logarithmic scale."""
    seconds = [max(one, 1e-6) for game in evaluation.games for one in game.seconds]
    times = evaluation.response_times
    left, top, width, height = 70, 72, 462, 170
    bottom, title = top + height, "How long answers took"
    if times is None:
        return draw_svg(title, "No answer came.", 110, [draw_text("soft", 8, top, "No answer came.")])
    first = math.floor(math.log10(min(seconds)))
    last = max(math.ceil(math.log10(max(seconds))), first + 1)
    bins = _count_bins(seconds, first, last)
    most, bar = max(bins), width / len(bins)

    def x_of(value: float) -> float:
        return left + width * (math.log10(max(value, 1e-6)) - first) / (last - first)

    parts = []
    for power in range(first, last + 1):
        parts.append(draw_line("grid", x_of(10.0**power), top, to_y=bottom))
        parts.append(draw_text("soft", x_of(10.0**power), bottom + 20, format_seconds(10.0**power), "middle"))
    for number, count in enumerate(bins):
        if count:
            tall = max(height * count / most, 1.5)
            parts.append(draw_bar("win", left + bar * number + 1, bottom - tall, bar - 2, tall, corner=1.5))
    parts.append(draw_line("axis", left, bottom, to_x=left + width))
    for y, word in ((top + 5, str(most)), (top + 20, "answers"), (bottom, "0")):
        parts.append(draw_text("soft", left - 8, y, word, "end"))
    near = x_of(times.late) - x_of(times.median) < 150
    for value, word, crowded in ((times.median, "median", near), (times.late, "95th percentile", False)):
        x = x_of(value)
        gap, anchor = (-5, "end") if crowded or x > left + width - 150 else (5, "start")
        parts.append(draw_line("mark", x, top - 8, to_y=bottom))
        parts.append(draw_text("soft", x + gap, top - 12, f"{word} {format_seconds(value)}", anchor))
    told = f"{times.answers} answers: median {format_seconds(times.median)}, 95% below {format_seconds(times.late)}, "
    return draw_svg(title, f"{told}longest {format_seconds(times.longest)}.", bottom + 36, parts)


def _count_bins(seconds: Sequence[float], first: int, last: int) -> list[int]:
    bins = [0] * ((last - first) * BINS_PER_DECADE)
    for one in seconds:
        place = int((math.log10(one) - first) * BINS_PER_DECADE)
        bins[min(max(place, 0), len(bins) - 1)] += 1
    return bins


def format_seconds(seconds: float) -> str:
    """Format seconds with a unit: 3.2 ms, 1.5 s."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size * 0.9995 or unit == "µs":
            return f"{seconds / size:.3g} {unit}"
    raise AssertionError  # the smallest unit takes everything
