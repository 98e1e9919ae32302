"""One store for all leagues of a server: one connection, one thread that writes, one commit for whoever waits.

A league's manager gets the store as if it were its own; closing it there leaves it open for the others.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from agent_league.storage.base import SavedSeason, SeasonRow, StoredRow
from agent_league.storage.sql import SqlStore


class SharedStore:
    """A database that the managers of many leagues write to."""

    def __init__(self, address: str) -> None:
        self.sql = SqlStore(address)
        self._writer = ThreadPoolExecutor(1, "store")

    async def offload(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run a call of the store in its thread; others' threads stay free however slow the disk is."""
        return await asyncio.get_running_loop().run_in_executor(self._writer, function, *args)

    def close(self) -> None:
        """Close the connection, after the calls under way."""
        self._writer.shutdown(wait=True)
        self.sql.close()


class LeagueStore:
    """The store of one league among several; see `Store` for its methods."""

    def __init__(self, shared: SharedStore) -> None:
        self._sql = shared.sql

    @property
    def trouble(self) -> str | None:
        return self._sql.trouble

    def open_season(self, league_id: str) -> SavedSeason | None:
        return self._sql.open_season(league_id)

    def read_season(self, league_id: str) -> SavedSeason | None:
        return self._sql.read_season(league_id)

    def create_season(
        self, league_id: str, created_at: str, signing_key: str, settings: Mapping[str, Any]
    ) -> SeasonRow:
        return self._sql.create_season(league_id, created_at, signing_key, settings)

    def write_rows(self, season_id: int, rows: Sequence[StoredRow]) -> None:
        self._sql.write_rows(season_id, rows)

    def put_season_aside(self, league_id: str) -> bool:
        return self._sql.put_season_aside(league_id)

    def close(self) -> None:
        """Do nothing: other leagues write to the same store."""
