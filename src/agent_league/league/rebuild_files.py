"""Rebuilds the files of a league from the store; they are projections and may be lost."""

from collections.abc import Iterator
from pathlib import Path

from agent_league.clock import Clock
from agent_league.config.models import LeagueConfig, SystemConfig
from agent_league.league.match_files import build_match_content
from agent_league.league.projections import LeagueProjections
from agent_league.league.resume import get_effective_config, translate_damage
from agent_league.league.state import LeagueState
from agent_league.log import JsonLogger
from agent_league.storage.base import SavedSeason
from agent_league.storage.paths import DataPaths
from agent_league.storage.repositories import MatchRepository


def rebuild_league_files(
    saved: SavedSeason, league: LeagueConfig, system: SystemConfig, home: Path, clock: Clock
) -> list[Path]:
    """Write `standings.json`, `rounds.json` and missing match files again; returns the paths written."""
    with translate_damage(league.league_id):
        season = LeagueState(get_effective_config(saved, league), system, saved.season, save_row=lambda _: None)
        season.restore_rows(saved)
    paths = DataPaths(home)
    log = JsonLogger("league", season.league_id, paths.logs_folder, **system.logging.logger_options)
    LeagueProjections(season, home, clock, log).save_files()
    return [
        paths.standings_file(season.league_id),
        paths.rounds_file(season.league_id),
        *_write_missing_matches(season, MatchRepository(season.league_id, home)),
    ]


def _write_missing_matches(state: LeagueState, files: MatchRepository) -> Iterator[Path]:
    """Write the missing match files: the referee's proposal if there is one, else what the league knows."""
    for match_id, result in state.results.items():
        if files.load(match_id) is None:
            try:
                files.accept_proposal(match_id, state.assigned_referees.get(match_id, ""))
            except (OSError, ValueError):
                files.save(match_id, {**build_match_content(state, result), "rebuilt": True})
            yield files.paths.match_file(state.league_id, match_id)
