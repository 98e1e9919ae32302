"""Reads stored leagues of a SHARED folder: which there are, and what the store has of one.

Reading changes nothing: it doesn't take a league over from its manager, and creates no database.
"""

import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from agent_league.config import ConfigLoader
from agent_league.config.models import SystemConfig
from agent_league.config.times import TimesConfig
from agent_league.errors import UserError
from agent_league.launch.league_start import find_running_leagues, read_saved_season
from agent_league.league.changed_times import choose_times
from agent_league.league.visibility import ORGANISER, Viewer
from agent_league.model.names import is_safe_name, list_known_names
from agent_league.storage.base import SavedSeason
from agent_league.storage.paths import DataPaths
from agent_league.text import quote

if TYPE_CHECKING:
    from agent_league.web.league_reader import LeagueReader

STORE_FILE = ".store.json"


@dataclass(frozen=True, slots=True)
class StoredLeague:
    """A league as read from its store; can be sent to another process."""

    saved: SavedSeason
    system: SystemConfig
    home: Path
    remark: str = ""
    """Why this league, if it was chosen among several."""
    viewer: Viewer = ORGANISER
    """Whom it is read for."""

    def make_reader(self) -> "LeagueReader":
        from agent_league.web.league_reader import read_saved_league  # noqa: PLC0415 - it brings a season along

        return read_saved_league(self.saved, self.system, self.home, viewer=self.viewer)


def list_leagues(home: Path) -> list[str]:
    """Return the ids of all leagues that were started in a folder."""
    data = DataPaths(home).data_folder
    kept = {path.name.removesuffix(STORE_FILE) for path in data.glob(f"*{STORE_FILE}")}
    return sorted(name for name in kept | {path.name for path in data.glob("leagues/*/")} if is_safe_name(name))


@dataclass(frozen=True, slots=True)
class LeagueChoice:
    """A league of a folder; `remark` says why, if it was chosen among several."""

    league_id: str
    remark: str = ""


def choose_league(home: Path, league_id: str | None, among: Sequence[str] | None = None) -> LeagueChoice:
    """Return the league that is asked for, else the one that runs, else the one that was begun last.

    `among` are the leagues to choose from (default: all of the folder).
    """
    known = list_leagues(home) if among is None else among
    if league_id is not None:
        if not is_safe_name(league_id):
            raise UserError(
                f"--league-id {quote(league_id)} can't be a league's id {list_known_names(league_id, known)}"
            )
        return LeagueChoice(league_id)
    if not known:
        command = f"league run --home {shlex.quote(str(home))}"
        raise UserError(f"No league was played in {home} yet; `{command}` plays one.")
    if len(known) == 1:
        return LeagueChoice(known[0])
    running = [name for name in known if name in find_running_leagues(home)]
    latest = max(running or known, key=lambda name: (_find_start_time(home, name), name))
    why = "the one that runs" if len(running) == 1 else "the latest of those that run" if running else "the latest"
    others = ", ".join(name for name in known if name != latest)
    return LeagueChoice(latest, f"This is {latest}, {why}; --league-id chooses another: {others}.")


def _find_start_time(home: Path, league_id: str) -> float:
    """Return when a league was last started, by the times of its files; 0 if unknown."""
    paths = DataPaths(home)
    for path in (paths.store_name_file(league_id), paths.data_folder / "leagues" / league_id):
        with suppress(OSError):
            return path.stat().st_mtime
    return 0.0


def find_league(home: Path, loader: ConfigLoader, league_id: str | None, store: str | None) -> StoredLeague:
    """Read a league of this folder from its store; raises UserError, which lists the leagues that exist."""
    if league_id is None and store is not None and not list_leagues(home):  # its manager has another folder
        league_id = loader.load_system().default_league_id
    choice = choose_league(home, league_id)
    league_id = choice.league_id
    saved = read_saved_season(home, league_id, store)
    if saved is None:
        others = [name for name in list_leagues(home) if name != league_id]
        there = f" {list_known_names(league_id, others)}" if others else ""
        raise UserError(
            f"The database knows no league {league_id}{there}; a manager writes it (--home, --league-id, --store)."
        )
    return StoredLeague(saved, loader.load_system(), home, choice.remark)


def read_present_times(home: Path, loader: ConfigLoader, league_id: str, store: str | None) -> TimesConfig:
    """Read the times that a league has; if it isn't running, those that it goes on with. Raises UserError."""
    saved = read_saved_season(home, league_id, store)
    if saved is None:
        return loader.load_league(league_id).times
    if league_id in find_running_leagues(home) or not loader.has_league_file(league_id):
        return TimesConfig.model_validate_json(orjson.dumps(saved.season.settings.get("times", {})))
    return choose_times(loader.load_league(league_id).times, saved.season.settings, saved.season.time_marks)
