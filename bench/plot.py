"""The figures as a picture: how fast leagues are beside limit and floor, and where their CPU time goes. Pure."""

from collections.abc import Iterator, Sequence

from agent_league.lab.evaluation.plots import PLOT_WIDTH, render_svg
from bench.figures import Figures, by_kind

LEFT, SPAN, ROW, BAR = 116, 470, 20, 14
SHADES = {"manager": "win", "referees": "draw", "players": "loss"}


def plot(figures: Figures) -> str:
    """One picture of the leagues of a run."""
    leagues = figures.get("leagues") or []
    rates = list(_rates(leagues, 74))
    costs_at = 74 + 4 * ROW * len(leagues) + 60
    costs = list(_costs(leagues, costs_at))
    height = costs_at + 2 * ROW * len(leagues) + 24
    told = "; ".join(
        f"{one['players']} players: {one['matches_per_second']:g} matches/s, {one['ratio_to_limit']:.2f} of the limit"
        for one in leagues
    )
    return render_svg("A league beside the limit of this machine", f"{told}.", height, [*rates, *costs])


def _rates(leagues: Sequence[Figures], top: float) -> Iterator[str]:
    """Calls a second: league, limit and floor."""
    yield _text(8, top - 20, "name", "Calls a second")
    most = max((one["floor_calls_per_second"] for one in leagues), default=1)
    for number, one in enumerate(leagues):
        y = top + 4 * ROW * number
        yield _text(8, y + 11, "soft", f"{one['players']} players")
        for line, (kind, shade, share) in enumerate(
            (
                ("league", "win", one["ratio_to_limit"]),
                ("limit", "draw", None),
                ("floor", "draw", None),
            )
        ):
            rate = one["calls_per_second" if kind == "league" else f"{kind}_calls_per_second"]
            note = f"{rate:,.0f} {kind}" + (f": {share:.2f} of the limit" if share is not None else "")
            yield from _bar(LEFT, y + ROW * line, SPAN * rate / most, shade)
            yield _text(LEFT + SPAN * rate / most + 8, y + ROW * line + 11, "soft", note)


def _costs(leagues: Sequence[Figures], top: float) -> Iterator[str]:
    """CPU time of a match by kind of process, and a mark where its calls alone would be."""
    yield _text(8, top - 20, "name", "CPU time of a match")
    x = LEFT + 90.0
    for kind, shade in SHADES.items():
        yield from _bar(x, top - 31, 12, shade)
        yield _text(x + 18, top - 20, "soft", kind)
        x += 90
    yield _mark(x, top - 34, 18)
    yield _text(x + 8, top - 20, "soft", "its calls alone: the limit")
    most = max((one["cpu_us_per_match"] for one in leagues), default=1)
    for number, one in enumerate(leagues):
        y = top + 2 * ROW * number
        yield _text(8, y + 11, "soft", f"{one['players']} players")
        x = LEFT
        for kind, micros in by_kind(one["cpu_us_per_match_by_process"]).items():
            yield from _bar(x, y, SPAN * micros / most, SHADES.get(kind, "technical"))
            x += SPAN * micros / most
        yield _mark(LEFT + SPAN * one["limit_cpu_us_per_call"] * one["calls_per_match"] / most, y - 4, BAR + 8)
        yield _text(min(x + 8, PLOT_WIDTH - 90), y + 11, "soft", f"{one['cpu_us_per_match'] / 1000:.2f} ms")


def _bar(x: float, y: float, width: float, shade: str) -> Iterator[str]:
    yield f'<rect class="{shade}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{BAR}"/>'


def _mark(x: float, y: float, height: float) -> str:
    return f'<line class="mark" x1="{x:.1f}" x2="{x:.1f}" y1="{y:.1f}" y2="{y + height:.1f}"/>'


def _text(x: float, y: float, look: str, words: str) -> str:
    return f'<text class="{look}" x="{x:.1f}" y="{y:.1f}">{words}</text>'
