"""The figures as a picture: how fast leagues are beside limit and floor, and where their CPU time goes. Pure."""

from collections.abc import Iterator, Sequence

from agent_league.lab.charts import PLOT_WIDTH, draw_bar, draw_line, draw_svg, draw_text
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
    return draw_svg("A league beside the limit of this machine", f"{told}.", height, [*rates, *costs])


def _rates(leagues: Sequence[Figures], top: float) -> Iterator[str]:
    """Calls a second: league, limit and floor."""
    yield draw_text("name", 8, top - 20, "Calls a second")
    most = max((one["floor_calls_per_second"] for one in leagues), default=1)
    for number, one in enumerate(leagues):
        y = top + 4 * ROW * number
        yield draw_text("soft", 8, y + 11, f"{one['players']} players")
        for line, (kind, shade, share) in enumerate(
            (
                ("league", "win", one["ratio_to_limit"]),
                ("limit", "draw", None),
                ("floor", "draw", None),
            )
        ):
            rate = one["calls_per_second" if kind == "league" else f"{kind}_calls_per_second"]
            note = f"{rate:,.0f} {kind}" + (f": {share:.2f} of the limit" if share is not None else "")
            yield draw_bar(shade, LEFT, y + ROW * line, SPAN * rate / most, BAR)
            yield draw_text("soft", LEFT + SPAN * rate / most + 8, y + ROW * line + 11, note)


def _costs(leagues: Sequence[Figures], top: float) -> Iterator[str]:
    """CPU time of a match by kind of process, and a mark where its calls alone would be."""
    yield draw_text("name", 8, top - 20, "CPU time of a match")
    x = LEFT + 90.0
    for kind, shade in SHADES.items():
        yield draw_bar(shade, x, top - 31, 12, BAR)
        yield draw_text("soft", x + 18, top - 20, kind)
        x += 90
    yield draw_line("mark", x, top - 34, to_y=top - 16)
    yield draw_text("soft", x + 8, top - 20, "its calls alone: the limit")
    most = max((one["cpu_us_per_match"] for one in leagues), default=1)
    for number, one in enumerate(leagues):
        y = top + 2 * ROW * number
        yield draw_text("soft", 8, y + 11, f"{one['players']} players")
        x = LEFT
        for kind, micros in by_kind(one["cpu_us_per_match_by_process"]).items():
            yield draw_bar(SHADES.get(kind, "technical"), x, y, SPAN * micros / most, BAR)
            x += SPAN * micros / most
        limit = LEFT + SPAN * one["limit_cpu_us_per_call"] * one["calls_per_match"] / most
        yield draw_line("mark", limit, y - 4, to_y=y + BAR + 4)
        yield draw_text("soft", min(x + 8, PLOT_WIDTH - 90), y + 11, f"{one['cpu_us_per_match'] / 1000:.2f} ms")
