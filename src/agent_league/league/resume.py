"""Loads a league from the store, where an earlier manager left it, or creates a new season; rebuilds its files."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from agent_league.clock import Clock, format_utc
from agent_league.config.models import LeagueConfig, SystemConfig
from agent_league.league.match_files import build_match_content
from agent_league.league.projections import LeagueProjections
from agent_league.league.state import LeagueState
from agent_league.log import JsonLogger
from agent_league.protocol.tokens import SigningKey
from agent_league.storage.base import SavedSeason, Store, damaged_league_error
from agent_league.storage.paths import DataPaths
from agent_league.storage.repositories import MatchRepository

if TYPE_CHECKING:
    from agent_league.storage.sql import SqlStore


def open_store(home: Path, address: str | None) -> "SqlStore":
    """Open the SQL store of a manager; `address` None means the file in its home."""
    from agent_league.storage.sql import SqlStore, resolve_store_address  # noqa: PLC0415 - only managers need a database

    return SqlStore(resolve_store_address(home, address))


def load_or_create_season(store: Store, league: LeagueConfig, clock: Clock) -> SavedSeason:
    """Load the current season of a league or create one; a finished season is loaded too, until it is put aside."""
    saved = store.open_season(league.league_id)
    if saved is not None:
        return saved
    settings = league.model_dump(mode="json")
    return SavedSeason(
        store.create_season(league.league_id, format_utc(clock.now()), SigningKey.generate().private_jwk, settings)
    )


@contextmanager
def translate_damage(league_id: str) -> Iterator[None]:
    """Context in which stored data is read: errors in the data become a UserError that names the damage."""
    try:
        yield
    except (ValueError, TypeError, KeyError, AttributeError, LookupError) as error:
        raise damaged_league_error("The store", league_id, error) from None


def get_effective_config(saved: SavedSeason, league: LeagueConfig) -> LeagueConfig:
    """Return the stored settings once the league has started; until then those of its file."""
    if saved.season.phase == "REGISTRATION":
        return league
    return LeagueConfig.model_validate_json(orjson.dumps(saved.season.settings))


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
