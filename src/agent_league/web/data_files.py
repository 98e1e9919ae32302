"""The tables of a league as files at addresses of their own: `/standings.json`, `/standings.csv`, `/matches.csv`.

They have the columns and fields of an export, and show what the reader's viewer may see.
"""

from collections.abc import Callable
from dataclasses import dataclass

from agent_league.model.match_view import MatchView
from agent_league.storage.files import encode_json
from agent_league.web.export import (
    SCHEMA_VERSION,
    build_league_data,
    build_match_data,
    format_table_csv,
    list_standings_data,
)
from agent_league.web.league_reader import LeagueReader

FormatFile = Callable[[], bytes]
"""Formats what was read; takes a while for a large league, and so runs in a thread."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """One of the files: its path, and how it is read from the league's state."""

    path: str
    media_type: str
    read: Callable[[LeagueReader], FormatFile]
    """Copy what the file tells of the league; runs on the event loop, so that the state can't change meanwhile."""


def read_standings_json(reader: LeagueReader) -> FormatFile:
    league, standings = build_league_data(reader), list_standings_data(reader)
    return lambda: encode_json({"schema_version": SCHEMA_VERSION, "league": league, "standings": standings})


def read_standings_csv(reader: LeagueReader) -> FormatFile:
    standings = list_standings_data(reader)
    return lambda: format_table_csv({"standings": standings}, "standings").encode()


def read_matches_csv(reader: LeagueReader) -> FormatFile:
    state, agents = reader.state, reader.state.roster.players()
    pairings, results, referees = state.schedule.pairings, dict(state.results), dict(state.assigned_referees)
    game_type, scoring = state.config.game_type, state.scoring

    def format_matches() -> bytes:
        matches = (
            MatchView(game_type, one, referees.get(one.match_id), results.get(one.match_id), scoring, agents)
            for one in pairings
        )
        return format_table_csv({"matches": [build_match_data(match) for match in matches]}, "matches").encode()

    return format_matches


CSV_TYPE = "text/csv; charset=utf-8"
DATA_FILES = (
    DataFile("standings.json", "application/json", read_standings_json),
    DataFile("standings.csv", CSV_TYPE, read_standings_csv),
    DataFile("matches.csv", CSV_TYPE, read_matches_csv),
)
