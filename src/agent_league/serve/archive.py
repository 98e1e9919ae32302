"""The archive of a server: seasons of its leagues that were put aside, read from the store, each with all its pages.

Nothing here changes; a few seasons that were looked at last are kept in memory.
"""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, replace
from pathlib import Path

from starlette.types import Receive, Scope, Send

from agent_league.config import SystemConfig
from agent_league.errors import UserError
from agent_league.http.carrier import RequestRejected
from agent_league.league.visibility import VISITOR
from agent_league.log import JsonLogger
from agent_league.model.results import list_champions
from agent_league.serve.league_home import restore_season_files
from agent_league.serve.shared_store import SharedStore
from agent_league.storage.archive import ArchivedPaths
from agent_league.storage.base import SeasonRow
from agent_league.text import MAX_PHRASE, shorten
from agent_league.web.app import WebApp
from agent_league.web.league_reader import read_saved_league
from agent_league.web.rendering import LiveSite

ARCHIVE_PATH = "archive"
MAX_OPEN_SEASONS = 8
MAX_NUMBER_DIGITS = 9
MAX_NAMED_CHAMPIONS = 100
"""Seasons that are listed with their champions: each is read once for it."""


@dataclass(frozen=True, slots=True)
class ArchivedSeason:
    """A season as the archive lists it."""

    season_id: int
    league_id: str
    title: str
    game: str
    began: str
    """The day on which it was created."""
    is_complete: bool
    champions: tuple[str, ...] = ()
    """Who has won it, by the names that visitors may see."""

    @property
    def path(self) -> str:
        """Its address below the server's root."""
        return f"{ARCHIVE_PATH}/{self.season_id}/"


class SeasonArchive:
    """The pages of all earlier seasons in a store."""

    def __init__(self, store: SharedStore, system: SystemConfig, home: Path, base: str, log: JsonLogger) -> None:
        """`base` is the path of the server's root as others see it."""
        self._store = store
        self._system = system
        self._home = home
        self._base = base
        self._log = log
        self._open: OrderedDict[int, WebApp] = OrderedDict()
        self._lock = asyncio.Lock()
        self._champions: dict[int, tuple[str, ...]] = {}
        """Of seasons that were listed; they change no more."""

    async def list_seasons(self) -> list[ArchivedSeason]:
        """List the seasons that were started, the latest first."""
        rows = await asyncio.to_thread(self._store.list_earlier_seasons)
        for row in rows[:MAX_NAMED_CHAMPIONS]:
            if row.season_id not in self._champions:
                self._champions[row.season_id] = await asyncio.to_thread(self._read_champions, row.season_id)
        return [replace(_describe_season(row), champions=self._champions.get(row.season_id, ())) for row in rows]

    async def serve_season(self, number: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a page of a season; the scope's path is the page's own. Raises RequestRejected."""
        is_number = number.isascii() and number.isdigit() and len(number) <= MAX_NUMBER_DIGITS
        app = await self._open_season(int(number)) if is_number else None
        if app is None:
            raise RequestRejected(404, "There is no such season in the archive.")
        await app(scope, receive, send)

    async def close(self) -> None:
        for app in self._open.values():
            await app.close()

    async def _open_season(self, season_id: int) -> WebApp | None:
        async with self._lock:
            app = self._open.pop(season_id, None) or await self._read_season(season_id)
            if app is None:
                return None
            self._open[season_id] = app
            if len(self._open) > MAX_OPEN_SEASONS:
                await self._open.popitem(last=False)[1].close()
        return app

    def _read_champions(self, season_id: int) -> tuple[str, ...]:
        """Read who has won a season; nobody if it wasn't played to its end, or is shown to members alone."""
        saved = self._store.read_earlier_season(season_id)
        if saved is None or saved.season.settings.get("visibility") == "members":
            return ()
        try:
            state = read_saved_league(saved, self._system, self._home, viewer=VISITOR).state
        except UserError:
            return ()  # its rows are damaged, which its own page says
        return tuple(row["display_name"] for row in list_champions(state.standings())) if state.has_champions else ()

    async def _read_season(self, season_id: int) -> WebApp | None:
        saved = await asyncio.to_thread(self._store.read_earlier_season, season_id)
        if saved is None or saved.season.settings.get("visibility") == "members":
            return None
        paths = await asyncio.to_thread(ArchivedPaths, self._home, saved.season.league_id, season_id)
        if self._store.is_on_server:
            folder = paths.matches_folder(saved.season.league_id)
            await restore_season_files(self._store, season_id, folder)
        reader = read_saved_league(saved, self._system, self._home, paths, VISITOR)
        season = _describe_season(saved.season)
        note = f"A season of the archive, begun on {season.began}."
        site = LiveSite(f"{self._base}/{ARCHIVE_PATH}/{season_id}", f"{self._base}/", note, is_live=False)
        return WebApp(reader, self._log, site=site)


def _describe_season(row: SeasonRow) -> ArchivedSeason:
    settings = row.settings
    title = shorten(str(settings.get("display_name") or row.league_id), MAX_PHRASE)
    began = row.created_at[:10]
    is_complete = row.phase not in ("REGISTRATION", "RUNNING")
    return ArchivedSeason(row.season_id, row.league_id, title, str(settings.get("game_type", "")), began, is_complete)
