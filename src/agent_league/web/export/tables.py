"""A league as plain data for other programs: one JSON document, and CSV tables made from it.

Fields and columns are documented in docs/watching.md and stay stable; new ones are added at the end.
"""

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from agent_league.model.agents import Referee
from agent_league.model.names import printable
from agent_league.model.results import MatchResult
from agent_league.model.schedule import Pairing
from agent_league.web.league_reader import Reader

SCHEMA_VERSION = "1.0.0"
FORMULA = re.compile(r"""(^|[,;|])(?=[\s"']*[=+\-@\uff1d\uff0b\uff0d\uff20])""")
"""Where a spreadsheet may see a formula, full-width characters included: also after other separators than ours."""

Row = Mapping[str, Any]


def document(reader: Reader, exported_at: str) -> dict[str, Any]:
    """Build the document of a league: settings, standings, matches and agents, without the matches' messages."""
    return {
        "schema_version": SCHEMA_VERSION,
        "exported_at": exported_at,
        "league": _league(reader),
        "standings": _standings(reader),
        "matches": _matches(reader),
        "agents": _agents(reader),
    }


def _league(reader: Reader) -> dict[str, Any]:
    season = reader.season
    league = season.league
    return {
        "league_id": season.league_id,
        "display_name": reader.title,
        "game_type": league.game_type,
        "game_parameters": dict(league.game_parameters),
        "phase": str(season.phase),
        "rounds": len(season.schedule.rounds),
        "rounds_completed": season.rounds_completed,
        "matches": len(season.schedule.pairings),
        "matches_played": len(season.results),
        "scoring": league.scoring.model_dump(mode="json"),
    }


def _standings(reader: Reader) -> list[dict[str, Any]]:
    table = reader.season.table
    return [
        {**row.as_dict(), "technical_losses": table.tally(row.player_id).technical_losses}
        for row in reader.season.standings()
    ]


def _matches(reader: Reader) -> list[dict[str, Any]]:
    season = reader.season
    return [
        _match(pairing, season.assigned.get(pairing.match_id), season.results.get(pairing.match_id), reader)
        for pairing in season.schedule.pairings
    ]


def _match(pairing: Pairing, referee_id: str | None, result: MatchResult | None, reader: Reader) -> dict[str, Any]:
    known = {
        "match_id": pairing.match_id,
        "round_id": pairing.round_id,
        "player_a": pairing.player_a,
        "player_b": pairing.player_b,
        "referee_id": referee_id,
    }
    if result is None:
        status = "PLAYING" if referee_id else "PENDING"
        return {**known, "status": status, "winner": None, "points": {}, "terminations": {}, "details": {}}
    return {
        **known,
        "status": result.status,
        "winner": result.winner,
        "points": {player: reader.season.scoring.points(result, player) for player in pairing.players},
        "terminations": {player: str(result.terminations.get(player, "normal")) for player in pairing.players},
        "details": dict(result.details),
    }


def _agents(reader: Reader) -> list[dict[str, Any]]:
    tolerated = reader.season.tolerated()
    return [
        {
            "agent_id": member.agent_id,
            "role": str(member.role),
            "display_name": member.agent.display_name,
            "version": member.agent.version,
            "protocol": member.agent.protocol,
            "game_types": list(member.agent.game_types),
            "endpoint": member.agent.endpoint,
            "max_concurrent_matches": member.agent.max_concurrent_matches
            if isinstance(member.agent, Referee)
            else None,
            "state": str(member.state),
            "tolerated": list(tolerated.get(member.agent_id, ())),
        }
        for member in reader.season.roster
    ]


def _same(*names: str) -> dict[str, Callable[[Row], Any]]:
    return {name: lambda row, name=name: row[name] for name in names}  # type: ignore[misc]


def _of(mapping: str, side: str) -> Callable[[Row], Any]:
    return lambda row: row[mapping].get(row[side])


def _joined(name: str, between: str) -> Callable[[Row], str]:
    return lambda row: between.join(row[name])


TABLES: Mapping[str, Mapping[str, Callable[[Row], Any]]] = {
    "standings": _same(
        "rank",
        "player_id",
        "display_name",
        "played",
        "wins",
        "draws",
        "losses",
        "technical_losses",
        "points",
    ),
    "matches": {
        **_same("match_id", "round_id", "player_a", "player_b", "referee_id", "status", "winner"),
        "points_a": _of("points", "player_a"),
        "points_b": _of("points", "player_b"),
        "termination_a": _of("terminations", "player_a"),
        "termination_b": _of("terminations", "player_b"),
    },
    "agents": {
        **_same("agent_id", "role", "display_name", "version", "protocol", "endpoint", "state"),
        "game_types": _joined("game_types", " "),
        "tolerated": _joined("tolerated", "; "),
    },
}
"""The columns of each table in order, with the function that reads a cell."""


def table_csv(told: Mapping[str, Any], name: str) -> str:
    """Format one table of a document as CSV with a header row; a missing value is an empty cell."""
    columns: Sequence[str] = tuple(TABLES[name])
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(columns)
    writer.writerows(_cells(row, TABLES[name].values()) for row in told[name])
    return out.getvalue()


def _cells(row: Row, columns: Iterable[Callable[[Row], Any]]) -> list[Any]:
    return [defused(cell) if isinstance(cell := read(row), str) else cell for read in columns]


def defused(text: str) -> str:
    """Make a stranger's text safe for spreadsheets and terminals: no line breaks, control characters or formulas.

    An apostrophe is put before what a spreadsheet would evaluate.
    """
    return FORMULA.sub(r"\1'", printable(text))
