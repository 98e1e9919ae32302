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
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from agent_league.config import GamesRegistry, LeagueConfig, SystemConfig
from agent_league.config.models import (
    LADDER_FORMAT,
    HeartbeatConfig,
    LadderConfig,
    ParticipantsConfig,
    RegisteredGame,
    SchedulingConfig,
    ScoringConfig,
    StageConfig,
)
from agent_league.config.times import TimesConfig
from agent_league.errors import AgentLeagueError, LeagueFailed, Refusal
from agent_league.http.carrier import FrameHandler
from agent_league.league.app import LeagueManager
from agent_league.league.organiser_commands import OrganiserCommand
from agent_league.league.settings import ManagerSettings
from agent_league.league.state import LeaguePhase
from agent_league.model.agents import AgentState, Role
from agent_league.model.audit import OrganiserAction as Action
from agent_league.model.events import Event, to_log_fields
from agent_league.players.app import Player, PlayerSettings
from agent_league.players.observation import Observation, Strategy
from agent_league.players.strategies import load_strategy
from agent_league.referee.app import Referee
from agent_league.referee.settings import RefereeSettings
from agent_league.storage.base import SavedSeason, SeasonRow, StoredRow, StoreFailed
from agent_league.storage.memory import MemoryDatabase, MemoryStore
from agent_league.testing.agent_lives import SimulatedProcess
from agent_league.testing.faults import FOREVER, MANAGER_NAME, Incident, IncidentKind, Scenario
from agent_league.testing.network import FaultyNetwork, ProcessCarrier, SimulationTrace
from agent_league.testing.virtual_time import VirtualClock

LEAGUE_ID = "league_simulated"
STRATEGIES = ("random", "always_even", "always_odd", "alternating", "frequency", "pattern", "markov")
FIRST_PORTS = {Role.LEAGUE_MANAGER: 8000, Role.REFEREE: 8001, Role.PLAYER: 8101}
SILENT_MATCH_SECONDS = 400.0
"""Time limit of a match if referees are silent: longer than any reported match takes, but less than an hour."""
QUIET_MINUTES = [(hour, minute) for hour in range(24) for minute in (5, 25, 45)]
ROUND_TIMES = TimesConfig(
    rounds=tuple(f"{minute // 60:02}:{minute % 60:02}" for minute in range(0, 24 * 60, 2)),
    quiet_hours=tuple(f"{hour:02}:{minute:02}-{hour:02}:{minute + 1:02}" for hour, minute in QUIET_MINUTES),
    freeze="5 min before final",
)
RESTART_SECONDS = 1.0
"""Delay before an agent that could not start is started again."""
CONSENT_SHARE = 0.7
"""How many of the corrections may make void what followed from the match."""


@dataclass(slots=True)
class SimulatedAgent:
    """An agent with what survives its restarts: name, folder, clock, endpoint."""

    name: str
    role: Role
    number: int
    home: Path
    clock: VirtualClock
    process: SimulatedProcess | None = None
    agent: LeagueManager | Referee | Player | None = None

    @property
    def endpoint(self) -> str:
        return f"http://localhost:{FIRST_PORTS[self.role] + self.number}/mcp"


@dataclass(slots=True)
class SimulatedDisks:
    """Which agents' disks are full. Only creating files fails; files that are open can still be written."""

    root: Path
    full_agents: set[str] = field(default_factory=set)

    @contextmanager
    def patch_file_calls(self) -> Iterator[None]:
        """Patch `open` and `mkdir` to fail for agents whose disk is full."""
        with ExitStack() as patches:
            for module, name in ((os, "open"), (os, "mkdir"), (io, "open")):
                patches.enter_context(patch.object(module, name, self._guard_function(getattr(module, name))))
            yield

    def _guard_function(self, function: Any) -> Any:
        def guarded(path: Any, *args: Any, **kwargs: Any) -> Any:
            if self.full_agents and _is_writing_call(*args, **kwargs) and self._is_on_full_disk(path):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
            return function(path, *args, **kwargs)

        return guarded

    def _is_on_full_disk(self, path: Any) -> bool:
        if isinstance(path, int):  # a file descriptor, already open
            return False
        return any(Path(path).is_relative_to(self.root / name) for name in self.full_agents)


def _is_writing_call(mode: Any = 0o777, *_: Any, **__: Any) -> bool:
    """Whether a call of `os.open`, `os.mkdir` or `io.open` with this second argument may create something."""
    return not set("wax+").isdisjoint(mode) if isinstance(mode, str) else bool(mode & (os.O_CREAT | 0o777))


@dataclass(frozen=True, slots=True)
class SeenView:
    """The rounds that a player's strategy saw at one step of a match."""

    agent_name: str
    match_id: str
    step: int
    rounds: list[Any]


class ReportingStrategy:
    """A strategy that is the same as another, and reports what it sees."""

    def __init__(self, strategy: Strategy, report: Callable[[Observation], None]) -> None:
        self._strategy = strategy
        self._report = report

    def __getattr__(self, name: str) -> Any:
        return getattr(self._strategy, name)

    def choose(self, observation: Observation) -> Any:
        self._report(observation)
        return self._strategy.choose(observation)


LADDER = LadderConfig(interval_sec=15, matches_per_hour=10_000, house_bots=(), check=False, keep_matches=100_000)
"""A practice ladder that forgets nothing, so that its sums can be compared with its matches."""


class FailingStore:
    """A store that fails at times; some writes that raise an error have been stored all the same."""

    def __init__(self, world: "SimulatedWorld") -> None:
        self._world = world
        self._store = MemoryStore(world.memory)

    def open_season(self, league_id: str) -> SavedSeason | None:
        self._check_available()
        return self._store.open_season(league_id)

    def read_season(self, league_id: str) -> SavedSeason | None:
        self._check_available()
        return self._store.read_season(league_id)

    def create_season(
        self, league_id: str, created_at: str, signing_key: str, settings: Mapping[str, Any]
    ) -> SeasonRow:
        self._check_available()
        return self._store.create_season(league_id, created_at, signing_key, settings)

    def write_rows(self, season_id: int, rows: Sequence[StoredRow]) -> None:
        if self._world.is_store_failing and self._world.rng.random() < 0.5:
            self._store.write_rows(season_id, rows)
        self._check_available()
        self._store.write_rows(season_id, rows)
        self._world.trace.add_entry("commit", MANAGER_NAME, note=f"{len(rows)} rows")

    def put_season_aside(self, league_id: str) -> bool:
        self._check_available()
        return self._store.put_season_aside(league_id)

    def close(self) -> None:
        self._store.close()

    def _check_available(self) -> None:
        if self._world.is_store_failing:
            raise StoreFailed("database or disk is full")


class SimulatedWorld:
    """A simulated league with all its agents, and the faults of a scenario."""

    def __init__(self, scenario: Scenario, root: Path) -> None:
        self.scenario = scenario
        self.trace = SimulationTrace()
        self.rng = Random(f"world {scenario.seed}")  # noqa: S311 - a simulation
        self.memory = MemoryDatabase()
        self.is_store_failing = False
        self.disks = SimulatedDisks(root)
        self.events: list[Event] = []
        self.escaped_errors: list[str] = []
        """Errors that escaped from our agents."""
        self.agents = {
            name: _create_simulated_agent(name, root, scenario.clock_skews.get(name, 0))
            for name in scenario.agent_names
        }
        endpoints = {seat.name: seat.endpoint for seat in self.agents.values()}
        self.network = FaultyNetwork(scenario, endpoints, self.trace, self.advance_step)
        heartbeat = HeartbeatConfig(match_sec=SILENT_MATCH_SECONDS) if scenario.silent_referees else HeartbeatConfig()
        self.system = SystemConfig(default_league_id=LEAGUE_ID, heartbeat=heartbeat)
        self.league = LeagueConfig(
            league_id=LEAGUE_ID,
            game_type="even_odd",
            game_parameters={"repeat": scenario.repeat} if scenario.repeat > 1 else {},
            scoring=ScoringConfig(tiebreakers=("wins", "head_to_head", "draws")),  # by which the promises are checked
            scheduling=SchedulingConfig(
                **_choose_format(scenario),
                play_off=scenario.play_off,
                matches_per_round=scenario.matches_per_round,
                overlap_rounds=scenario.overlap_rounds,
            ),
            participants=ParticipantsConfig(max_players=max(scenario.players, 100)),
            times=ROUND_TIMES if scenario.has_times else TimesConfig(),
            ladder=LADDER if scenario.format == LADDER_FORMAT else None,
        )
        self.seen_views: list[SeenView] = []
        """What players saw of matches of several games, in order."""
        self.acknowledged_corrections: list[tuple[str, str]] = []
        """Action and target of each correction that the manager has confirmed."""
        self.processes: list[SimulatedProcess] = []
        self.gone_agents: set[str] = set()
        self._started_agents: list[LeagueManager | Referee | Player] = []
        self._step_count = self._correction_count = 0
        self._incidents = list(reversed(scenario.incidents))

    @property
    def manager(self) -> LeagueManager | None:
        agent = self.agents[MANAGER_NAME].agent
        return agent if isinstance(agent, LeagueManager) else None

    def start_all(self) -> None:
        """Schedule the start of all agents, in any order, and the end of all faults."""
        for name in self.agents:
            self.network.call_later(self.rng.choice((0, self.rng.random() * 3)), self.start_agent, name)
        self.network.call_later(self.scenario.healing_at, self.end_faults)

    def advance_step(self, actor: str) -> None:
        """Count a step of `actor` and apply the incidents that are due."""
        self._step_count += 1
        while self._incidents and self._incidents[-1].step <= self._step_count:
            incident = self._incidents.pop()
            if not self.network.is_healed:
                self._apply_incident(incident, incident.agent_name or actor)

    def end_faults(self) -> None:
        """End all faults and start the agents that are down."""
        self.trace.add_entry("healing", "world")
        self.network.is_healed = True
        self.network.cut_off_until.clear()
        self.disks.full_agents.clear()
        self.is_store_failing = False
        for name in self.agents:
            self.start_agent(name)

    def start_agent(self, name: str) -> None:
        """Start an agent that is not running, unless it is gone forever."""
        seat = self.agents[name]
        if seat.process is not None or name in self.gone_agents:
            return
        life = SimulatedProcess(name)
        self.processes.append(life)
        self.trace.add_entry("start", name)
        try:
            agent = life.run_within(self._build_agent, seat, life)
        except (OSError, AgentLeagueError) as error:
            self.trace.add_entry("can't start", name, note=type(error).__name__)
            if self.network.is_healed:
                self.escaped_errors.append(f"{name} can't start: {error!r}")
            life.kill()
            self.network.record_fault(name, RESTART_SECONDS)
            self.network.call_later(RESTART_SECONDS, self.start_agent, name)
            return
        seat.process, seat.agent = life, agent
        self._started_agents.append(agent)
        self.network.attach_process(life, self._find_frame_handler(seat, agent))
        life.main_task = life.start_task(self._run_agent(seat, agent))

    def kill_agent(self, name: str, *, silently: bool = False) -> None:
        """Kill an agent as `kill -9` does, or `silently` as a power cut does."""
        seat = self.agents[name]
        if seat.process is None:
            return
        self.trace.add_entry("killed", name)
        self.network.detach_process(seat.process, silently=silently)
        seat.process.kill()
        seat.process = seat.agent = None

    def is_completed(self) -> bool:
        """Whether the end of the league was announced and stored."""
        if manager := self.manager:
            return manager.completed.is_set()
        saved = MemoryStore(self.memory).read_season(LEAGUE_ID)
        return saved is not None and saved.season.announced

    def uninformed_agents(self) -> list[str]:
        """List the running agents that don't know yet that the league is over."""
        return [
            seat.name
            for seat in self.agents.values()
            if isinstance(seat.agent, Referee | Player) and seat.agent.state is not AgentState.SHUTDOWN
        ]

    @property
    def is_ladder(self) -> bool:
        return self.league.ladder is not None

    def end_ladder(self) -> None:
        """Let no further match of a practice ladder begin; it has no other end."""
        self._set_paused(is_paused=True)

    def has_open_match(self) -> bool:
        """Whether a match that a referee was given has no result in the store."""
        saved = MemoryStore(self.memory).read_season(LEAGUE_ID)
        return saved is not None and any(row.referee_id and row.result is None for row in saved.matches)

    def close(self) -> None:
        """Close the log files of all agents ever started."""
        for agent in self._started_agents:
            agent.log.close()

    def _find_frame_handler(self, seat: SimulatedAgent, agent: LeagueManager | Referee | Player) -> FrameHandler:
        """What answers an agent's calls; a forgetful player doesn't say that it keeps rounds."""
        answer = agent.dispatcher.answer_request
        if seat.name not in self.scenario.forgetful_players:
            return answer

        async def answer_forgetfully(frame: bytes, bearer: str | None) -> bytes | None:
            body = await answer(frame, bearer)
            return body and body.replace(b',"rounds_since":true', b"")

        return answer_forgetfully

    async def _run_agent(self, seat: SimulatedAgent, agent: LeagueManager | Referee | Player) -> None:
        try:
            await agent.run()
        except Exception as error:  # noqa: BLE001 - any escaped error is a finding
            if seat.agent is agent or not isinstance(error, LeagueFailed):
                self.escaped_errors.append(f"{seat.name} ended with {error!r}")
        else:
            self.escaped_errors.append(f"{seat.name} ended")

    def _apply_incident(self, incident: Incident, victim: str) -> None:
        seconds = incident.seconds
        self.trace.add_entry(incident.kind, victim, note=f"{seconds:g}")
        match incident.kind:
            case IncidentKind.KILL | IncidentKind.VANISH:
                self.kill_agent(victim, silently=incident.kind is IncidentKind.VANISH)
                if seconds < FOREVER:
                    self.network.record_fault(victim, seconds)
                    self.network.call_later(seconds, self.start_agent, victim)
                elif self._can_lose_agent(victim):
                    self.network.record_fault(victim, FOREVER)
                    self.gone_agents.add(victim)
                else:
                    self.network.call_later(RESTART_SECONDS, self.start_agent, victim)
            case IncidentKind.SECOND_MANAGER:
                if not self.is_store_failing and victim not in self.disks.full_agents:
                    self.agents[victim].process = None
                    self.start_agent(victim)
            case IncidentKind.CUT_OFF:
                self.network.record_fault(victim, seconds)
                self.network.cut_off_until[victim] = asyncio.get_running_loop().time() + seconds
            case IncidentKind.FILL_DISK:
                self.disks.full_agents.add(victim)
                self.network.call_later(seconds, self.disks.full_agents.discard, victim)
            case IncidentKind.FAIL_STORE:
                self.is_store_failing = True
                self.network.call_later(seconds, self._repair_store)
            case IncidentKind.PAUSE:
                self._set_paused(is_paused=True)
                self.network.call_later(seconds, self._resume_league)
            case IncidentKind.CORRECT:
                self.correct_league()
            case IncidentKind.TURN_CLOCK:
                self.agents[victim].clock.skew += seconds

    def _drops_report(self, frame: bytes) -> bool:
        """Whether a silent referee's request is not sent: a report, as long as the silence lasts."""
        is_active = self.scenario.is_silence_permanent or not self.network.is_healed
        return is_active and b'"report_match_result"' in frame

    def _can_lose_agent(self, name: str) -> bool:
        """Whether the league has started and can be completed without this agent."""
        saved = MemoryStore(self.memory).read_season(LEAGUE_ID)
        if name == MANAGER_NAME or saved is None or saved.season.phase == "REGISTRATION":
            return False
        staying = [
            seat for seat in self.agents.values() if seat.role is Role.REFEREE and seat.name not in self.gone_agents
        ]
        return self.agents[name].role is Role.PLAYER or len(staying) > 1

    def _set_paused(self, *, is_paused: bool) -> None:
        life, manager = self.agents[MANAGER_NAME].process, self.manager
        if life and manager and manager.state.phase is LeaguePhase.RUNNING:
            life.run_within(partial(manager.state.set_paused, is_paused=is_paused))

    def correct_league(self) -> None:
        """Let the organiser correct one of the results that are there."""
        life, manager = self.agents[MANAGER_NAME].process, self.manager
        if life is None or manager is None or not manager.state.results:
            return
        self._correction_count += 1
        dice = Random(f"correction {self._correction_count} {self.scenario.seed}")  # noqa: S311 - a simulation
        pairing = manager.state.get_pairing(dice.choice(list(manager.state.results)))
        action = dice.choice((Action.RERUN_MATCH, Action.RERUN_MATCH, Action.VOID_MATCH, Action.AWARD_MATCH))
        winner = dice.choice((*pairing.players, "draw"))
        consent = dice.random() < CONSENT_SHARE
        command = OrganiserCommand(action, pairing.match_id, "simulated", winner=winner, void_followers=consent)
        life.start_task(self._carry_out(manager, command))

    async def _carry_out(self, manager: LeagueManager, command: OrganiserCommand) -> None:
        try:
            sentence = await manager.carry_out(command)
        except Refusal as refusal:
            self.trace.add_entry("refused", MANAGER_NAME, note=refusal.message)
        else:
            self.acknowledged_corrections.append((command.action, command.target))
            self.trace.add_entry("corrected", MANAGER_NAME, note=sentence)

    def _resume_league(self) -> None:
        """Resume the league; again if the manager was killed before that was stored."""
        self._set_paused(is_paused=False)
        saved = MemoryStore(self.memory).read_season(LEAGUE_ID)
        if saved is not None and saved.season.paused:
            self.network.call_later(RESTART_SECONDS, self._resume_league)

    def _repair_store(self) -> None:
        self.is_store_failing = False

    def _record_view(self, name: str, observation: Observation) -> None:
        rounds = deepcopy(observation.view["rounds"])
        self.seen_views.append(SeenView(name, observation.match_id, observation.step, rounds))

    def _record_event(self, event: Event) -> None:
        self.events.append(event)
        self.trace.add_entry(
            type(event).__name__, MANAGER_NAME, note=" ".join(str(value) for value in to_log_fields(event).values())
        )

    async def _run_store_work(self, life: SimulatedProcess, work: Any, *args: Any) -> Any:
        """Run a write with delays around it, so that the manager may be killed before or after it."""
        for part in range(2):
            await asyncio.sleep(self.rng.random() * 0.02)
            self.advance_step(MANAGER_NAME)
            if life.has_ended:
                await asyncio.get_running_loop().create_future()
            if part == 0:
                result = work(*args)
        return result

    def _build_agent(self, seat: SimulatedAgent, life: SimulatedProcess) -> LeagueManager | Referee | Player:
        is_silent = seat.name in self.scenario.silent_referees
        carrier = ProcessCarrier(self.network, life, lambda frame: is_silent and self._drops_report(frame))
        dice = Random(f"{seat.name} {self.scenario.seed}")  # noqa: S311 - a simulation
        identity: dict[str, Any] = {
            "system": self.system,
            "home": seat.home,
            "manager": self.agents[MANAGER_NAME].endpoint,
            "endpoint": seat.endpoint,
            "wanted_id": seat.name if dice.random() < 0.7 else f"candidate-{seat.number}",
        }
        match seat.role:
            case Role.LEAGUE_MANAGER:
                manager_settings = ManagerSettings(
                    self.system, self.league, seat.home, self.scenario.players, self.scenario.referees
                )

                async def offload(work: Any, *args: Any) -> Any:
                    return await self._run_store_work(life, work, *args)

                return LeagueManager(
                    manager_settings, carrier, seat.clock, self._record_event, store=FailingStore(self), offload=offload
                )
            case Role.REFEREE:
                referee_settings = RefereeSettings(
                    games=GamesRegistry(games=(RegisteredGame(game_type="even_odd"),)),
                    max_concurrent_matches=self.scenario.concurrent_matches,
                    display_name=f"Referee {seat.number}",
                    **identity,
                )
                return Referee(referee_settings, carrier, seat.clock)
            case Role.PLAYER:
                player_settings = PlayerSettings(display_name=f"Player {seat.number}", **identity)
                strategy = load_strategy(dice.choice(STRATEGIES))
                if self.scenario.repeat > 1:
                    strategy = ReportingStrategy(strategy, partial(self._record_view, seat.name))
                return Player(player_settings, strategy, carrier, seat.clock)


def _create_simulated_agent(name: str, root: Path, skew: float) -> SimulatedAgent:
    role, number = Role.LEAGUE_MANAGER, 0
    if name != MANAGER_NAME:
        role = Role.REFEREE if name.startswith("REF") else Role.PLAYER
        number = int(name.removeprefix("REF").removeprefix("P")) - 1
    return SimulatedAgent(name, role, number, root / name, VirtualClock(skew))


def _choose_format(scenario: Scenario) -> dict[str, Any]:
    """The format of a scenario as in a league file; of its stages the first depends on its seed."""
    if scenario.format == LADDER_FORMAT:
        return {}
    if scenario.format != "stages":
        return {"format": scenario.format}
    groups = StageConfig(format="groups", advance=2)
    swiss = StageConfig(format="swiss", settings={"rounds": 3}, advance=4)
    return {"stages": (swiss if scenario.seed % 2 else groups, StageConfig(format="knockout"))}
