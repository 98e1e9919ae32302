"""A league as plain data for other programs: one JSON document, and CSV tables made from it.

Fields and columns are documented in docs/watching.md and stay stable; new ones are added at the end.
"""

from collections.abc import Callable, Mapping
from typing import Any

from agent_league.model.agents import Role
from agent_league.model.results import MatchResult
from agent_league.model.schedule import Pairing
from agent_league.model.tables import DataTable
from agent_league.web.league_reader import LeagueReader

SCHEMA_VERSION = "1.0.0"


def build_document(reader: LeagueReader, exported_at: str) -> dict[str, Any]:
    """Build the document of a league: settings, standings, matches and agents, without the matches' messages."""
    return {
        "schema_version": SCHEMA_VERSION,
        "exported_at": exported_at,
        "league": _league_data(reader),
        "standings": _standings_data(reader),
        "matches": _matches_data(reader),
        "agents": _agents_data(reader),
    }


def _league_data(reader: LeagueReader) -> dict[str, Any]:
    season = reader.state
    league = season.config
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


def _standings_data(reader: LeagueReader) -> list[dict[str, Any]]:
    table = reader.state.standings_table
    return [
        {**row.to_json(), "technical_losses": table.get_tally(row.player_id).technical_losses}
        for row in reader.state.standings()
    ]


def _matches_data(reader: LeagueReader) -> list[dict[str, Any]]:
    season = reader.state
    return [
        _match_data(
            pairing, season.assigned_referees.get(pairing.match_id), season.results.get(pairing.match_id), reader
        )
        for pairing in season.schedule.pairings
    ]


def _match_data(
    pairing: Pairing, referee_id: str | None, result: MatchResult | None, reader: LeagueReader
) -> dict[str, Any]:
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
        "points": result.score(reader.state.scoring),
        "terminations": {player: str(result.terminations.get(player, "normal")) for player in pairing.players},
        "details": dict(result.details),
    }


def _agents_data(reader: LeagueReader) -> list[dict[str, Any]]:
    tolerated = reader.state.collect_deviations()
    return [
        {
            "agent_id": member.agent_id,
            "role": str(member.role),
            "display_name": member.agent.display_name,
            "version": member.agent.version,
            "protocol": member.protocol_profile.protocol,
            "game_types": list(member.agent.game_types),
            "endpoint": member.agent.endpoint,
            "max_concurrent_matches": member.agent.max_concurrent_matches if member.role is Role.REFEREE else None,
            "state": str(member.state),
            "tolerated": list(tolerated.get(member.agent_id, ())),
        }
        for member in reader.state.roster
    ]


def _split_sides(match: Mapping[str, Any]) -> dict[str, Any]:
    """Flatten points and terminations into a column for each side."""
    return {
        f"{column}_{side}": match[values].get(match[f"player_{side}"])
        for column, values in (("points", "points"), ("termination", "terminations"))
        for side in "ab"
    }


def _join_lists(agent: Mapping[str, Any]) -> dict[str, Any]:
    return {"game_types": " ".join(agent["game_types"]), "tolerated": "; ".join(agent["tolerated"])}


TABLES: Mapping[str, tuple[str, ...]] = {
    "standings": (
        *("rank", "player_id", "display_name", "played", "wins", "draws", "losses", "technical_losses", "points"),
    ),
    "matches": (
        *("match_id", "round_id", "player_a", "player_b", "referee_id", "status", "winner"),
        *("points_a", "points_b", "termination_a", "termination_b"),
    ),
    "agents": (
        *("agent_id", "role", "display_name", "version", "protocol", "endpoint", "state", "game_types", "tolerated"),
    ),
}
"""The columns of each table, in order."""
FLATTENED: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "matches": _split_sides,
    "agents": _join_lists,
}
"""For the tables whose rows have lists or objects: the function that makes cells of them."""


def format_table_csv(told: Mapping[str, Any], name: str) -> str:
    """Format one table of a document as CSV with a header row; a missing value is an empty cell."""
    flatten = FLATTENED.get(name, dict)
    rows = [{**row, **flatten(row)} for row in told[name]]
    return DataTable(TABLES[name], [[row[column] for column in TABLES[name]] for row in rows]).to_csv()
