"""The report of an experiment: Markdown, one self-contained HTML page, charts, and the wide tables as CSV.

Labels of players are strangers' text: made printable, shortened, and escaped wherever they stand.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agent_league.lab.experiment.charts import (
    describe_cost,
    draw_cost,
    draw_learning,
    draw_matrix,
    draw_ratings,
)
from agent_league.lab.experiment.summary import ExperimentSummary, ScoreSummary
from agent_league.lab.report_templates import render_template
from agent_league.lab.score_tables import PAIR_COLUMNS, fit_names, make_pair_table, make_score_table
from agent_league.lab.scoreboard import ScoreboardRow
from agent_league.model.result_words import format_count
from agent_league.model.tables import DataTable, escape_markdown
from agent_league.storage.files import write_atomically
from agent_league.version import __version__

PAIRS_NAME = "pairs.csv"
HOW_TO_READ = (
    "Every pair plays both sides with each seed, and both players start each seed without memory. Intervals are 95%,"
    " over seeds, as games of one seed hang together. A pair is significant if the binomial test says so, after Holm"
    " over all pairs, and the spread from seed to seed as well."
)


def write_report(summary: ExperimentSummary, folder: Path) -> list[Path]:
    """Write all files of the report; those of an earlier run are replaced."""
    charts = _draw_charts(summary)
    texts = {
        "report.md": _render("experiment.md", summary, charts),
        "report.html": _render("experiment.html", summary, charts),
        PAIRS_NAME: make_pairs(summary).to_csv(),
        **charts,
    }
    for name, text in texts.items():
        write_atomically(folder / name, text.encode())
    return [folder / name for name in texts]


def make_pairs(summary: ExperimentSummary) -> DataTable:
    """Make the table of all pairs in all games."""
    rows = [(part.game.label, *row) for part in summary.games for row in make_pair_table(part.board, part.rows).rows]
    return DataTable(("game", *PAIR_COLUMNS), rows)


def render_tables(summary: ExperimentSummary) -> str:
    """Render the tables alone as Markdown, as a notebook shows them."""
    several = make_game_table(summary) if len(summary.games) > 1 else None
    parts = [several.to_markdown() + "\n"] if several else []
    for part in list_parts(summary):
        parts.append(f"### {escape_markdown(part.game.label)}\n\n{make_scores(part).to_markdown()}\n")
        parts += [part.ratings.tabulate().to_markdown() + "\n"] if part.ratings else []
    return "\n".join(parts)


def make_game_table(summary: ExperimentSummary, width: int | None = None) -> DataTable | None:
    """Make a table of what each player scored in each game; None if it doesn't fit `width`."""
    shares = [{row.name: _format_score(part, row) for row in part.rows} for part in summary.games]
    names = [row.name for row in summary.overall.rows]
    columns = ("Player", *(f">{part.game.label}" for part in summary.games))
    rows = [(name, *(of_game[name] for of_game in shares)) for name in names]
    payoffs = any(part.board.by_payoff for part in summary.games)
    caption = "Rank and points in percent, a draw being half a win" + (
        "; where amounts count, the mean payoff." if payoffs else "."
    )
    table = DataTable(columns, rows, summary.resolved.file.name, caption)
    if width is None or table.measure_width() <= width:
        return table
    cut = fit_names(table, width)
    return cut if cut.measure_width() <= width else None


def _format_score(part: ScoreSummary, row: ScoreboardRow) -> str:
    tally, paid = row.total.tally, row.total.mean_payoff
    if not tally.games:
        return "-"
    if part.board.by_payoff and paid:
        return f"{row.rank}. {paid.value:.2f}"
    return f"{row.rank}. {100 * (tally.wins + tally.draws / 2) / tally.games:.1f}"


def list_parts(summary: ExperimentSummary) -> list[ScoreSummary]:
    """List the games, and all together if there are several."""
    return [*summary.games, *([summary.overall] if len(summary.games) > 1 else [])]


def make_scores(part: ScoreSummary) -> DataTable:
    """Make the table of scores without a limit to its width."""
    return make_score_table(part.board, part.rows, part.game.label)


def describe_ratings(part: ScoreSummary) -> list[str]:
    """Return the sentences below the ratings."""
    return list(part.ratings.describe()) if part.ratings else []


def describe_summary(summary: ExperimentSummary) -> Iterator[str]:
    """Yield what makes the results less trustworthy, and what was spent."""
    plan = summary.resolved.plan
    if not summary.is_finished:
        most = plan.meeting_count * plan.games_per_meeting
        yield f"It isn't finished: {summary.played} of {most} games are played."
    elif summary.resolved.file.stop:
        most = plan.meeting_count * plan.games_per_meeting
        yield f"The stopping rule ended it after {summary.played} of at most {most} games."
    yield from (note.describe() for note in summary.notes)
    for cost in summary.costs:
        if cost.tokens is not None:
            yield f"{cost.player}: {describe_cost(cost)}."
    yield from summary.resolved.remarks


def _draw_charts(summary: ExperimentSummary) -> dict[str, str]:
    """Draw all charts by the names of their files; those of a game have its number."""
    charts = {}
    for number, part in enumerate(list_parts(summary), 1):
        charts[f"ratings-{number}.svg"] = draw_ratings(part)
        charts[f"pairs-{number}.svg"] = draw_matrix(part)
        if part.curves:
            charts[f"learning-{number}.svg"] = draw_learning(part)
    charts["cost.svg"] = draw_cost(summary)
    return charts


def _render(template: str, summary: ExperimentSummary, charts: dict[str, str]) -> str:
    plan = summary.resolved.plan
    facts: list[tuple[str, Any]] = [
        ("Games", ", ".join(game.label for game in plan.games)),
        ("Players", ", ".join(player.label for player in plan.players)),
        ("Seeds", len(plan.seeds)),
        ("Games of a pair with each seed", plan.games_per_meeting),
        ("Games played", summary.played),
        ("Hash", summary.resolved.content_hash),
        ("agent-league", __version__),
    ]
    parts = [
        {
            "title": part.game.label,
            "games": format_count(part.board.games, "game"),
            "scores": make_scores(part),
            "ratings": part.ratings.tabulate() if part.ratings else None,
            "sentences": describe_ratings(part),
            "charts": [
                name
                for name in (f"ratings-{number}.svg", f"pairs-{number}.svg", f"learning-{number}.svg")
                if name in charts
            ],
        }
        for number, part in enumerate(list_parts(summary), 1)
    ]
    return render_template(
        template,
        name=summary.resolved.file.name,
        facts=DataTable(("", ""), facts),
        overview=make_game_table(summary) if len(summary.games) > 1 else None,
        parts=parts,
        charts=charts,
        sentences=list(describe_summary(summary)),
        how_to_read=HOW_TO_READ,
    )
