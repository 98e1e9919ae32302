"""The plan of a league: which agents, on which ports, in which processes. Pure: nothing is started here."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count, cycle, islice
from pathlib import Path
from typing import Any

from agent_league.config import ConfigLoader, GamesRegistry, LeagueConfig, SystemConfig
from agent_league.errors import UserError
from agent_league.launch.agent_plan import AgentPlan, ManagerPlan, PlayerPlan, RefereePlan
from agent_league.launch.config_checks import (
    adapt_league_to_protocols,
    check_player_count,
    choose_league_config,
    select_strategies,
)
from agent_league.league.settings import ManagerSettings
from agent_league.players.app import PlayerSettings
from agent_league.protocol.version import PROTOCOL_V1, PROTOCOL_V2
from agent_league.referee.settings import RefereeSettings

GREEK_LETTERS = [
    "Alpha",
    "Beta",
    "Gamma",
    "Delta",
    "Epsilon",
    "Zeta",
    "Eta",
    "Theta",
    "Iota",
    "Kappa",
    "Lambda",
    "Mu",
    "Nu",
    "Xi",
    "Omicron",
    "Pi",
    "Rho",
    "Sigma",
    "Tau",
    "Upsilon",
    "Phi",
    "Chi",
    "Psi",
    "Omega",
]
V1, V2 = "v1", "v2"
PROTOCOLS = {V1: (PROTOCOL_V1,), V2: (PROTOCOL_V2,), "mixed": (PROTOCOL_V2, PROTOCOL_V1)}
MAX_SEPARATE_PROCESSES = 8
"""Up to so many agents, each has its own process."""
HIGHEST_PORT = 65535
LOOPBACK_NAMES = ("localhost", "127.0.0.1")


@dataclass(frozen=True, slots=True)
class LeagueRequest:
    """A requested league; None means as configured. Saved as JSON to resume a run."""

    home: Path
    league_id: str | None = None
    players: int | None = None
    referees: int | None = None
    seed: str | None = None
    manager_port: int | None = None
    referee_port: int | None = None
    player_port: int | None = None
    strategies: tuple[str, ...] = ()
    store: str | None = None
    protocol: str | None = None
    """`v1`, `v2`, or `mixed`: both in turn."""
    game: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of the game."""
    people: int = 0
    """How many people will play in the browser, in addition to `players`."""
    guests: int = 0
    """How many agents that are started elsewhere, such as MCP hosts, will play, in addition to all others."""

    @property
    def awaited(self) -> int:
        """How many players come by themselves."""
        return self.people + self.guests


@dataclass(frozen=True, slots=True)
class LeaguePlan:
    """All agents of a league."""

    system: SystemConfig
    league: LeagueConfig
    home: Path
    manager: ManagerPlan
    referees: tuple[RefereePlan, ...]
    players: tuple[PlayerPlan, ...]
    people: int = 0
    """How many people will play in the browser."""
    guests: int = 0
    """How many agents come that are started elsewhere."""

    @property
    def agent_plans(self) -> tuple[AgentPlan, ...]:
        return (self.manager, *self.referees, *self.players)

    @property
    def strategies(self) -> dict[str, str]:
        """Strategy of each player, by its id."""
        return {seat.settings.wanted_id: str(seat.strategy) for seat in self.players}

    def with_manager_options(self, *, web: bool, stay: bool) -> "LeaguePlan":
        """Return a copy whose manager serves pages or not, and stays after the last result or exits."""
        settings = replace(self.manager.settings, serves_pages=web, exit_when_done=not stay)
        return replace(self, manager=replace(self.manager, settings=settings))

    def group_by_process(self, cores: int | None = None) -> list[tuple[AgentPlan, ...]]:
        """Group the agents by process: one each up to MAX_SEPARATE_PROCESSES, else per role half as many as cores.

        More than cores and manager together would only cost: calls within fewer processes share more of their work.
        """
        if len(self.agent_plans) <= MAX_SEPARATE_PROCESSES:
            return [(seat,) for seat in self.agent_plans]
        groups = max(1, (cores or os.cpu_count() or 1) // 2)
        return [(self.manager,), *_deal_groups(self.referees, groups), *_deal_groups(self.players, groups)]


def make_league_plan(loader: ConfigLoader, request: LeagueRequest) -> LeaguePlan:
    """Make the plan of a requested league; raises UserError or ConfigError if it can't be played."""
    system = loader.load_system()
    registry = loader.load_games_registry()
    league = choose_league_config(loader, registry, request.league_id, request.game, request.parameters)
    if league.ladder:
        told = "a practice ladder has no end; play it with `league manager` or `league serve`"
        raise loader.make_setting_error(loader.league_file_name(league.league_id), "ladder", told)
    if request.seed is not None and league.scheduling.lot is None:
        league = league.model_copy(update={"scheduling": league.scheduling.model_copy(update={"lot": request.seed})})
    protocol = request.protocol or (V1 if league.protocol == PROTOCOL_V1 else V2)
    agents = loader.load_agents()
    players = request.players if request.players is not None else len(agents.active_players)
    referees = request.referees if request.referees is not None else len(agents.active_referees)
    everybody = players + request.awaited
    if everybody < 2:
        raise UserError(f"A league needs at least 2 players, not {everybody}.")
    if referees < 1:
        raise UserError(f"A league needs at least 1 referee, not {referees}.")
    network = system.network
    ports = _PortRanges(
        manager=request.manager_port or network.default_league_manager_port,
        referees=request.referee_port or network.default_referee_port_range[0],
        players=request.player_port or network.default_player_port_range[0],
    )
    ports.check_ranges(players, referees)
    if network.base_host not in LOOPBACK_NAMES:
        expected = " or ".join(LOOPBACK_NAMES)
        problem = f"`league run` stays on this machine; expected {expected}, found {network.base_host!r}"
        raise loader.make_setting_error("system.json", "network.base_host", problem)
    if request.players is not None or request.awaited:
        league = _with_room_for(league, everybody)
    check_player_count(loader, league, everybody)
    by_protocol = adapt_league_to_protocols(loader, league, request.game, request.parameters)
    played = by_protocol[PROTOCOL_V1] if protocol == V1 and not request.awaited else league
    registry = registry.with_parameters(played.game_type, played.game_parameters)
    frame = _PlanBuilder(loader, request, system, played, ports, protocol)
    return LeaguePlan(
        system=system,
        league=played,
        home=request.home,
        manager=ManagerPlan(
            ManagerSettings(
                system,
                league,
                request.home,
                everybody,
                referees,
                exit_when_done=True,
                store=request.store,
                configs_by_protocol=by_protocol,
            ),
            port=ports.manager,
            port_option="--manager-port",
        ),
        referees=frame.plan_referees(
            _choose_names([entry.display_name for entry in agents.active_referees], "Referee", referees),
            everybody // 2,
            registry,
        ),
        players=frame.plan_players(
            _choose_names([entry.display_name for entry in agents.active_players], "Agent", players)
        ),
        people=request.people,
        guests=request.guests,
    )


@dataclass(frozen=True, slots=True)
class _PlanBuilder:
    """Makes the referees and players of a plan from what they have in common."""

    loader: ConfigLoader
    request: LeagueRequest
    system: SystemConfig
    league: LeagueConfig
    ports: "_PortRanges"
    protocol: str

    def make_address(self, port: int) -> str:
        return f"http://{self.system.network.base_host}:{port}/mcp"

    def plan_referees(self, names: Sequence[str], pairs: int, games: GamesRegistry) -> tuple[RefereePlan, ...]:
        """Plan referees that together can run all matches of a round, so that a hung player delays no other match."""
        defaults = self.loader.load_referee_defaults()
        capacity = max(defaults.max_concurrent_matches, -(-pairs // len(names)))
        return tuple(
            RefereePlan(
                RefereeSettings(
                    system=self.system,
                    games=games,
                    home=self.request.home,
                    manager=self.make_address(self.ports.manager),
                    endpoint=self.make_address(port),
                    wanted_id=f"REF{number:02}",
                    display_name=name,
                    version=defaults.version,
                    game_types=(self.league.game_type,),
                    max_concurrent_matches=capacity,
                    seed=self.request.seed,
                ),
                port=port,
                port_option="--referee-port",
            )
            for number, (port, name) in enumerate(zip(count(self.ports.referees), names, strict=False), start=1)
        )

    def plan_players(self, names: Sequence[str]) -> tuple[PlayerPlan, ...]:
        """Plan players; strategies and, if mixed, protocols are assigned in turn."""
        defaults = self.loader.load_player_defaults()
        strategies = cycle(select_strategies(self.loader, self.request.strategies, defaults))
        protocols = cycle(PROTOCOLS[self.protocol])
        return tuple(
            PlayerPlan(
                PlayerSettings(
                    system=self.system,
                    home=self.request.home,
                    manager=self.make_address(self.ports.manager),
                    endpoint=self.make_address(port),
                    wanted_id=f"P{number:02}",
                    display_name=name,
                    version=defaults.version,
                    game_types=(self.league.game_type,),
                    seed=self.request.seed,
                    protocol=protocol,
                ),
                port=port,
                strategy=strategy,
                defaults=defaults,
                port_option="--player-port",
            )
            for number, (port, name, strategy, protocol) in enumerate(
                zip(count(self.ports.players), names, strategies, protocols, strict=False), start=1
            )
        )


@dataclass(frozen=True, slots=True)
class _PortRanges:
    manager: int
    referees: int
    players: int

    def check_ranges(self, players: int, referees: int) -> None:
        """Raise UserError if ranges overlap or pass the highest port."""
        wanted = {
            "--manager-port": range(self.manager, self.manager + 1),
            "--referee-port": range(self.referees, self.referees + referees),
            "--player-port": range(self.players, self.players + players),
        }
        options = list(wanted)
        for number, option in enumerate(options):
            ports = wanted[option]
            if not 1 <= ports[0] <= ports[-1] <= HIGHEST_PORT:
                raise UserError(f"{option} {ports[0]}: {len(ports)} ports from there go past {HIGHEST_PORT}.")
            for other in options[number + 1 :]:
                if ports[0] <= wanted[other][-1] and wanted[other][0] <= ports[-1]:
                    raise UserError(
                        f"The ports of {option} ({ports[0]}-{ports[-1]}) and {other} "
                        f"({wanted[other][0]}-{wanted[other][-1]}) overlap; choose another {other}."
                    )


def _with_room_for(league: LeagueConfig, players: int) -> LeagueConfig:
    """Return the league with `max_players` of at least so many."""
    participants = league.participants.model_copy(update={"max_players": max(players, league.participants.max_players)})
    return league.model_copy(update={"participants": participants})


def _choose_names(configured: Sequence[str], kind: str, wanted: int) -> list[str]:
    """Return unique names: the configured ones, then Greek letters, then numbers. The league refuses duplicates."""
    names = list(configured[:wanted])
    spare = (f"{kind} {word}" for word in chain(GREEK_LETTERS[len(names) :], count(len(GREEK_LETTERS) + 1)))
    free = (name for name in spare if name not in configured)
    return [*names, *islice(free, wanted - len(names))]


def _deal_groups(seats: Sequence[AgentPlan], groups: int) -> list[tuple[AgentPlan, ...]]:
    """Distribute agents over at most so many groups, round-robin."""
    dealt = [tuple(seats[start::groups]) for start in range(min(groups, len(seats)))]
    return [group for group in dealt if group]
