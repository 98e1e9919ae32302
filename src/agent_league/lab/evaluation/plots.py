"""The plots of an evaluation as self-contained SVG, for light and dark, with a description in words.

Pure: numbers in, text out.
"""

import math
from collections.abc import Iterator, Sequence
from html import escape

from agent_league.lab.evaluation.criteria import RANDOM_OPPONENT, REQUIRED_WIN_RATE
from agent_league.lab.evaluation.model import Evaluation, GameEnding, OpponentSeries
from agent_league.lab.statistics import Estimate

PLOT_WIDTH = 760
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
ENDING_WORDS = (
    (GameEnding.WIN, "won"),
    (GameEnding.DRAW, "drawn"),
    (GameEnding.LOSS, "lost"),
    (GameEnding.TECHNICAL_LOSS, "lost technically"),
)
MARK_LABEL = f"mark: {REQUIRED_WIN_RATE:.0%}"
ENDING_CLASSES = {
    GameEnding.WIN: "win",
    GameEnding.DRAW: "draw",
    GameEnding.LOSS: "loss",
    GameEnding.TECHNICAL_LOSS: "technical",
}


def draw_outcomes(evaluation: Evaluation) -> str:
    """Draw a bar of wins, draws and losses for each opponent, with the interval of the win rate."""
    left, width, top, row = 132, 450, 74, 46
    tried = [series for series in evaluation.series if series.valid_games]
    bottom = top + row * max(len(tried), 1)
    parts = [*_draw_legend(left, 50)]
    parts += [
        f'<line class="grid" x1="{_x_position(left, width, share)}" x2="{_x_position(left, width, share)}" '
        f'y1="{top}" y2="{bottom}"/>'
        f'<text class="soft" x="{_x_position(left, width, share)}" y="{bottom + 20}" '
        f'text-anchor="middle">{share:.0%}</text>'
        for share in (0, 0.2, 0.4, 0.6, 0.8, 1)
    ]
    for number, series in enumerate(tried):
        parts += _draw_outcome_row(series, left, width, top + row * number, row)
    if not tried:
        parts.append(f'<text class="soft" x="{left}" y="{top + 28}">No game was played.</text>')
    told = "; ".join(
        f"{series.opponent}: {series.wins} won, {series.count_ending(GameEnding.DRAW)} drawn, {series.losses} lost"
        for series in tried
    )
    return render_svg(
        "Results by opponent", f"Share of games, with the 95% interval of the wins. {told}.", bottom + 36, parts
    )


def _draw_legend(x: float, y: float) -> Iterator[str]:
    for kind, word in ENDING_WORDS:
        yield f'<rect class="{ENDING_CLASSES[kind]}" x="{x:g}" y="{y - 10:g}" width="12" height="12" rx="2"/>'
        yield f'<text class="soft" x="{x + 18:g}" y="{y:g}">{word}</text>'
        x += 34 + 6.6 * len(word)
    yield f'<line class="whisker" x1="{x:g}" x2="{x + 20:g}" y1="{y - 4:g}" y2="{y - 4:g}"/>'
    yield f'<circle class="dot" cx="{x + 10:g}" cy="{y - 4:g}" r="4"/>'
    yield f'<text class="soft" x="{x + 27:g}" y="{y:g}">share won, 95% interval</text>'
    yield f'<line class="mark" x1="{x + 184:g}" x2="{x + 184:g}" y1="{y - 12:g}" y2="{y + 4:g}"/>'
    yield f'<text class="soft" x="{x + 191:g}" y="{y:g}">{MARK_LABEL}</text>'


def _draw_outcome_row(series: OpponentSeries, left: float, width: float, y: float, row: float) -> Iterator[str]:
    games, middle = len(series.valid_games), y + row / 2
    yield f'<text class="name" x="{left - 12:g}" y="{middle + 4:g}" text-anchor="end">{escape(series.opponent)}</text>'
    x = left
    for kind, _ in ENDING_WORDS:
        share = series.count_ending(kind) / games * width
        if share:
            yield (
                f'<rect class="{ENDING_CLASSES[kind]}" x="{x:.1f}" y="{y + 11:g}" width="{share:.1f}" '
                f'height="{row - 22:g}"/>'
            )
        x += share
    if series.opponent == RANDOM_OPPONENT:
        mark = _x_position(left, width, REQUIRED_WIN_RATE)
        yield f'<line class="mark" x1="{mark}" x2="{mark}" y1="{y + 5:g}" y2="{y + row - 5:g}"/>'
    yield from _draw_interval(series.score.win_rate, left, width, middle)
    counts = f"{series.wins} / {series.count_ending(GameEnding.DRAW)} / {series.losses}"
    yield f'<text x="{left + width + 14:g}" y="{middle + 4:g}">{counts}</text>'
    yield f'<text class="soft" x="{PLOT_WIDTH - 8}" y="{middle + 4:g}" text-anchor="end">{games} games</text>'


def _draw_interval(share: Estimate, left: float, width: float, y: float) -> Iterator[str]:
    low, high = _x_position(left, width, share.low), _x_position(left, width, share.high)
    for look in ("halo", "whisker"):
        yield f'<path class="{look}" d="M{low} {y:g}H{high}M{low} {y - 5:g}v10M{high} {y - 5:g}v10"/>'
    yield f'<circle class="dot" cx="{_x_position(left, width, share.value)}" cy="{y:g}" r="4.5"/>'


def draw_progress(evaluation: Evaluation) -> str:
    """Draw the win rate game by game, a small panel for each opponent."""
    tried = [series for series in evaluation.series if series.valid_games]
    wide, high, gap, top = 350, 140, 66, 72
    parts: list[str] = []
    for number, series in enumerate(tried):
        parts += _draw_panel(series, 44 + (number % 2) * (wide + 22), top + number // 2 * (high + gap), wide - 76, high)
    if not tried:
        parts.append(f'<text class="soft" x="8" y="{top}">No game was played.</text>')
    bottom = top + -(-len(tried) // 2) * (high + gap) - 30
    told = "; ".join(f"{series.opponent}: {series.score.win_rate.value:.0%} at the end" for series in tried)
    return render_svg(
        "Share of games won, game by game", f"With its 95% interval as a band. {told}.", max(bottom, 110), parts
    )


def _draw_panel(series: OpponentSeries, left: float, top: float, width: float, height: float) -> Iterator[str]:
    games = len(series.valid_games)
    yield f'<text class="name" x="{left:g}" y="{top - 12:g}">{escape(series.opponent)}</text>'
    for share in (0, 0.5, 1):
        y = top + height * (1 - share)
        yield f'<line class="grid" x1="{left:g}" x2="{left + width:g}" y1="{y:g}" y2="{y:g}"/>'
        yield f'<text class="soft" x="{left - 6:g}" y="{y + 4:g}" text-anchor="end">{share:.0%}</text>'
    if series.opponent == RANDOM_OPPONENT:
        y = top + height * (1 - REQUIRED_WIN_RATE)
        yield f'<line class="mark" x1="{left:g}" x2="{left + width:g}" y1="{y:g}" y2="{y:g}"/>'
        yield f'<text class="soft" x="{left + width:g}" y="{y - 5:g}" text-anchor="end">{MARK_LABEL}</text>'
    curve = list(_win_rate_curve(series))

    def x_of(count: int) -> str:
        return f"{left + width * count / games:.1f}"

    def y_of(share: float) -> str:
        return f"{top + height * (1 - share):.1f}"

    upper = [f"{x_of(count)},{y_of(share.high)}" for count, share in curve]
    lower = [f"{x_of(count)},{y_of(share.low)}" for count, share in reversed(curve)]
    yield f'<polygon class="band" points="{" ".join([*upper, *lower])}"/>'
    line = " ".join(f"{x_of(count)},{y_of(share.value)}" for count, share in curve)
    yield f'<polyline class="curve" points="{line}"/>'
    end = curve[-1][1].value
    yield f'<circle class="win" cx="{left + width:g}" cy="{y_of(end)}" r="3.5"/>'
    yield f'<text x="{left + width + 8:g}" y="{float(y_of(end)) + 4:.1f}">{end:.0%}</text>'
    yield f'<text class="soft" x="{left:g}" y="{top + height + 17:g}">game 1</text>'
    yield f'<text class="soft" x="{left + width:g}" y="{top + height + 17:g}" text-anchor="end">{games}</text>'


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
    left, top, width, height = 70, 72, 658, 170
    title = "How long answers took"
    if times is None:
        return render_svg(title, "No answer came.", 110, [f'<text class="soft" x="8" y="{top}">No answer came.</text>'])
    first = math.floor(math.log10(min(seconds)))
    last = max(math.ceil(math.log10(max(seconds))), first + 1)
    bins = _count_bins(seconds, first, last)
    most = max(bins)

    def x_of(value: float) -> float:
        return left + width * (math.log10(max(value, 1e-6)) - first) / (last - first)

    parts = []
    for power in range(first, last + 1):
        x = x_of(10.0**power)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{top + height}"/>')
        word = format_seconds(10.0**power)
        parts.append(f'<text class="soft" x="{x:.1f}" y="{top + height + 20}" text-anchor="middle">{word}</text>')
    bar = width / len(bins)
    for number, count in enumerate(bins):
        if count:
            tall = max(height * count / most, 1.5)
            place = f'x="{left + bar * number + 1:.1f}" y="{top + height - tall:.1f}"'
            parts.append(f'<rect class="win" {place} width="{bar - 2:.1f}" height="{tall:.1f}" rx="1.5"/>')
    parts.append(f'<line class="axis" x1="{left}" x2="{left + width}" y1="{top + height}" y2="{top + height}"/>')
    parts.append(f'<text class="soft" x="{left - 8}" y="{top + 5}" text-anchor="end">{most}</text>')
    parts.append(f'<text class="soft" x="{left - 8}" y="{top + 20}" text-anchor="end">answers</text>')
    parts.append(f'<text class="soft" x="{left - 8}" y="{top + height}" text-anchor="end">0</text>')
    near = x_of(times.late) - x_of(times.median) < 150
    for value, word, crowded in ((times.median, "median", near), (times.late, "95th percentile", False)):
        x = x_of(value)
        before = crowded or x > left + width - 150
        anchor = "end" if before else "start"
        parts.append(f'<line class="mark" x1="{x:.1f}" x2="{x:.1f}" y1="{top - 8}" y2="{top + height}"/>')
        parts.append(
            f'<text class="soft" x="{x + (-5 if before else 5):.1f}" y="{top - 12}" text-anchor="{anchor}">'
            f"{word} {format_seconds(value)}</text>"
        )
    told = f"{times.answers} answers: median {format_seconds(times.median)}, 95% below {format_seconds(times.late)}, "
    return render_svg(title, f"{told}longest {format_seconds(times.longest)}.", top + height + 36, parts)


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


def _x_position(left: float, width: float, share: float) -> str:
    return f"{left + width * share:.1f}"


def render_svg(title: str, told: str, height: float, parts: Sequence[str]) -> str:
    """Render an SVG with a title and, for screen readers, a description."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="lp" viewBox="0 0 {PLOT_WIDTH} {height:g}" '
        f'width="{PLOT_WIDTH}" '
        f'height="{height:g}" role="img">\n<title>{escape(title)}</title>\n<desc>{escape(told)}</desc>\n'
        f'<style>{PLOT_STYLE}</style>\n<rect class="paper" width="{PLOT_WIDTH}" height="{height:g}" rx="6"/>\n'
        f'<text class="head" x="8" y="24">{escape(title)}</text>\n' + "\n".join(parts) + "\n</svg>\n"
    )
