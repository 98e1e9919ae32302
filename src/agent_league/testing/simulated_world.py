"""The world of a simulation: agents that are started, killed and restarted, each with its own disk and clock.

Runs the real manager, referees and players; only network, store, disks and clocks are simulated. The scenario decides
which faults occur.
"""

import asyncio
import errno
import io
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from agent_league.config import GamesRegistry, LeagueConfig, SystemConfig
from agent_league.config.models import GameEntry, Heartbeat, Participants, Scheduling
from agent_league.errors import AgentLeagueError, LeagueFailed
from agent_league.http.carrier import Carrier, no_answer
from agent_league.league.app import LeagueManager
from agent_league.league.settings import ManagerSettings
from agent_league.league.state import Phase
from agent_league.model.agents import AgentState, Role
from agent_league.model.events import Event, brief
from agent_league.players.app import Player, PlayerSettings
from agent_league.players.strategies import load_strategy
from agent_league.referee.app import Referee
from agent_league.referee.settings import RefereeSettings
from agent_league.storage.base import Row, Saved, SeasonRow, StoreFailed
from agent_league.storage.memory import Memory, MemoryStore
from agent_league.testing.agent_lives import Life
from agent_league.testing.faults import FOR_GOOD, MANAGER, Incident, Scenario, Trouble
from agent_league.testing.network import FaultyNetwork, Trace
from agent_league.testing.virtual_time import VirtualClock

LEAGUE_ID = "league_simulated"
STRATEGIES = ("random", "always_even", "always_odd", "alternating", "frequency", "pattern", "markov")
PORTS = {Role.LEAGUE_MANAGER: 8000, Role.REFEREE: 8001, Role.PLAYER: 8101}
SILENT_MATCH_SECONDS = 400.0
"""Time limit of a match if referees are silent: longer than any reported match takes, but less than an hour."""
RESTART_SECONDS = 1.0
"""Delay before an agent that could not start is started again."""


@dataclass(slots=True)
class Seat:
    """An agent with what survives its restarts: name, folder, clock, endpoint."""

    name: str
    role: Role
    number: int
    home: Path
    clock: VirtualClock
    life: Life | None = None
    agent: LeagueManager | Referee | Player | None = None

    @property
    def endpoint(self) -> str:
        return f"http://localhost:{PORTS[self.role] + self.number}/mcp"


@dataclass(slots=True)
class Disks:
    """Which agents' disks are full. Only creating files fails; files that are open can still be written."""

    root: Path
    full: set[str] = field(default_factory=set)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Patch `open` and `mkdir` to fail for agents whose disk is full."""
        with ExitStack() as patches:
            for module, name in ((os, "open"), (os, "mkdir"), (io, "open")):
                patches.enter_context(patch.object(module, name, self._guarded(getattr(module, name))))
            yield

    def _guarded(self, function: Any) -> Any:
        def guarded(path: Any, *args: Any, **kwargs: Any) -> Any:
            if self.full and _writes(*args, **kwargs) and self._is_full(path):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
            return function(path, *args, **kwargs)

        return guarded

    def _is_full(self, path: Any) -> bool:
        if isinstance(path, int):  # a file descriptor, already open
            return False
        return any(Path(path).is_relative_to(self.root / name) for name in self.full)


def _writes(mode: Any = 0o777, *_: Any, **__: Any) -> bool:
    """Whether a call of `os.open`, `os.mkdir` or `io.open` with this second argument may create something."""
    return not set("wax+").isdisjoint(mode) if isinstance(mode, str) else bool(mode & (os.O_CREAT | 0o777))


class FailingStore:
    """A store that fails at times; some writes that raise an error have been stored all the same."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._store = MemoryStore(world.memory)

    def open(self, league_id: str) -> Saved | None:
        self._check()
        return self._store.open(league_id)

    def read(self, league_id: str) -> Saved | None:
        self._check()
        return self._store.read(league_id)

    def create(self, league_id: str, created_at: str, signing_key: str, settings: Mapping[str, Any]) -> SeasonRow:
        self._check()
        return self._store.create(league_id, created_at, signing_key, settings)

    def write(self, season_id: int, rows: Sequence[Row]) -> None:
        if self._world.store_fails and self._world.rng.random() < 0.5:
            self._store.write(season_id, rows)
        self._check()
        self._store.write(season_id, rows)
        self._world.trace.add("commit", MANAGER, note=f"{len(rows)} rows")

    def put_aside(self, league_id: str) -> bool:
        self._check()
        return self._store.put_aside(league_id)

    def close(self) -> None:
        self._store.close()

    def _check(self) -> None:
        if self._world.store_fails:
            raise StoreFailed("database or disk is full")


class ReportlessCarrier:
    """Carrier of a silent referee: its result reports time out without being sent, all else is sent."""

    def __init__(self, carrier: Carrier, is_silent: Callable[[], bool]) -> None:
        self._carrier = carrier
        self._is_silent = is_silent

    async def exchange(
        self,
        endpoint: str,
        frame: bytes,
        limit: float,
        bearer: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, bytes]:
        if b'"report_match_result"' in frame and self._is_silent():
            await asyncio.sleep(limit)
            raise no_answer(endpoint, limit)
        return await self._carrier.exchange(endpoint, frame, limit, bearer, headers)

    async def close(self) -> None:
        await self._carrier.close()


class World:
    """A simulated league with all its agents, and the faults of a scenario."""

    def __init__(self, scenario: Scenario, root: Path) -> None:
        self.scenario = scenario
        self.trace = Trace()
        self.rng = Random(f"world {scenario.seed}")  # noqa: S311 - a simulation
        self.memory = Memory()
        self.store_fails = False
        self.disks = Disks(root)
        self.events: list[Event] = []
        self.raised: list[str] = []
        """Errors that escaped from our agents."""
        self.seats = {name: _seat(name, root, scenario.skews.get(name, 0)) for name in scenario.names}
        endpoints = {seat.name: seat.endpoint for seat in self.seats.values()}
        self.network = FaultyNetwork(scenario, endpoints, self.trace, self.step)
        heartbeat = Heartbeat(match_sec=SILENT_MATCH_SECONDS) if scenario.silent else Heartbeat()
        self.system = SystemConfig(default_league_id=LEAGUE_ID, heartbeat=heartbeat)
        self.league = LeagueConfig(
            league_id=LEAGUE_ID,
            game_type="even_odd",
            scheduling=Scheduling(matches_per_round=scenario.matches_per_round, overlap_rounds=scenario.overlap_rounds),
            participants=Participants(max_players=max(scenario.players, 100)),
        )
        self.lives: list[Life] = []
        self.gone: set[str] = set()
        self._agents: list[LeagueManager | Referee | Player] = []
        self._steps = 0
        self._incidents = list(reversed(scenario.incidents))

    @property
    def manager(self) -> LeagueManager | None:
        agent = self.seats[MANAGER].agent
        return agent if isinstance(agent, LeagueManager) else None

    def begin(self) -> None:
        """Schedule the start of all agents, in any order, and the end of all faults."""
        for name in self.seats:
            self.network.later(self.rng.choice((0, self.rng.random() * 3)), self.start, name)
        self.network.later(self.scenario.healing, self.heal)

    def step(self, actor: str) -> None:
        """Count a step of `actor` and apply the incidents that are due."""
        self._steps += 1
        while self._incidents and self._incidents[-1].step <= self._steps:
            incident = self._incidents.pop()
            if not self.network.healed:
                self._befall(incident, incident.victim or actor)

    def heal(self) -> None:
        """End all faults and start the agents that are down."""
        self.trace.add("healing", "world")
        self.network.healed = True
        self.network.cut_off.clear()
        self.disks.full.clear()
        self.store_fails = False
        for name in self.seats:
            self.start(name)

    def start(self, name: str) -> None:
        """Start an agent that is not running, unless it is gone forever."""
        seat = self.seats[name]
        if seat.life is not None or name in self.gone:
            return
        life = Life(name)
        self.lives.append(life)
        self.trace.add("start", name)
        try:
            agent = life.within(self._make, seat, life)
        except (OSError, AgentLeagueError) as error:
            self.trace.add("can't start", name, note=type(error).__name__)
            if self.network.healed:
                self.raised.append(f"{name} can't start: {error!r}")
            life.end()
            self.network.touch(name, RESTART_SECONDS)
            self.network.later(RESTART_SECONDS, self.start, name)
            return
        seat.life, seat.agent = life, agent
        self._agents.append(agent)
        self.network.attach(life, agent.dispatcher.answer)
        life.main = life.start(self._live(seat, agent))

    def kill(self, name: str, *, silently: bool = False) -> None:
        """Kill an agent as `kill -9` does, or `silently` as a power cut does."""
        seat = self.seats[name]
        if seat.life is None:
            return
        self.trace.add("killed", name)
        self.network.detach(seat.life, silently=silently)
        seat.life.end()
        seat.life = seat.agent = None

    def is_completed(self) -> bool:
        """Whether the end of the league was announced and stored."""
        if manager := self.manager:
            return manager.completed.is_set()
        saved = MemoryStore(self.memory).read(LEAGUE_ID)
        return saved is not None and saved.season.announced

    def untold(self) -> list[str]:
        """List the running agents that don't know yet that the league is over."""
        return [
            seat.name
            for seat in self.seats.values()
            if isinstance(seat.agent, Referee | Player) and seat.agent.state is not AgentState.SHUTDOWN
        ]

    def close(self) -> None:
        """Close the log files of all agents ever started."""
        for agent in self._agents:
            agent.log.close()

    async def _live(self, seat: Seat, agent: LeagueManager | Referee | Player) -> None:
        try:
            await agent.run()
        except Exception as error:  # noqa: BLE001 - any escaped error is a finding
            if seat.agent is agent or not isinstance(error, LeagueFailed):
                self.raised.append(f"{seat.name} ended with {error!r}")
        else:
            self.raised.append(f"{seat.name} ended")

    def _befall(self, incident: Incident, victim: str) -> None:
        seconds = incident.seconds
        self.trace.add(incident.trouble, victim, note=f"{seconds:g}")
        match incident.trouble:
            case Trouble.KILL | Trouble.VANISH:
                self.kill(victim, silently=incident.trouble is Trouble.VANISH)
                if seconds < FOR_GOOD:
                    self.network.touch(victim, seconds)
                    self.network.later(seconds, self.start, victim)
                elif self._can_spare(victim):
                    self.network.touch(victim, FOR_GOOD)
                    self.gone.add(victim)
                else:
                    self.network.later(RESTART_SECONDS, self.start, victim)
            case Trouble.USURP:
                if not self.store_fails and victim not in self.disks.full:
                    self.seats[victim].life = None
                    self.start(victim)
            case Trouble.CUT_OFF:
                self.network.touch(victim, seconds)
                self.network.cut_off[victim] = asyncio.get_running_loop().time() + seconds
            case Trouble.FILL_DISK:
                self.disks.full.add(victim)
                self.network.later(seconds, self.disks.full.discard, victim)
            case Trouble.FAIL_STORE:
                self.store_fails = True
                self.network.later(seconds, self._mend_store)
            case Trouble.PAUSE:
                self._pause(is_paused=True)
                self.network.later(seconds, self._resume)
            case Trouble.TURN_CLOCK:
                self.seats[victim].clock.skew += seconds

    def _is_silence_kept(self) -> bool:
        return self.scenario.silent_for_good or not self.network.healed

    def _can_spare(self, name: str) -> bool:
        """Whether the league has started and can be completed without this agent."""
        saved = MemoryStore(self.memory).read(LEAGUE_ID)
        if name == MANAGER or saved is None or saved.season.phase == "REGISTRATION":
            return False
        staying = [seat for seat in self.seats.values() if seat.role is Role.REFEREE and seat.name not in self.gone]
        return self.seats[name].role is Role.PLAYER or len(staying) > 1

    def _pause(self, *, is_paused: bool) -> None:
        life, manager = self.seats[MANAGER].life, self.manager
        if life and manager and manager.season.phase is Phase.RUNNING:
            life.within(partial(manager.season.set_paused, is_paused=is_paused))

    def _resume(self) -> None:
        """Resume the league; again if the manager was killed before that was stored."""
        self._pause(is_paused=False)
        saved = MemoryStore(self.memory).read(LEAGUE_ID)
        if saved is not None and saved.season.paused:
            self.network.later(RESTART_SECONDS, self._resume)

    def _mend_store(self) -> None:
        self.store_fails = False

    def _heard(self, event: Event) -> None:
        self.events.append(event)
        self.trace.add(type(event).__name__, MANAGER, note=" ".join(str(value) for value in brief(event).values()))

    async def _commit(self, life: Life, work: Any, *args: Any) -> Any:
        """Run a write with delays around it, so that the manager may be killed before or after it."""
        for part in range(2):
            await asyncio.sleep(self.rng.random() * 0.02)
            self.step(MANAGER)
            if life.ended:
                await asyncio.get_running_loop().create_future()
            if part == 0:
                result = work(*args)
        return result

    def _make(self, seat: Seat, life: Life) -> LeagueManager | Referee | Player:
        carrier: Carrier = self.network.carrier(life)
        if seat.name in self.scenario.silent:
            carrier = ReportlessCarrier(carrier, self._is_silence_kept)
        dice = Random(f"{seat.name} {self.scenario.seed}")  # noqa: S311 - a simulation
        manager = self.seats[MANAGER].endpoint
        wanted_id = seat.name if dice.random() < 0.7 else f"candidate-{seat.number}"
        match seat.role:
            case Role.LEAGUE_MANAGER:
                manager_settings = ManagerSettings(
                    self.system, self.league, seat.home, self.scenario.players, self.scenario.referees
                )

                async def offload(work: Any, *args: Any) -> Any:
                    return await self._commit(life, work, *args)

                return LeagueManager(
                    manager_settings, carrier, seat.clock, self._heard, store=FailingStore(self), offload=offload
                )
            case Role.REFEREE:
                games = GamesRegistry(games=(GameEntry(game_type="even_odd"),))
                referee_settings = RefereeSettings(
                    self.system,
                    games,
                    seat.home,
                    manager,
                    seat.endpoint,
                    wanted_id,
                    f"Referee {seat.number}",
                    max_concurrent_matches=self.scenario.concurrent_matches,
                )
                return Referee(referee_settings, carrier, seat.clock)
            case Role.PLAYER:
                player_settings = PlayerSettings(
                    self.system, seat.home, manager, seat.endpoint, wanted_id, f"Player {seat.number}"
                )
                return Player(player_settings, load_strategy(dice.choice(STRATEGIES)), carrier, seat.clock)


def _seat(name: str, root: Path, skew: float) -> Seat:
    role, number = Role.LEAGUE_MANAGER, 0
    if name != MANAGER:
        role = Role.REFEREE if name.startswith("REF") else Role.PLAYER
        number = int(name.removeprefix("REF").removeprefix("P")) - 1
    return Seat(name, role, number, root / name, VirtualClock(skew))
