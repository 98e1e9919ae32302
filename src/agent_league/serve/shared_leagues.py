"""Leagues that several servers share by one PostgreSQL: their files, their owners, and what servers tell each other.

`LeagueServer` asks it which leagues are its own; `ownership.py` keeps the lease, `shared_files.py` the files.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from agent_league.agent.tasks import run_beside, run_until_first
from agent_league.errors import AgentLeagueError, UserError
from agent_league.league.resume import derive_admin_token, save_admin_token
from agent_league.log import JsonLogger
from agent_league.protocol.tokens import SigningKey
from agent_league.serve.league_files import FileStamp
from agent_league.serve.lease import ServerLease
from agent_league.serve.ownership import LeagueOwnership
from agent_league.serve.shared_files import SharedLeagueFiles
from agent_league.storage.directory import LeagueSummary

POLL_SECONDS = 2.0
"""How often a server looks, if nobody wakes it."""
AFTER_END_SECONDS = 0.05
"""How long after the end of another server's lease its leagues are claimed."""
SEASON_SECONDS = 30.0
"""How long the owner of a league may take to begin a new season of it."""
OWNER_SECONDS = 15.0
"""How long a new league may take to find an owner that serves it."""
REENTER_SECONDS = 1.0


class SharedLeagues:
    """This server's part in the leagues of all servers."""

    def __init__(self, home: Path, owners: LeagueOwnership, lease: ServerLease, log: JsonLogger) -> None:
        self.owners = owners
        self._home = home
        self._lease = lease
        self._log = log
        self._saved_tokens: dict[str, tuple[int, str | None]] = {}
        """By league of another server: for which claim and phase its admin token was written."""
        self._files = SharedLeagueFiles(home, owners.directory, log)
        self._told: dict[str, LeagueSummary] = {}
        """By league: what the others were told of it last."""

    async def enter(self) -> None:
        """Take a place among the servers; raises StoreFailed and UserError."""
        await self.owners.enter()

    async def list_own(self) -> dict[str, FileStamp]:
        """Bring the files up to date and claim free leagues; returns all own leagues with their versions."""
        directory = self.owners.directory
        view = await self.owners.run_directory(directory.read_view)
        await self.owners.run_directory(self._files.synchronise, view)
        own = await self.owners.claim_leagues()
        leases = self.owners.view.leagues
        if leases != view.leagues:  # what was defined meanwhile may have been claimed too
            await self.owners.run_directory(self._files.synchronise, self.owners.view)
        for league_id in [one for one in own if not leases[one].is_defined]:
            self._told.pop(league_id, None)
        return {one: (leases[one].version, 0) for one in own if leases[one].is_defined}

    def is_removed(self, league_id: str) -> bool:
        """Whether a league that was ours has no file any more; otherwise it is another server's."""
        lease = self.owners.view.leagues.get(league_id)
        return lease is not None and not lease.is_defined and lease.server_id == self.owners.server_id

    async def save_admin_tokens(self) -> None:
        """Write the admin tokens of other servers' leagues into this home, so that organisers may command them here."""
        mine = self.owners.server_id
        wanted = {
            one.league_id: (one.epoch, (one.summary or {}).get("phase"))
            for one in self.owners.view.leagues.values()
            if one.is_defined and one.summary is not None and one.server_id != mine
        }
        changed = [league_id for league_id, state in wanted.items() if self._saved_tokens.get(league_id) != state]
        if changed:
            keys = await self.owners.run_directory(self.owners.directory.read_signing_keys, changed)
            for league_id, key in keys.items():
                save_admin_token(self._home, league_id, derive_admin_token(SigningKey.load(key)))
        self._saved_tokens = wanted

    async def tell_others(self, summaries: Mapping[str, LeagueSummary]) -> None:
        """Tell the other servers of leagues that have changed."""
        changed = [one for league_id, one in summaries.items() if self._told.get(league_id) != one]
        if changed:
            await self.owners.write_summaries(changed)
            self._told = dict(summaries)

    async def ask_for_season(self, league_id: str, *, wait: bool = True) -> None:
        """Ask the owner of a league to begin a new season, and wait until it has; raises UserError."""
        directory = self.owners.directory
        await self.owners.run_directory(directory.ask_for_season, league_id)
        if not wait:
            return
        await self._wait_until(
            lambda: not self.owners.view.leagues[league_id].new_season,
            SEASON_SECONDS,
            f"The server that has {league_id} hasn't begun a new season yet; look again in a moment.",
        )

    async def note_season_begun(self, league_id: str) -> None:
        await self.owners.run_directory(self.owners.directory.ask_for_season, league_id, wanted=False)

    def list_season_requests(self) -> list[str]:
        """List the own leagues of which another server asks for a new season."""
        mine = self.owners.server_id
        return [one.league_id for one in self.owners.view.leagues.values() if one.new_season and one.server_id == mine]

    async def wait_for_owner(self, league_id: str) -> None:
        """Wait until another server has told of a league that it serves it; raises UserError."""

        def is_served() -> bool:
            lease = self.owners.view.leagues.get(league_id)
            return self.owners.find_owner(league_id) is not None and lease is not None and lease.summary is not None

        sentence = f"The league {league_id} is made, and no server has started it yet; look again in a moment."
        await self._wait_until(is_served, OWNER_SECONDS, sentence)

    async def _wait_until(self, is_so: Callable[[], bool], seconds: float, sentence: str) -> None:
        try:
            async with asyncio.timeout(seconds):
                while True:
                    self.owners.view = await self.owners.run_directory(self.owners.directory.read_view)
                    if is_so():
                        return
                    await asyncio.sleep(0.1)
        except (TimeoutError, KeyError):
            raise UserError(sentence) from None

    async def run(self, follow: Callable[[], Awaitable[None]], give_up: Callable[[], Awaitable[None]]) -> None:
        """Keep the lease and call `follow` again and again until cancelled; `give_up` is called when it was lost."""
        async with run_beside(self.owners.listen()):
            while True:
                await run_until_first(self.owners.keep_lease(), self._follow_for_ever(follow))
                await give_up()
                self._told.clear()
                self.owners.begin_anew()
                await self._enter_again()

    async def _enter_again(self) -> None:
        is_in = await self._try(self.owners.enter, "server_not_entered")
        while not is_in:
            await asyncio.sleep(REENTER_SECONDS)
            is_in = await self._try(self.owners.enter, "server_not_entered")
        self.owners.changed.set()

    async def _follow_for_ever(self, follow: Callable[[], Awaitable[None]]) -> None:
        while True:
            await self._wait_for_change()
            await self._try(follow, "scan_failed")

    async def _wait_for_change(self) -> None:
        """Wait until somebody says that leagues have changed, a lease may have ended, or it is time to look."""
        try:
            async with asyncio.timeout(min(POLL_SECONDS, self.owners.seconds_to_next_end + AFTER_END_SECONDS)):
                await self.owners.changed.wait()
        except TimeoutError:
            return
        self.owners.changed.clear()

    async def _try(self, work: Callable[[], Awaitable[Any]], event: str) -> bool:
        try:
            await work()
        except AgentLeagueError as error:
            self._log.warning(event, error=str(error))
        except Exception as error:  # noqa: BLE001 - a folder that can't be read ends no league
            self._log.error(event, error=repr(error))
        else:
            return True
        return False

    async def leave(self) -> None:
        """Release all leagues, which have been stopped."""
        await self.owners.leave()
