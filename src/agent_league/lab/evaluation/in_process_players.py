"""Players that run in this process: real ones, each with a strategy, reached through the in-memory network."""

import asyncio
import hashlib
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

from agent_league.agent.dialects import to_own_player_id
from agent_league.config import SystemConfig
from agent_league.config.models import LoggingConfig
from agent_league.http.carrier import Carrier
from agent_league.http.memory import MemoryNetwork
from agent_league.lab.evaluation.model import MoveCounts
from agent_league.lab.evaluation.private_league import PracticeManager
from agent_league.lab.series_player import describe_error
from agent_league.launch.agent_plan import AgentListeners, PlayerPlan
from agent_league.launch.in_process import run_agents
from agent_league.players.app import PlayerSettings
from agent_league.players.events import LeagueJoined, PlayerEvent
from agent_league.players.moves import find_equal_moves
from agent_league.players.observation import Observation, Strategy, Thought
from agent_league.protocol.v2.match import MatchPlayer
from agent_league.protocol.version import PROTOCOL_V2
from agent_league.text import quote

IN_PROCESS_URL = "http://192.0.2.1:8000/"
"""Base URL of players in this process: an address for documents, which no host has and no name server is asked for."""
MANAGER_URL = f"{IN_PROCESS_URL}manager"
REGISTER_SECONDS = 30
"""Time for our own players to register, generous for busy machines."""


@dataclass(frozen=True, slots=True)
class PracticePlayer:
    """A registered player, running or in this process, that can be called to play."""

    player_id: str
    endpoint: str
    token: Callable[[], str | None]
    """Returns its current token, if we know it; a player may register again."""
    protocol: str = PROTOCOL_V2
    move_method: Literal["make_move"] | None = None
    """The method to ask it for a move, if it takes any game and doesn't name this one."""

    def to_match_player(self, match_token: str, failures: int) -> MatchPlayer:
        """Return its entry in START_MATCH."""
        token = self.token()
        return MatchPlayer(
            player_id=self.player_id,
            display_name=self.player_id,
            endpoint=self.endpoint,
            protocol=self.protocol,
            token_sha256=hashlib.sha256(token.encode()).hexdigest() if token else None,
            failures_in_a_row=failures,
            match_token=match_token,
            move_method=self.move_method,
        )


@dataclass(frozen=True, slots=True)
class InProcessPlayer:
    """A player to start in this process."""

    player_id: str
    strategy: Strategy
    name: str
    protocol: str = PROTOCOL_V2


class SplitCarrier:
    """A carrier that routes by address: players in this process through memory, others over HTTP."""

    def __init__(self, inside: MemoryNetwork, outside: Carrier) -> None:
        self._inside = inside
        self._outside = outside

    async def exchange(
        self,
        endpoint: str,
        frame: bytes,
        limit: float,
        bearer: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, bytes]:
        carrier: Carrier = self._inside if endpoint.startswith(IN_PROCESS_URL) else self._outside
        return await carrier.exchange(endpoint, frame, limit, bearer, headers)

    async def close(self) -> None:
        """Do nothing: the caller closes both carriers."""


@dataclass(frozen=True, slots=True)
class InProcessLeague:
    """What players in this process share: network, manager, folder, game and seed."""

    network: MemoryNetwork
    manager: PracticeManager
    home: Path
    game_type: str
    seed: str


@asynccontextmanager
async def start_in_process_players(
    partners: Sequence[InProcessPlayer], room: InProcessLeague, remark: Callable[[str], None]
) -> AsyncIterator[list[PracticePlayer]]:
    """Start players in this process and wait until all have registered; leaving the context ends them."""
    manager = room.manager
    room.network.attach(MANAGER_URL, manager.answer_in_process)
    system = SystemConfig(default_league_id=manager.league_id, logging=LoggingConfig(level="ERROR"))
    missing = {partner.player_id for partner in partners}
    all_there = asyncio.Event()

    def seat_of(partner: InProcessPlayer) -> PlayerPlan:
        settings = PlayerSettings(
            system=system,
            home=room.home,
            manager=MANAGER_URL,
            endpoint=f"{IN_PROCESS_URL}{partner.player_id}",
            wanted_id=partner.player_id,
            display_name=partner.name,
            game_types=(room.game_type,),
            seed=room.seed,
            protocol=partner.protocol,
        )
        return PlayerPlan(settings, port=1, strategy=partner.strategy)

    def watch(player_id: str, happening: PlayerEvent) -> None:
        if isinstance(happening, LeagueJoined):
            missing.discard(to_own_player_id(player_id))
            if not missing:
                all_there.set()

    async with run_agents(
        room.network,
        [seat_of(partner) for partner in partners],
        AgentListeners(on_player_event=watch, on_remark=remark),
    ):
        if missing:
            async with asyncio.timeout(REGISTER_SECONDS):
                await all_there.wait()
        yield [
            PracticePlayer(
                partner.player_id,
                f"{IN_PROCESS_URL}{partner.player_id}",
                partial(manager.tokens.get, partner.player_id),
                partner.protocol,
            )
            for partner in partners
        ]


class WatchedStrategy:
    """Delegates everything to the wrapped strategy and counts its choices and failures.

    A player makes a random move for a strategy that fails, so its games alone don't show the failures.
    """

    def __init__(self, strategy: Strategy) -> None:
        self._strategy = strategy
        self._asked_count = self._failed_count = 0
        self._first_failure = ""
        is_async = inspect.iscoroutinefunction(getattr(strategy, "choose", None))
        self.choose = self._choose_async if is_async else self._choose

    def __getattr__(self, name: str) -> Any:
        return getattr(self._strategy, name)

    @property
    def move_counts(self) -> MoveCounts:
        return MoveCounts(self._asked_count, self._failed_count, self._first_failure)

    def _choose(self, observation: Observation) -> Any:
        with self._count_move():
            said = self._strategy.choose(observation)
        return self._check_choice(said, observation)

    async def _choose_async(self, observation: Observation) -> Any:
        with self._count_move():
            said = await cast("Awaitable[Any]", self._strategy.choose(observation))
        return self._check_choice(said, observation)

    @contextmanager
    def _count_move(self) -> Iterator[None]:
        self._asked_count += 1
        try:
            yield
        except (Exception, SystemExit) as error:
            self._record_failure(describe_error(error))
            raise

    def _check_choice(self, said: Any, observation: Observation) -> Any:
        move = said.move if isinstance(said, Thought) else said
        if not inspect.isawaitable(said) and not find_equal_moves(move, observation.legal_moves):
            self._record_failure(f"chose {quote(move)}, which isn't legal")
        elif isinstance(said, Thought) and said.usage is not None and said.usage.fallback:
            self._record_failure(f"its model gave no move: {said.usage.fallback}")
        return said

    def _record_failure(self, what: str) -> None:
        self._failed_count += 1
        self._first_failure = self._first_failure or what
