"""Charts of an experiment as SVG: ratings with intervals, the matrix of pairs, learning curves and cost.

Pure: numbers in, text out. The parts that they are drawn from are those of evaluations.
"""

from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap

from agent_league.lab.charts import (
    PLOT_WIDTH,
    draw_bar,
    draw_dot,
    draw_line,
    draw_svg,
    draw_text,
    format_seconds,
)
from agent_league.lab.experiment.summary import ExperimentSummary, PlayerCost, ScoreSummary
from agent_league.lab.score_tables import list_pair_scores
from agent_league.ratings.tables import Rating
from agent_league.text import shorten

NAME_LENGTH = 22
LEFT = 180
COST_LENGTH = 50
"""Characters of a line that begins below a bar."""
MAX_MATRIX_PLAYERS = 40
MIN_NUMBERED_SIZE = 16
"""Width of a column at which each has its number: in narrower ones they run together."""
MAX_LINES = 12
"""Most curves of a chart: more can't be told apart."""
HUES = (210, 28, 140, 330, 265, 180, 55, 0, 100, 300, 235, 160)


def draw_ratings(part: ScoreSummary) -> str:
    """Draw a line for each player: its rating with the 95% interval."""
    ratings: Sequence[Rating] = part.ratings.table.ratings if part.ratings else ()
    title = f"Ratings: {part.game.label}"
    if not ratings:
        return draw_svg(title, "No game was played.", 80, [draw_text("soft", 8, 56, "No game was played.")])
    low, high = min(one.low for one in ratings), max(one.high for one in ratings)
    low, high = (low, high) if high > low else (low - 1, high + 1)
    top, row, width = 50, 26, PLOT_WIDTH - LEFT - 110
    bottom = top + row * len(ratings)

    def x_of(elo: float) -> float:
        return LEFT + width * (elo - low) / (high - low)

    parts = [draw_line("mark", x_of(0), top, to_y=bottom)] if low <= 0 <= high else []
    for at in _choose_ticks(low, high):
        parts += [
            draw_line("grid", x_of(at), top, to_y=bottom),
            draw_text("soft", x_of(at), bottom + 18, f"{at:+g}" if at else "0", "middle"),
        ]
    for number, one in enumerate(ratings):
        y = top + row * (number + 0.5)
        parts.append(draw_text("name", LEFT - 12, y + 4, shorten(one.player_id, NAME_LENGTH), "end"))
        parts.append(draw_line("whisker", x_of(one.low), y, to_x=x_of(one.high)))
        parts += [draw_line("whisker", x_of(end), y - 4, to_y=y + 4) for end in (one.low, one.high)]
        parts.append(draw_dot("dot", x_of(one.elo), y, 4.5))
        parts.append(draw_text("", PLOT_WIDTH - 8, y + 4, str(one), "end"))
    told = "; ".join(f"{one.player_id} {one}" for one in ratings)
    return draw_svg(title, f"Elo with 95% intervals: {told}.", bottom + 32, parts)


def draw_matrix(part: ScoreSummary) -> str:
    """Draw who scored what against whom: the row's player against the column's, dots where it is significant."""
    names = [row.name for row in part.rows]
    title = f"Points in percent against: {part.game.label}"
    if len(names) > MAX_MATRIX_PLAYERS:
        said = f"{len(names)} players are too many for a picture; pairs.csv has them."
        return draw_svg(title, said, 80, [draw_text("soft", 8, 56, said)])
    pairs = list_pair_scores(part.board, part.rows)
    top, left = 64, LEFT + 30
    size = min(44.0, (PLOT_WIDTH - left - 8) / max(1, len(names)))
    parts: list[str] = []
    for row, name in enumerate(names):
        y = top + size * row
        parts.append(draw_text("name", left - 32, y + size / 2 + 4, shorten(name, NAME_LENGTH), "end"))
        parts.append(draw_text("soft", left - 10, y + size / 2 + 4, str(row + 1), "end"))
        if size >= MIN_NUMBERED_SIZE or row % 2 == 0:
            parts.append(draw_text("soft", left + size * (row + 0.5), top - 8, str(row + 1), "middle"))
        for column, other in enumerate(names):
            if pair := pairs.get((name, other)):
                x = left + size * column
                parts += _draw_cell(x, y, size, pair.share, is_significant=pair.is_ahead or pairs[other, name].is_ahead)
    told = "; ".join(
        f"{one} - {other} {100 * pair.share:.0f}"
        for (one, other), pair in pairs.items()
        if names.index(one) < names.index(other)
    )
    key = "Blue: more than half, orange: less. A dot: significantly ahead or behind, after Holm."
    parts.append(draw_text("soft", 8, top + size * len(names) + 22, key))
    return draw_svg(title, f"{key} {told}.", top + size * len(names) + 36, parts)


def _draw_cell(x: float, y: float, size: float, share: float, *, is_significant: bool) -> Iterator[str]:
    strength = abs(share - 0.5) * 1.7
    look = "win" if share > 0.5 else "loss"
    yield draw_bar("draw", x + 0.5, y + 0.5, size - 1, size - 1, 2).replace("/>", ' fill-opacity="0.25"/>')
    yield draw_bar(look, x + 0.5, y + 0.5, size - 1, size - 1, 2).replace("/>", f' fill-opacity="{strength:.2f}"/>')
    if size >= 24:
        yield draw_text("", x + size / 2, y + size / 2 + 4, f"{100 * share:.0f}", "middle")
    if is_significant:
        yield draw_dot("dot", x + size - 6, y + 6, 2.2)


def draw_learning(part: ScoreSummary) -> str:
    """Draw the points a game of each player from the first game of a meeting to the last."""
    title = f"Learning: {part.game.label}"
    shown = [row.name for row in part.rows if row.name in part.curves][:MAX_LINES]
    curves: Mapping[str, Sequence[tuple[int, float]]] = {name: part.curves[name] for name in shown}
    if not curves:
        said = "A meeting has one game on each side; with more rounds, this shows what players learn."
        return draw_svg(title, said, 80, [draw_text("soft", 8, 56, said)])
    parts = []
    left, top, width, height = 60, 50, PLOT_WIDTH - 60 - LEFT, 240
    if len(shown) < len(part.curves):
        parts.append(draw_text("soft", 8, top, f"The first {len(shown)} of {len(part.curves)} players."))
        top += 24
    numbers = sorted({at for curve in curves.values() for at, _ in curve})
    first, last = numbers[0], numbers[-1]

    def place(at: float, share: float) -> tuple[float, float]:
        return left + width * (at - first) / max(1, last - first), top + height * (1 - share)

    for share in (0, 0.25, 0.5, 0.75, 1):
        parts.append(draw_line("grid", left, place(first, share)[1], to_x=left + width))
        parts.append(draw_text("soft", left - 8, place(first, share)[1] + 4, f"{share:.0%}", "end"))
    ends = sorted((curve[-1][1], name) for name, curve in curves.items())
    spread = _spread([place(last, share)[1] for share, _ in reversed(ends)], 15)
    labels = dict(zip((name for _, name in reversed(ends)), spread, strict=True))
    for number, (name, curve) in enumerate(curves.items()):
        colour = f"hsl({HUES[number % len(HUES)]} 60% 48%)"
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(at, share) for at, share in curve))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        x, y = place(*curve[-1])
        parts.append(
            f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{left + width + 12:.1f}" y2="{labels[name]:.1f}" stroke="{colour}"/>'
        )
        parts.append(draw_text("", left + width + 16, labels[name] + 4, shorten(name, NAME_LENGTH)))
    parts.append(draw_text("soft", left, top + height + 20, f"game {first} of a seed"))
    parts.append(draw_text("soft", left + width, top + height + 20, str(last), "end"))
    told = "; ".join(
        f"{name}: {curve[0][1]:.0%} at first, {curve[-1][1]:.0%} at last" for name, curve in curves.items()
    )
    return draw_svg(title, f"Points a game by the number of the game: {told}.", top + height + 36, parts)


def draw_cost(summary: ExperimentSummary) -> str:
    """Draw how long each player thinks a game and, of models, what it cost."""
    costs = sorted(summary.costs, key=lambda one: -(one.seconds_per_game or 0))
    top, row, width = 50, 26, PLOT_WIDTH - LEFT - 150
    most = max((one.seconds_per_game or 0 for one in costs), default=0) or 1
    parts = []
    y = top
    for one in costs:
        time_taken, _, spent = describe_cost(one).partition(", ")
        parts.append(draw_text("name", LEFT - 12, y + 17, shorten(one.player, NAME_LENGTH), "end"))
        parts.append(draw_bar("win", LEFT, y + 5, max(1.0, width * (one.seconds_per_game or 0) / most), row - 10, 2))
        parts.append(draw_text("", LEFT + width + 10, y + 17, time_taken))
        y += row
        for line in wrap(spent, COST_LENGTH):
            parts.append(draw_text("soft", LEFT, y + 9, line))
            y += 18
    told = "; ".join(f"{one.player}: {describe_cost(one)}" for one in costs)
    return draw_svg("Cost: time a game", f"{told}.", y + 16, parts)


def describe_cost(cost: PlayerCost) -> str:
    """Say what a player's games took."""
    seconds = cost.seconds_per_game
    said = [f"{format_seconds(seconds)} a game" if seconds is not None else "not measured"]
    if cost.tokens is not None:
        said.append(f"{cost.tokens:,} tokens")
    if cost.cost is not None:
        said.append(f"${cost.cost:.4f}")
    if cost.illegal is not None:
        said.append(f"{cost.illegal:,} illegal and {cost.late or 0:,} late answers")
    return ", ".join(said)


def _choose_ticks(low: float, high: float) -> list[float]:
    """Choose about six round values between two."""
    step = next(
        size for size in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000) if (high - low) / size <= 7 or size == 2000
    )
    first = int(low // step) + 1
    return [float(step * at) for at in range(first, int(high // step) + 1)]


def _spread(places: Sequence[float], gap: float) -> list[float]:
    """Move labels, given from top to bottom, so that none covers another."""
    spread: list[float] = []
    for place in places:
        spread.append(max(place, spread[-1] + gap) if spread else place)
    return spread
