"""A league manager on the memory network, spoken to in plain dictionaries."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from agent_league.config import ConfigLoader
from agent_league.http.memory import MemoryNetwork
from agent_league.launch.rulebook import Rulebook, make_result_decider
from agent_league.league.app import LeagueManager
from agent_league.league.settings import ManagerSettings
from agent_league.model.events import Event
from agent_league.storage.paths import DataPaths
from agent_league.testing.peers import ScriptedPlayer, utc_timestamp
from tests.conftest import BOUND
from tests.league.scripted_referee import ScriptedReferee

T = TypeVar("T")
MANAGER = "http://localhost:8000/mcp"
LEAGUE_ID = "league_2025_even_odd"


async def within(awaited: Awaitable[T]) -> T:
    """Waits for something, but not for ever."""
    async with asyncio.timeout(BOUND):
        return await awaited


class MovableClock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.offset = timedelta()

    def now(self) -> datetime:
        return datetime.now(UTC) + self.offset


@dataclass
class Office:
    """The manager, and whoever the test seats around it."""

    manager: LeagueManager
    network: MemoryNetwork
    home: Path
    clock: MovableClock
    events: list[Event] = field(default_factory=list)
    referees: list[ScriptedReferee] = field(default_factory=list)
    news: asyncio.Event = field(default_factory=asyncio.Event)
    change: str | None = None

    @property
    def admin_token(self) -> str:
        return DataPaths(self.home).admin_token_file(LEAGUE_ID).read_text().strip()

    async def ask(self, method: str, params: Any = None) -> Any:
        """The `result` of a call."""
        frame = {"jsonrpc": "2.0", "method": method, "params": params or {}, "id": 1}
        _, body = await self.network.exchange(MANAGER, json.dumps(frame).encode(), 10)
        return json.loads(body)["result"]

    async def say(self, method: str, message_type: str, sender: str | None, **fields: Any) -> Any:
        """The answer to a message with a whole envelope; a field that is None is left out."""
        message = {
            "protocol": "league.v2",
            "message_type": message_type,
            "sender": sender,
            "timestamp": utc_timestamp(),
            "conversation_id": "conv-test-001",
            **fields,
        }
        return await self.ask(method, {name: value for name, value in message.items() if value is not None})

    async def register(
        self,
        name: str = "Agent Alpha",
        endpoint: str = "http://localhost:8101/mcp",
        *,
        role: str = "player",
        sender: str | None = "player:alpha",
        token: str | None = None,
        **meta: Any,
    ) -> Any:
        """Registers by a message alone; nobody answers at the endpoint."""
        is_player = role == "player"
        details: dict[str, Any] = {
            "display_name": name,
            "version": "1.0.0",
            "game_types": ["even_odd"],
            "contact_endpoint": endpoint,
        }
        if not is_player:
            details["match_tokens"] = True
        return await self.say(
            f"register_{role}",
            "LEAGUE_REGISTER_REQUEST" if is_player else "REFEREE_REGISTER_REQUEST",
            sender if is_player or sender != "player:alpha" else "referee:alpha",
            auth_token=token,
            **{f"{role}_meta": {**details, **meta}},
        )

    async def start(self, token: str | None = None) -> Any:
        """START_LEAGUE, with the admin token unless told otherwise."""
        return await self.say("start_league", "START_LEAGUE", "player:organiser", auth_token=token or self.admin_token)

    async def manage(self, action: str, player_id: str | None = None, **about: str) -> Any:
        """MANAGE_LEAGUE, with the admin token; what changed is kept in `change`, apart from the answer."""
        fields = {"action": action, "player_id": player_id, **about}
        answer = await self.say(
            "manage_league", "MANAGE_LEAGUE", "player:organiser", auth_token=self.admin_token, **fields
        )
        self.change = answer.pop("change", None)
        return answer

    async def query(self, agent: "ScriptedPlayer", query_type: str, **params: Any) -> Any:
        return await self.say(
            "league_query",
            "LEAGUE_QUERY",
            f"player:{agent.player_id}",
            auth_token=agent.token,
            query_type=query_type,
            query_params=params,
        )

    async def seat_players(self, count: int, first: int = 1) -> list[ScriptedPlayer]:
        """Scripted players that answer, registered in order."""
        players = []
        for number in range(first, first + count):
            player = ScriptedPlayer(f"Agent {number}", f"http://localhost:{8100 + number}/mcp")
            self.network.attach(player.endpoint, player.answer)
            assert (await player.register(self.network, MANAGER))["status"] == "ACCEPTED"
            players.append(player)
        return players

    async def seat_referee(self, **settings: Any) -> ScriptedReferee:
        """A scripted referee that answers, registered."""
        number = len(self.referees) + 1
        referee = ScriptedReferee(f"Referee {number}", f"http://localhost:{8000 + number}/mcp", **settings)
        self.referees.append(referee)
        self.network.attach(referee.endpoint, referee.answer)
        assert (await referee.register(self.network, MANAGER))["status"] == "ACCEPTED"
        return referee

    def note(self, event: Event) -> None:
        self.events.append(event)
        self.news.set()

    async def event(self, wanted: Callable[[Event], bool]) -> Event:
        """The first event of that kind, as soon as it has happened."""
        async with asyncio.timeout(BOUND):
            while True:
                if found := next((event for event in self.events if wanted(event)), None):
                    return found
                self.news.clear()
                await self.news.wait()

    async def completed(self) -> None:
        """Waits for the end of the league."""
        await within(self.manager.completed.wait())

    async def play(self, players: int = 4, referees: Sequence[dict[str, Any]] = ({},)) -> list[ScriptedPlayer]:
        """A whole league of scripted agents, started by the organiser."""
        seated = await self.seat_players(players)
        for settings in referees:
            await self.seat_referee(**settings)
        assert await self.start() == {"status": "ok"}
        await self.completed()
        return seated


@asynccontextmanager
async def at_work(office: Office) -> AsyncIterator[Office]:
    """A manager that runs until the context is left: for tests in virtual time, which fixtures don't reach."""
    run = asyncio.create_task(office.manager.run())
    try:
        yield office
    finally:
        for referee in office.referees:
            await referee.close()
        run.cancel()
        with suppress(asyncio.CancelledError):
            await run


def open_office(
    home: Path,
    overrides: dict[str, Any] | None = None,
    players: int = 0,
    referees: int = 0,
    network: MemoryNetwork | None = None,
    clock: Any = None,
    **parts: Any,
) -> Office:
    """A manager that isn't running yet; with counts it starts the league by itself."""
    loader = ConfigLoader(home, overrides or {})
    network, clock = network or MemoryNetwork(), clock or MovableClock()
    link_port = parts.pop("link_port", None)
    settings = ManagerSettings(loader.load_system(), loader.load_league(), home, players, referees, link_port=link_port)
    parts.setdefault("derive_result", make_result_decider(settings.league.game_type))
    manager = LeagueManager(settings, network, clock, tools=Rulebook(settings).handlers(), **parts)
    office = Office(manager, network, home, clock)
    manager.state.add_listener(office.note)
    network.attach(MANAGER, manager.dispatcher.answer_request)
    return office
