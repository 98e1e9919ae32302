"""A practice ladder on virtual time: the real manager, referees and players on the memory network."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from agent_league.config.models import (
    GamesRegistry,
    LadderConfig,
    LeagueConfig,
    ParticipantsConfig,
    RegisteredGame,
    SystemConfig,
)
from agent_league.http.carrier import HttpReply
from agent_league.http.memory import MemoryNetwork
from agent_league.launch.house_bots import open_house_bots
from agent_league.league.app import LeagueManager
from agent_league.league.journal import run_inline
from agent_league.league.ladder_conductor import PlayerChecker
from agent_league.league.ladder_record import LadderRecord
from agent_league.league.settings import ManagerSettings
from agent_league.model.events import Event, MatchFinished, MatchPaired
from agent_league.players.app import Player, PlayerSettings
from agent_league.players.strategies import load_strategy
from agent_league.referee.app import Referee
from agent_league.referee.settings import RefereeSettings
from agent_league.storage.memory import MemoryDatabase, MemoryStore
from agent_league.testing.virtual_time import VirtualClock

LEAGUE_ID = "practice"
MANAGER = "http://localhost:8000/mcp"


@dataclass
class LadderWorld:
    """Starts and ends agents; the store outlives the manager."""

    home: Path
    ladder: LadderConfig
    check_player: PlayerChecker | None = None
    game: str = "even_odd"
    network: MemoryNetwork = field(default_factory=MemoryNetwork)
    database: MemoryDatabase = field(default_factory=MemoryDatabase)
    events: list[Event] = field(default_factory=list)
    tasks: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    manager_: LeagueManager | None = None
    players: dict[str, Player] = field(default_factory=dict)
    system: SystemConfig = field(default_factory=lambda: SystemConfig(default_league_id=LEAGUE_ID))

    @property
    def manager(self) -> LeagueManager:
        assert self.manager_ is not None
        return self.manager_

    @property
    def record(self) -> LadderRecord:
        assert self.manager.state.ladder is not None
        return self.manager.state.ladder

    def start_manager(self) -> None:
        league = LeagueConfig(
            league_id=LEAGUE_ID,
            game_type=self.game,
            participants=ParticipantsConfig(max_players=400),
            ladder=self.ladder,
        )
        settings = ManagerSettings(self.system, league, self.home / "manager", 0, 0, endpoint=MANAGER)
        self.manager_ = LeagueManager(
            settings,
            self.network,
            VirtualClock(),
            self.events.append,
            store=MemoryStore(self.database),
            offload=run_inline,
            rng=Random(7),
            check_player=self.check_player,
        )
        self.network.attach(MANAGER, self.manager.dispatcher.answer_request)
        open_house_bots(self.manager, settings, self.network)
        self.tasks["manager"] = asyncio.create_task(self.manager.run())

    def start_referee(self, number: int = 1, slots: int = 50) -> None:
        endpoint = f"http://localhost:{8000 + number}/mcp"
        settings = RefereeSettings(
            **self._identity(endpoint, f"REF{number:02}", f"Referee {number}"),
            games=GamesRegistry(games=(RegisteredGame(game_type=self.game),)),
            max_concurrent_matches=slots,
        )
        self._run(f"REF{number:02}", endpoint, Referee(settings, self.network, VirtualClock(), rng=Random(number)))

    def start_player(self, number: int, strategy: str = "random", version: str = "1.0.0") -> None:
        endpoint = f"http://localhost:{8100 + number}/mcp"
        identity = self._identity(endpoint, f"P{number:02}", f"Player {number}")
        settings = PlayerSettings(**identity, game_types=(self.game,), version=version)
        player = Player(settings, load_strategy(strategy), self.network, VirtualClock(), rng=Random(100 + number))
        self.players[f"P{number:02}"] = player
        self._run(f"P{number:02}", endpoint, player)

    def _identity(self, endpoint: str, wanted_id: str, name: str) -> dict[str, Any]:
        return {
            "system": self.system,
            "home": self.home / wanted_id,
            "manager": MANAGER,
            "endpoint": endpoint,
            "wanted_id": wanted_id,
            "display_name": name,
        }

    def _run(self, name: str, endpoint: str, agent: Player | Referee) -> None:
        self.network.attach(endpoint, agent.dispatcher.answer_request)
        self.tasks[name] = asyncio.create_task(agent.run())

    async def stop(self, *names: str) -> None:
        for name in names:
            if task := self.tasks.pop(name, None):
                task.cancel()
                await asyncio.wait({task})

    def slow_down(self, number: int, seconds: float) -> None:
        """Let a player take so long for every answer."""
        endpoint = f"http://localhost:{8100 + number}/mcp"
        answer = self.players[f"P{number:02}"].dispatcher.answer_request

        async def answer_slowly(frame: bytes, bearer: str | None) -> bytes | None:
            await asyncio.sleep(seconds)
            return await answer(frame, bearer)

        self.network.attach(endpoint, answer_slowly)

    async def ask(self, player_id: str, method: str, message_type: str, **fields: Any) -> Any:
        """Call the manager as a player, with its token."""

        message = {
            "protocol": "league.v2",
            "message_type": message_type,
            "sender": f"player:{player_id}",
            "timestamp": "2025-01-15T10:00:00Z",
            "conversation_id": "conv-1",
            "auth_token": self.players[player_id].token,
            **fields,
        }
        frame = json.dumps({"jsonrpc": "2.0", "method": method, "params": message, "id": 1}).encode()
        reply: HttpReply = await self.network.exchange(MANAGER, frame, 10)
        return json.loads(reply[1])["result"]

    async def register(self, name: str, endpoint: str) -> Any:
        """Register as a stranger's player."""
        message = {
            "protocol": "league.v2",
            "message_type": "LEAGUE_REGISTER_REQUEST",
            "sender": "player:stranger",
            "timestamp": "2025-01-15T10:00:00Z",
            "conversation_id": "conv-1",
            "player_meta": {
                "display_name": name,
                "version": "1.0.0",
                "game_types": [self.game],
                "contact_endpoint": endpoint,
            },
        }
        frame = json.dumps({"jsonrpc": "2.0", "method": "register_player", "params": message, "id": 1}).encode()
        reply: HttpReply = await self.network.exchange(MANAGER, frame, 10)
        return json.loads(reply[1])["result"]

    @property
    def paired(self) -> list[tuple[str, str]]:
        return [event.pairing.players for event in self.events if isinstance(event, MatchPaired)]

    @property
    def finished(self) -> int:
        return sum(isinstance(event, MatchFinished) for event in self.events)

    async def wait_until(self, condition: Callable[[], bool], seconds: float = 3600) -> None:
        """Wait in virtual time."""
        async with asyncio.timeout(seconds):
            while not condition():  # noqa: ASYNC110 - virtual time costs nothing
                await asyncio.sleep(0.5)


@asynccontextmanager
async def ladder_world(
    home: Path, check_player: PlayerChecker | None = None, game: str = "even_odd", **settings: Any
) -> AsyncIterator[LadderWorld]:
    """A world with a manager and a referee; leaving it ends all agents."""
    world = LadderWorld(home, LadderConfig(**settings), check_player, game)
    world.start_manager()
    world.start_referee()
    try:
        yield world
    finally:
        await world.stop(*world.tasks)
