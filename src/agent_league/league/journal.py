"""The journal: queues changed rows and writes them to the store in groups.

Rows that are queued during a commit share the next one, so that durability costs one sync per group and not per match.
Nothing is acknowledged to an agent before `wait_for_commit` has returned. A failing store is retried until it works;
meanwhile no call is acknowledged, and the agents repeat theirs.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any, TypeVar

from agent_league.agent.breaker import reconnect_delay
from agent_league.errors import ErrorCode, LeagueFailed, Refusal
from agent_league.log import JsonLogger
from agent_league.storage.base import ManagerReplaced, Store, StoredRow, StoreFailed, row_key

T = TypeVar("T")
Offload = Callable[..., Awaitable[Any]]
"""Runs a blocking function with its arguments outside the event loop."""
COMMIT_INTERVAL_SECONDS = 0.004
"""Minimum time between two commits, to group rows; the first commit after a pause is made at once."""
MAX_COMMIT_INTERVAL_SECONDS = 0.012
"""The same after a commit of many rows: a commit costs as much as some thirty of its rows."""
SECONDS_PER_ROW = 0.001
STORE_TRIAL_SECONDS = 5.0
"""Minimum time between two trial writes to an idle store."""
CLOSE_TIMEOUT_SECONDS = 5
"""How long `close` waits for the last rows to be written."""


async def run_inline(function: Callable[..., T], *args: Any) -> T:
    """Run a function in the event loop, for stores that don't block and loops without threads."""
    return function(*args)


class Journal:
    """Writes the rows of one season to the store."""

    def __init__(
        self,
        store: Store,
        season_id: int,
        log: JsonLogger,
        rng: Random,
        offload: Offload = asyncio.to_thread,
    ) -> None:
        self._store = store
        self._season_id = season_id
        self._log = log
        self._rng = rng
        self._offload = offload
        self._rows: dict[tuple[type[StoredRow], str], StoredRow] = {}
        self._queued_count = 0
        self._written_count = 0
        self._next_commit_at = 0.0
        self._last_trial_at = -STORE_TRIAL_SECONDS
        self._commit_waiters: deque[tuple[int, asyncio.Future[None]]] = deque()
        self._worker: asyncio.Task[None] | None = None
        self._is_failing = asyncio.Event()
        self.on_trouble: Callable[[str | None], None] = lambda _: None
        """Called once with the reason when the store fails, and with None when it works again."""
        self.on_commit: Callable[[], None] = lambda: None
        """Called after each commit, before those who wait for it go on."""
        self.save_failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Gets an exception when the season can't be saved any more; it never gets a result."""

    def queue_row(self, row: StoredRow) -> None:
        """Queue a row; it replaces a queued one of the same key, at its position."""
        self._rows[row_key(row)] = row
        self._queued_count += 1
        if self._worker is None or self._worker.done():
            self._worker = asyncio.get_running_loop().create_task(self._write_queued_rows())

    @property
    def pending_rows(self) -> int:
        """Rows that have yet to be written."""
        return len(self._rows)

    @property
    def store_trouble(self) -> str | None:
        """What a look at the store finds wrong with it; None if nothing, or if the store has no such check."""
        return getattr(self._store, "trouble", None)

    def is_store_trial_due(self) -> bool:
        """Whether an idle store is due for a trial write; if so, the next one is due STORE_TRIAL_SECONDS later."""
        now = asyncio.get_running_loop().time()
        is_time = not self._rows and now >= self._last_trial_at + STORE_TRIAL_SECONDS
        if is_time:
            self._last_trial_at = now
        return is_time

    async def wait_for_commit(self) -> None:
        """Wait until everything queued so far is on disk; raises a Refusal if that can't happen any more."""
        if self._written_count >= self._queued_count:
            return
        if self.save_failure.done():
            raise _stopped_refusal()
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._commit_waiters.append((self._queued_count, done))
        await done

    async def wait_for_commit_or_trouble(self) -> None:
        """The same, but no longer than until the store is known to fail for now."""
        if self._written_count >= self._queued_count or self._is_failing.is_set():
            return
        saved = asyncio.create_task(self.wait_for_commit())
        failing = asyncio.create_task(self._is_failing.wait())
        try:
            await asyncio.wait({saved, failing}, return_when=asyncio.FIRST_COMPLETED)
            if saved.done():
                saved.result()
        finally:
            saved.cancel()
            failing.cancel()

    def abandon(self) -> None:
        """Drop what is queued and write nothing more: the season is another manager's."""
        self._rows.clear()
        if self._worker and not self._worker.done():
            self._worker.cancel()
        self._stop_saving(ManagerReplaced("its server has given it up"))

    async def close(self) -> None:
        """Write the queued rows if the store allows it in time, and close the store."""
        if self._worker and not self._worker.done():
            _, late = await asyncio.wait({self._worker}, timeout=CLOSE_TIMEOUT_SECONDS)
            if late:
                self._worker.cancel()
                await asyncio.wait(late)
                self._log.error("not_saved", rows=len(self._rows))
                self._fail_commit_waiters(_stopped_refusal())
        self._store.close()

    async def _write_queued_rows(self) -> None:
        try:
            while self._rows and not self.save_failure.done():
                await asyncio.sleep(max(0, self._next_commit_at - asyncio.get_running_loop().time()))
                rows, upto = list(self._rows.values()), self._queued_count
                self._rows.clear()
                await self._write_rows(rows)
                interval = min(max(len(rows) * SECONDS_PER_ROW, COMMIT_INTERVAL_SECONDS), MAX_COMMIT_INTERVAL_SECONDS)
                self._next_commit_at = asyncio.get_running_loop().time() + interval
                self._last_trial_at = self._next_commit_at
                self._written_count = upto
                self.on_commit()
                while self._commit_waiters and self._commit_waiters[0][0] <= upto:
                    _, done = self._commit_waiters.popleft()
                    if not done.done():
                        done.set_result(None)
        except Exception as error:  # noqa: BLE001 - after any error the season can't be saved any more
            self._stop_saving(error)

    async def _write_rows(self, rows: list[StoredRow]) -> None:
        failures = 0
        while True:
            try:
                await self._offload(self._store.write_rows, self._season_id, rows)
            except StoreFailed as error:
                failures += 1
                self._log.error("store_failed", error=str(error), rows=len(rows), attempt=failures)
                if failures == 1:
                    self._is_failing.set()
                    self.on_trouble(str(error))
                await asyncio.sleep(reconnect_delay(failures, self._rng))
            else:
                if failures:
                    self._is_failing.clear()
                    self.on_trouble(None)
                return

    def _stop_saving(self, error: Exception) -> None:
        self._log.error("season_lost", error=repr(error))
        if isinstance(error, ManagerReplaced):
            sentence = "another League Manager has taken over this league; this one stops"
        else:
            sentence = f"the league can't be saved any more: {error!r}"
        if not self.save_failure.done():
            self.save_failure.set_exception(LeagueFailed(sentence))
            self.save_failure.exception()  # marks it as retrieved, so that asyncio doesn't warn
        self._fail_commit_waiters(_stopped_refusal())

    def _fail_commit_waiters(self, why: Refusal) -> None:
        for _, done in self._commit_waiters:
            if not done.done():
                done.set_exception(why)
        self._commit_waiters.clear()


def _stopped_refusal() -> Refusal:
    return Refusal(ErrorCode.SERVICE_UNAVAILABLE, "this manager can't save anything any more and stops")
