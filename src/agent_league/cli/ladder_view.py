"""`league show ladder`: the table of a practice ladder with pass marks, versions and technical losses by kind."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agent_league.cli.terminal import print_lines, print_table
from agent_league.errors import UserError

if TYPE_CHECKING:
    from rich.console import Console

    from agent_league.web.league_reader import LeagueReader

SHOWN_RECENT = 10


def read_ladder(reader: "LeagueReader", _: str, __: int | None) -> dict[str, Any]:
    """Read a practice ladder as plain data; raises UserError for another league."""
    from agent_league.league.ladder_view import LadderView

    if reader.state.ladder is None:
        raise UserError("league show ladder: this is no practice ladder; `league show standings` shows its table")
    return LadderView(reader.state, reader.state.ladder).to_document()


def print_ladder(console: "Console", told: Mapping[str, Any], reader: "LeagueReader") -> None:
    """Print the table, and the latest matches below it."""
    bots = [row for row in told["rows"] if row["is_house"]]
    marks = [f">Above {bot['display_name']}" for bot in bots]
    columns = (">#", "Player", "Version", "Elo, 95%", *marks, ">Played", "Technical losses")
    print_table(console, reader.title, columns, [_make_row(row, bots) for row in told["rows"]])
    recent = [f"{one['match_id']} {one['words']}." for one in told["recent"][:SHOWN_RECENT]]
    waiting = [f"{one['player_id']} asks for a match against {one['opponent_id']}." for one in told["requests"]]
    print_lines(console, [*waiting, *(["Latest matches:"] if recent else ["No match is over yet."]), *recent], "dim")


def _format_share(share: float) -> str:
    """Format a likelihood, never as 0% or 100%."""
    return ">99%" if share > 0.99 else "<1%" if share < 0.01 else f"{share:.0%}"


def _make_row(row: Mapping[str, Any], bots: list[Mapping[str, Any]]) -> tuple[Any, ...]:
    rating = row["rating"]
    marks = {mark["bot_id"]: _format_share(mark["likelihood"]) for mark in row["pass_marks"]}
    elo = f"{rating['elo']:+.0f} ({rating['low']:+.0f} to {rating['high']:+.0f})" if rating else "-"
    lost = "; ".join(f"{one['count']} x {one['words']}" for one in row["technical"]) or "none"
    unchecked = "" if row["has_passed"] else " (house bots only)"
    name = f"{row['display_name']} ({row['player_id']}{', house bot' if row['is_house'] else ''}){unchecked}"
    above = [marks.get(bot["player_id"], "") for bot in bots]
    return (row["shared_rank"], name, row["version"], elo, *above, row["played"], lost)
