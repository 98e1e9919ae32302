"""One store for all leagues of a server: one connection, one thread that writes, one commit for all who wait.

A league's manager gets the store as if it were its own; closing it there leaves it open for the others.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from agent_league.serve.lease import ServerLease, UnlimitedLease
from agent_league.storage.base import ManagerReplaced, SavedSeason, SeasonRow, StoredRow, StoreFailed
from agent_league.storage.match_files import find_match_files, keep_match_files
from agent_league.storage.sql import SqlStore

SeasonRows = tuple[int, Sequence[StoredRow]]
"""A season's id, and rows of it to be written."""


class SharedStore(SqlStore):
    """A database that the managers of many leagues write to."""

    def __init__(self, address: str, lease: ServerLease | None = None, home: Path | None = None) -> None:
        """Without the `lease` of its server nothing is written: ManagerReplaced is raised.

        With `home` the match files that referees leave there are committed together with the results.
        """
        super().__init__(address)
        self._lease = lease or UnlimitedLease()
        self._home = home
        self._league_ids: dict[int, str] = {}
        """By season."""
        self._thread = ThreadPoolExecutor(1, "store")
        self._waiting: list[tuple[SeasonRows, asyncio.Future[None]]] = []
        self._writing: asyncio.Task[None] | None = None

    async def offload(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run a call of the store in its thread; others' threads stay free however slow the disk is.

        Rows that wait for a commit under way share the next one.
        """
        if function != self.write_rows:
            return await asyncio.get_running_loop().run_in_executor(self._thread, function, *args)
        season_id, rows = args
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(((season_id, rows), done))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_waiting())
        return await done

    async def _write_waiting(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            batch, self._waiting = self._waiting, []
            try:
                failures = await loop.run_in_executor(self._thread, self._write_together, [rows for rows, _ in batch])
            except RuntimeError as error:  # the thread has ended
                failures = [StoreFailed(f"nothing is written any more: {error}")] * len(batch)
            for (_, done), failure in zip(batch, failures, strict=True):
                if done.done():
                    continue
                if failure is None:
                    done.set_result(None)
                else:
                    done.set_exception(failure)

    def _write_together(self, batch: Sequence[SeasonRows]) -> list[Exception | None]:
        """Commit the rows of several seasons at once or, where that fails, each by itself; returns what failed."""
        if not self._lease.is_held:
            return [self._lease_error()] * len(batch)
        if len(batch) > 1:
            try:
                with self.write_transaction() as connection:
                    for season_id, rows in batch:
                        self.write_season_rows(connection, season_id, rows)
            except Exception:  # noqa: BLE001, S110 - one season's failure is found below, and is no other's
                pass
            else:
                return [None] * len(batch)
        return [self._try_write(season_id, rows) for season_id, rows in batch]

    def _try_write(self, season_id: int, rows: Sequence[StoredRow]) -> Exception | None:
        try:
            self.write_rows(season_id, rows)
        except Exception as error:  # noqa: BLE001 - raised again where the rows come from
            return error
        return None

    def open_season(self, league_id: str) -> SavedSeason | None:
        self._require_lease()
        saved = super().open_season(league_id)
        if saved:
            self._league_ids[saved.season.season_id] = league_id
        return saved

    def create_season(
        self, league_id: str, created_at: str, signing_key: str, settings: Mapping[str, Any]
    ) -> SeasonRow:
        self._require_lease()
        row = super().create_season(league_id, created_at, signing_key, settings)
        self._league_ids[row.season_id] = league_id
        return row

    def write_season_rows(self, connection: Any, season_id: int, rows: Sequence[StoredRow]) -> None:
        super().write_season_rows(connection, season_id, rows)
        if self._home is not None and (league_id := self._league_ids.get(season_id)):
            keep_match_files(connection, season_id, find_match_files(self._home, league_id, rows), rows)

    def _require_lease(self) -> None:
        if not self._lease.is_held:
            raise self._lease_error()

    def _lease_error(self) -> ManagerReplaced:
        return ManagerReplaced("The lease of this server has ended; its leagues are another's.")

    def close(self) -> None:
        """Do nothing: a league that ends leaves the store to the others."""

    def shut_down(self) -> None:
        """Close the connection, after the calls under way."""
        self._thread.shutdown(wait=True)
        super().close()
