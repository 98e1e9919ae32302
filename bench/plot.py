"""The figures as a picture: leagues beside their calls alone with stock libraries, by speed and by CPU time. Pure."""

from collections.abc import Iterator, Sequence

from agent_league.lab.charts import draw_bar, draw_line, draw_svg, draw_text
from bench.figures import Figures, by_kind

LEFT, SPAN, ROW, BAR = 90, 330, 20, 14
SHADES = {"manager": "win", "referees": "draw", "players": "loss"}


def plot(figures: Figures) -> str:
    """One picture of the leagues of a run."""
    leagues = figures.get("leagues") or []
    rates = list(_rates(leagues, 74))
    costs_at = 74 + 3 * ROW * len(leagues) + 60
    costs = list(_costs(leagues, costs_at))
    height = costs_at + 2 * ROW * len(leagues) + 24
    told = "; ".join(
        f"{one['players']} players: {one['matches_per_second']:g} matches/s,"
        f" {one['cpu_ratio_to_stock']:.2f} of stock by CPU time"
        for one in leagues
    )
    return draw_svg("A league beside its calls alone with stock libraries", f"{told}.", height, [*rates, *costs])


def _rates(leagues: Sequence[Figures], top: float) -> Iterator[str]:
    """Calls a second: the league, and its calls alone with stock libraries."""
    yield draw_text("name", 8, top - 20, "Calls a second")
    most = max((max(one["calls_per_second"], one["stock_calls_per_second"]) for one in leagues), default=1)
    for number, one in enumerate(leagues):
        y = top + 3 * ROW * number
        yield draw_text("soft", 8, y + 11, f"{one['players']} players")
        for line, (name, shade, rate) in enumerate(
            (("league", "win", one["calls_per_second"]), ("stock", "draw", one["stock_calls_per_second"]))
        ):
            width = SPAN * rate / most
            yield draw_bar(shade, LEFT, y + ROW * line, width, BAR)
            yield draw_text("soft", LEFT + width + 8, y + ROW * line + 11, f"{rate:,.0f} {name}")


def _costs(leagues: Sequence[Figures], top: float) -> Iterator[str]:
    """CPU time of a match by kind of process, and a mark where its calls alone would be."""
    yield draw_text("name", 8, top - 20, "CPU time of a match")
    x = LEFT + 90.0
    for kind, shade in SHADES.items():
        yield draw_bar(shade, x, top - 31, 12, BAR)
        yield draw_text("soft", x + 18, top - 20, kind)
        x += 90
    yield draw_line("mark", x, top - 34, to_y=top - 16)
    yield draw_text("soft", x + 8, top - 20, "stock")
    most = max((one["cpu_us_per_match"] for one in leagues), default=1)
    for number, one in enumerate(leagues):
        y = top + 2 * ROW * number
        yield draw_text("soft", 8, y + 11, f"{one['players']} players")
        x = LEFT
        for kind, micros in by_kind(one["cpu_us_per_match_by_process"]).items():
            yield draw_bar(SHADES.get(kind, "technical"), x, y, SPAN * micros / most, BAR)
            x += SPAN * micros / most
        stock = LEFT + SPAN * one["cpu_us_per_match"] * one["cpu_ratio_to_stock"] / most
        yield draw_line("mark", stock, y - 4, to_y=y + BAR + 4)
        yield draw_text("soft", x + 8, y + 11, f"{one['cpu_us_per_match'] / 1000:.2f} ms")
