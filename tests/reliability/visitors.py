"""Who else is there while servers are killed: viewers that come back, and a referee elsewhere that dials out.

They know the proxy's address alone, as everybody outside does.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

from agent_league.clock import SystemClock, format_utc
from agent_league.config import ConfigLoader
from agent_league.http.sign_up_address import add_sign_up_key
from agent_league.launch.agent_plan import RefereePlan
from agent_league.league.class_roster import renew_key
from agent_league.referee.settings import RefereeSettings
from agent_league.storage.access import AccessStore, TeamRow
from tests.sse import frames

COME_BACK_SECONDS = 0.3
GUEST_REFEREE = "REF02"


class LeagueViewer:
    """Follows the events of a league as a page does: comes back whenever the stream ends, with the last event's id."""

    def __init__(self, session: aiohttp.ClientSession, league: str) -> None:
        """`league` is the league's address, without a slash at its end."""
        self._session = session
        self._league = league
        self.connections = 0
        self.played = 0
        self.complaints: list[str] = []
        self.is_over = asyncio.Event()

    async def watch(self) -> None:
        """Watch until the league is over."""
        last = ""
        while not self.is_over.is_set():
            try:
                address = f"{self._league}/events?form=json"
                async with self._session.get(address, headers={"last-event-id": last}) as stream:
                    if stream.status == 200:
                        self.connections += 1
                        last = await self._read(stream)
            except (aiohttp.ClientError, OSError):
                pass  # the server was lost
            await asyncio.sleep(COME_BACK_SECONDS)

    def find_complaints(self, matches: int) -> list[str]:
        """Say what was wrong with what it has seen of a league of so many matches."""
        if not self.is_over.is_set() or self.played != matches:
            return [*self.complaints, f"{self._league}: its viewer has seen {self.played} of {matches} matches"]
        return self.complaints

    async def _read(self, stream: aiohttp.ClientResponse) -> str:
        last = ""
        async for event in frames(stream):
            last = event.id or last
            progress = json.loads(event.data).get("progress") if event.data else None
            if progress:
                if progress["played"] < self.played:
                    self.complaints.append(f"{self._league} went back from {self.played} to {progress['played']}")
                self.played = progress["played"]
                if progress["phase"] == "COMPLETED":
                    self.is_over.set()
                    return last
        return last


@asynccontextmanager
async def watching(leagues: Sequence[str]) -> AsyncIterator[list[LeagueViewer]]:
    """Let one viewer watch each of these leagues."""
    timeout = aiohttp.ClientTimeout(total=None, sock_read=40)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
        viewers = [LeagueViewer(session, league) for league in leagues]
        tasks = [asyncio.create_task(viewer.watch()) for viewer in viewers]
        try:
            yield viewers
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def plan_guest_referee(access: AccessStore, home: Path, folder: Path, manager: str, league_id: str) -> RefereePlan:
    """Plan a referee on another machine, which dials out with a key that is in the store."""
    issued = renew_key(TeamRow(league_id, "referees", "Referees", "referee"), format_utc(SystemClock().now()))
    access.write_teams([issued.team])
    loader = ConfigLoader(home)
    settings = RefereeSettings(
        system=loader.load_system(),
        games=loader.load_games_registry(),
        home=folder / f"referee of {league_id}",
        manager=add_sign_up_key(manager, issued.key),
        endpoint="http://localhost:1/mcp",
        wanted_id=GUEST_REFEREE,
        display_name="Elsewhere",
        game_types=("*",),
        league_id=league_id,
        max_concurrent_matches=10,
    )
    return RefereePlan(settings, 1, dial_out=True)
