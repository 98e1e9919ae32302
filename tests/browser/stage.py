"""Leagues to look at, served in the test's own event loop: a test holds the players' moves, and stops the manager."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from agent_league.config import ConfigLoader
from agent_league.config.home import make_home
from agent_league.http.client import HttpCarrier
from agent_league.launch.agent_plan import AgentListeners, AgentPlan, PlayerPlan
from agent_league.launch.plan import LeagueRequest, make_league_plan
from agent_league.launch.serving import serve_agents
from agent_league.launch.stored_leagues import find_league
from agent_league.league.settings import ManagerSettings
from agent_league.model.events import Event, LeagueCompleted, MatchFinished
from agent_league.model.results import Outcome, StandingsRow
from agent_league.players.observation import Move, Observation
from agent_league.storage.paths import DataPaths
from agent_league.testing.peers import ScriptedPlayer
from tests.conftest import BOUND, free_ports
from tests.harm import IMAGE, QUOTED, SCRIPT
from tests.launch.scripted_guests import served

NAMES = (SCRIPT, IMAGE, QUOTED)
"""Players' names that mean harm."""


class Hold:
    """A strategy whose moves are let through by the test: so many, or all."""

    def __init__(self) -> None:
        self._moves = asyncio.Semaphore(0)
        self._is_open = False

    def let(self, moves: int) -> None:
        for _ in range(moves):
            self._moves.release()

    def open(self) -> None:
        self._is_open = True
        self.let(100)

    async def choose(self, observation: Observation) -> Move:
        if not self._is_open:
            await self._moves.acquire()
        return observation.random.choice(observation.legal_moves)


@dataclass
class League:
    """A league that is served here."""

    port: int
    home: Path
    seats: Sequence[AgentPlan]
    events: list[Event] = field(default_factory=list)
    _over: asyncio.Event = field(default_factory=asyncio.Event)
    _stops: dict[str, tuple[asyncio.Event, asyncio.Task[None]]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}/"

    @property
    def league_id(self) -> str:
        return cast("ManagerSettings", self.seats[0].settings).league.league_id

    @property
    def admin_token(self) -> str:
        return DataPaths(self.home).admin_token_file(self.league_id).read_text().strip()

    def standings(self) -> tuple[StandingsRow, ...]:
        """The table, as the store has it."""
        return find_league(self.home, ConfigLoader(self.home), None, None).make_reader().state.standings()

    @property
    def whole_match(self) -> str:
        """A match that was played as it should be."""
        finished = (event.result for event in self.events if isinstance(event, MatchFinished))
        return next(result.match_id for result in finished if result.outcome is not Outcome.TECHNICAL_LOSS)

    async def over(self) -> None:
        async with asyncio.timeout(BOUND):
            await self._over.wait()

    async def start_manager(self) -> None:
        await self._start("manager", self.seats[:1])

    async def start_agents(self) -> None:
        await self._start("agents", self.seats[1:])

    async def stop(self, name: str) -> None:
        stop, serving = self._stops.pop(name)
        stop.set()
        async with asyncio.timeout(BOUND):
            await serving

    async def close(self) -> None:
        for name in reversed(list(self._stops)):
            await self.stop(name)

    async def _start(self, name: str, seats: Sequence[AgentPlan]) -> None:
        stop, ready = asyncio.Event(), asyncio.Event()
        serving = asyncio.create_task(serve_agents(seats, stop, AgentListeners(on_league_event=self._see), ready.set))
        self._stops[name] = (stop, serving)
        async with asyncio.timeout(BOUND):
            waiting = asyncio.create_task(ready.wait())
            await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
        if serving.done():
            await serving

    def _see(self, event: Event) -> None:
        self.events.append(event)
        if isinstance(event, LeagueCompleted):
            self._over.set()


LOOKS: Sequence[dict[str, Any]] = ({"color": "#f1c40f", "avatar": "FX"}, {"color": "#7b241c"}, {"avatar": "🦊"})
"""What the first players tell: a light colour under a sign, a dark one, and a sign alone."""


@asynccontextmanager
async def league_at(
    home: Path,
    *,
    game: str = "even_odd",
    names: Sequence[str] = (),
    players: int = 4,
    awaited: int | None = None,
    strategy: Any = "random",
    move_seconds: float = 120,
) -> AsyncIterator[League]:
    """A league over HTTP with so many players of ours; it begins once `awaited` are there (0: when it is told)."""
    make_home(home)
    port = free_ports(2 + max(players, 2))
    request = LeagueRequest(
        home=home,
        players=max(players, 2),
        referees=1,
        game=game,
        seed="7",
        manager_port=port,
        referee_port=port + 1,
        player_port=port + 2,
    )
    plan = make_league_plan(ConfigLoader(home, {"timeouts.move_timeout_sec": move_seconds}), request)
    expected = players if awaited is None else awaited
    manager = replace(
        plan.manager, settings=replace(plan.manager.settings, exit_when_done=False, expected_players=expected)
    )
    playing = [
        replace(_named(seat, names, place), strategy=strategy) for place, seat in enumerate(plan.players[:players])
    ]
    league = League(port, home, [manager, *plan.referees, *playing])
    try:
        yield league
    finally:
        await league.close()


def _named(seat: PlayerPlan, names: Sequence[str], place: int) -> PlayerPlan:
    """The seat with its name and look; those after the third have the face of their name."""
    look = LOOKS[place] if place < len(LOOKS) else {}
    name = names[place] if place < len(names) else seat.settings.display_name
    return replace(seat, settings=replace(seat.settings, display_name=name, **look))


@asynccontextmanager
async def played(
    home: Path, *, players: int, guest: tuple[str, str] | None = None, **how: Any
) -> AsyncIterator[League]:
    """The same, played to its end, with a guest of this name who answers this to every question; the manager stays."""
    async with (
        league_at(home, players=players, awaited=players + bool(guest), **how) as league,
        AsyncExitStack() as own,
    ):
        await league.start_manager()
        if guest:
            await own.enter_async_context(_invited(league, *guest))
        await league.start_agents()
        await league.over()
        await league.stop("agents")
        yield league


@asynccontextmanager
async def _invited(league: League, name: str, choice: str) -> AsyncIterator[None]:
    port = free_ports(1)
    scripted = ScriptedPlayer(name, f"http://localhost:{port}/mcp", choice=choice)
    carrier = HttpCarrier()
    try:
        async with served(scripted.answer, port):
            await scripted.register(carrier, f"{league.url}mcp")
            yield
    finally:
        await carrier.close()
