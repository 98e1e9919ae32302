"""Rebuilds the files of a league from the store; they are projections and may be lost."""

from collections.abc import Iterator
from pathlib import Path

from agent_league.clock import Clock
from agent_league.config.models import LeagueConfig, SystemConfig
from agent_league.league.match_files import recorded_match
from agent_league.league.projections import Records
from agent_league.league.resume import league_of, naming_damage
from agent_league.league.state import Season
from agent_league.log import JsonLogger
from agent_league.storage.base import Saved
from agent_league.storage.paths import DataPaths
from agent_league.storage.repositories import MatchRepository


def rebuild(saved: Saved, league: LeagueConfig, system: SystemConfig, home: Path, clock: Clock) -> list[Path]:
    """Write `standings.json`, `rounds.json` and missing match files again; returns the paths written."""
    with naming_damage(league.league_id):
        season = Season(league_of(saved, league), system, saved.season, keep=lambda _: None)
        season.restore(saved)
    paths = DataPaths(home)
    log = JsonLogger("league", season.league_id, paths.logs, **system.logging.logger_options)
    Records(season, home, clock, log).save()
    return [
        paths.standings(season.league_id),
        paths.rounds(season.league_id),
        *_missing_matches(season, MatchRepository(season.league_id, home)),
    ]


def _missing_matches(season: Season, files: MatchRepository) -> Iterator[Path]:
    """Write the missing match files: the referee's proposal if there is one, else what the league knows."""
    for match_id, result in season.results.items():
        if files.load(match_id) is None:
            try:
                files.accept(match_id, season.assigned.get(match_id, ""))
            except (OSError, ValueError):
                files.save(match_id, {**recorded_match(season, result), "rebuilt": True})
            yield files.paths.match(season.league_id, match_id)
