"""Which leagues are this server's: keeps its row in the directory, claims free leagues, and sees when it lost its own.

Renews in a task and on a connection of its own, so that nothing else can be late for it. Knows no leagues but by id;
starting and stopping them is `league_server.py`'s.
"""

import asyncio
import secrets
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import ParamSpec, TypeVar
from urllib.parse import urlsplit

from agent_league import __version__
from agent_league.errors import AgentLeagueError
from agent_league.http.hosts import is_local_host
from agent_league.log import JsonLogger
from agent_league.serve.lease import ServerLease
from agent_league.serve.passed_call import PASSING_PROTOCOL
from agent_league.storage.base import OtherServersRun
from agent_league.storage.directory import (
    CHANNEL,
    DirectoryView,
    LeagueSummary,
    ServerAddress,
    ServerDirectory,
    ServerRow,
    count_fair_claims,
)
from agent_league.storage.notifications import listen_for_notifications
from agent_league.storage.sql import SqlStore

RENEWALS = 5
"""How often a lease is renewed before it would end."""
RETRY_SECONDS = 0.3
BEAT_SECONDS = 0.5
"""How often the event loop shows that it runs, and looks whether the lease has ended."""
HANGING_SECONDS = 60.0
"""An event loop that has not run for so long loses its leagues to other servers."""
MAX_CLAIMS = 50
"""Leagues that are claimed at once; others are claimed when these have started, by whoever is quicker."""
P = ParamSpec("P")
T = TypeVar("T")


class DirectoryThread:
    """A directory with a connection and a thread of its own."""

    def __init__(self, address: str, lease_seconds: float, name: str) -> None:
        self.store = SqlStore(address)
        self.directory = ServerDirectory(self.store, lease_seconds)
        self._thread = ThreadPoolExecutor(1, name)

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call of the directory in its thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, lambda: function(*args, **kwargs))

    def submit(self, function: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
        """Begin a call of the directory in its thread, and wait for nothing."""
        self._thread.submit(function, *args, **kwargs)

    def close(self) -> None:
        self._thread.shutdown(wait=True)
        self.store.close()


class LeagueOwnership:
    """This server's place among those that share its store."""

    def __init__(self, address: str, internal_url: str, lease: ServerLease, lease_seconds: float, log: JsonLogger):
        """`address` is the store's, `internal_url` this server's for the others."""
        self._lease = lease
        self._log = log
        self._renewing = DirectoryThread(address, lease_seconds, "lease")
        self._asking = DirectoryThread(address, lease_seconds, "directory")
        self.directory = self._asking.directory
        self._row = ServerRow(secrets.token_hex(8), internal_url, socket.gethostname(), __version__, PASSING_PROTOCOL)
        self._stop = threading.Event()
        """Ends the thread that renews."""
        self._alive_at = 0.0
        """When the event loop ran last, by the monotonic clock."""
        self.view = DirectoryView()
        """Who is there and who owns what, as of the latest look."""
        self.has_claimed_most = False
        """Whether the latest claim was for as many leagues as are claimed at once: there may be more."""
        self.changed = asyncio.Event()
        """Set when another server says that leagues have changed, or this one has lost its own."""

    @property
    def server_id(self) -> str:
        return self._row.server_id

    @property
    def seconds_to_next_end(self) -> float:
        """When, after the latest look, the lease of another server ends unless it is renewed."""
        left = (seconds for one, seconds in self.view.seconds_left.items() if one != self.server_id)
        return min(left, default=float("inf"))

    def has_league(self, league_id: str) -> bool:
        """Whether some server has, or is to have, a league of this id."""
        lease = self.view.leagues.get(league_id)
        return lease is not None and lease.is_defined

    def find_owner(self, league_id: str) -> ServerAddress | None:
        """Find the server that owns a league, as of the latest look; None if nobody does."""
        return self.view.find_owner(league_id)

    async def run_directory(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a call of `directory`, which blocks, outside the event loop."""
        return await self._asking.run(function, *args, **kwargs)

    async def open_store(self) -> None:
        """Bring the store up to date once no server of an older version uses it; raises StoreFailed and UserError."""
        await self._try_until_leases_end(lambda: self._asking.run(self._asking.store.bring_up_to_date))

    async def enter(self) -> None:
        """Take a place among the servers; raises StoreFailed, and UserError if others run that can't work with it."""
        await self._try_until_leases_end(self._enter_once)
        self._start_renewing()
        self._log.info("server_entered", server_id=self.server_id, address=self._row.address)

    async def _enter_once(self) -> None:
        others = (await self._asking.run(self.directory.read_view)).servers.values()
        check_internal_addresses(self._row, [*others])
        asked_at = self._lease.begin_request()
        await self._renewing.run(self._renewing.directory.enter, self._row)
        self._lease.extend(asked_at, self.directory.lease_seconds)

    async def _try_until_leases_end(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do what other servers may stand against; those that were killed are waited for, until they are gone."""
        due = asyncio.get_running_loop().time() + self.directory.lease_seconds + RETRY_SECONDS
        while True:
            try:
                await work()
            except OtherServersRun:
                if asyncio.get_running_loop().time() >= due:
                    raise
                await asyncio.sleep(RETRY_SECONDS)
            else:
                return

    async def leave(self) -> None:
        """Release all leagues, which have been stopped, and go."""
        self._stop.set()
        if self._lease.is_held:
            self._lease.end()
            try:
                await self._renewing.run(self._renewing.directory.leave, self._row)
            except AgentLeagueError as error:
                self._log.warning("not_released", error=str(error))
        await asyncio.to_thread(self._renewing.close)
        await asyncio.to_thread(self._asking.close)

    def _start_renewing(self) -> None:
        """Renew the lease in a thread of its own, so that a busy event loop loses no league."""
        self._stop, loop = threading.Event(), asyncio.get_running_loop()
        self._alive_at = time.monotonic()

        def warn(error: str) -> None:
            loop.call_soon_threadsafe(partial(self._log.warning, "lease_not_renewed", error=error))

        self._renewing.submit(self._renew_until_lost, self._row, self._stop, warn)

    async def keep_lease(self) -> None:
        """Show that the event loop runs until the lease has ended; `changed` is set then. Never raises."""
        try:
            while self._lease.is_held:
                self._alive_at = time.monotonic()
                await asyncio.sleep(min(BEAT_SECONDS, self._lease.seconds_left))
        finally:
            self._stop.set()
        self._log.error("lease_lost", server_id=self.server_id)
        self.changed.set()

    def _renew_until_lost(self, row: ServerRow, stop: threading.Event, warn: Callable[[str], None]) -> None:
        """Renew the lease again and again; runs in a thread until `stop` is set or the lease has ended."""
        seconds = self.directory.lease_seconds
        pause = seconds / RENEWALS
        while not stop.wait(pause) and self._lease.is_held:
            if time.monotonic() - self._alive_at > HANGING_SECONDS:
                self._lease.end()
                return
            asked_at = self._lease.begin_request()
            try:
                is_renewed = self._renewing.directory.renew(row)
            except AgentLeagueError as error:
                warn(str(error))
                pause = RETRY_SECONDS
                continue
            pause = seconds / RENEWALS
            if not is_renewed:
                self._lease.end()
            elif not stop.is_set():
                self._lease.renew(asked_at, seconds)

    async def listen(self) -> None:
        """Set `changed` when another server says so, until cancelled."""
        await listen_for_notifications(self._asking.store.connect_arguments(), CHANNEL, self.changed.set)

    def begin_anew(self) -> None:
        """Become another server as far as the directory knows, after the lease was lost."""
        others = {one: row for one, row in self.view.servers.items() if one != self.server_id}
        self.view = replace(self.view, servers=others)
        self._row = replace(self._row, server_id=secrets.token_hex(8))

    async def claim_leagues(self) -> Sequence[str]:
        """Claim this server's part of the leagues that nobody owns; returns all that are its own."""
        view = await self._asking.run(self.directory.read_view)
        self.has_claimed_most = False
        if most := min(MAX_CLAIMS, count_fair_claims(view, self.server_id)):
            claimed = await self._asking.run(self.directory.claim_leagues, self._row, most)
            self.has_claimed_most = len(claimed) == MAX_CLAIMS
            if claimed:
                self._log.info("leagues_claimed", leagues=claimed)
                view = await self._asking.run(self.directory.read_view)
        self.view = view
        return [one.league_id for one in view.leagues.values() if one.server_id == self.server_id]

    async def release(self, league_id: str) -> None:
        await self._asking.run(self.directory.release, self._row, league_id)

    async def write_summaries(self, summaries: Sequence[LeagueSummary]) -> None:
        await self._asking.run(self.directory.write_summaries, self._row, summaries)


def check_internal_addresses(own: ServerRow, others: Sequence[ServerRow]) -> None:
    """Raise OtherServersRun if servers of several machines name addresses that only one of them can reach."""
    elsewhere = next((one for one in others if one.machine != own.machine), None)
    if elsewhere is None:
        return
    for one, other in ((own, elsewhere), (elsewhere, own)):
        if is_local_host(urlsplit(one.address).hostname or ""):
            raise OtherServersRun(
                f"The server on {one.machine} is at {one.address}, which the one on {other.machine}, that shares its"
                " store, can't call. Start it with --internal-url and an address by which the other reaches it."
            )
