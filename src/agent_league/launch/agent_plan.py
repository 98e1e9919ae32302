"""Plans of single agents: settings, host and port. Plain data, so that they can be sent to another process.

One that holds its port already stays in its process.
"""

import asyncio
import socket
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

from agent_league.a2a import has_a2a_sdk
from agent_league.a2a.lazy_player_server import LazyPlayerServer
from agent_league.a2a.player_card import RPC_PATH, build_player_card
from agent_league.agent.dialects import name_in_address
from agent_league.agent.registration import RemarkCallback
from agent_league.agent.runtime import Agent
from agent_league.config import PlayerDefaults
from agent_league.games.registry import seats_differ
from agent_league.http.carrier import Carrier, FrameHandler
from agent_league.http.hosts import LOOPBACK, are_all_loopback, own_endpoint
from agent_league.launch.rulebook import Rulebook, make_result_decider
from agent_league.league.settings import ManagerSettings
from agent_league.model.events import Event
from agent_league.players.app import Player, PlayerSettings
from agent_league.players.events import PlayerEventHandler
from agent_league.players.observation import Strategy
from agent_league.players.strategies import load_strategy
from agent_league.protocol.tolerance import REGISTER_PATH, RUN_PATH
from agent_league.referee.settings import RefereeSettings

if TYPE_CHECKING:
    from agent_league.league.app import LeagueManager
    from agent_league.league.journal import Offload
    from agent_league.league.ladder_conductor import PlayerChecker
    from agent_league.referee.app import Referee
    from agent_league.storage.base import Store


@dataclass(frozen=True, slots=True)
class AgentListeners:
    """Callbacks for events of the agents in a process."""

    on_league_event: Callable[[Event], None] | None = None
    on_player_event: PlayerEventHandler | None = None
    on_remark: RemarkCallback | None = None
    """Called with sentences of a referee or player for the person at its terminal."""


NO_LISTENERS = AgentListeners()


@dataclass(frozen=True, slots=True)
class AgentPlan(ABC):
    """An agent to be started, and the address it will serve."""

    settings: ManagerSettings | RefereeSettings | PlayerSettings
    port: int
    host: str = LOOPBACK
    port_option: str = "--port"
    """The command-line option that chooses another port, for error messages."""
    held_socket: socket.socket | None = None
    """What listens at the port already, so that nobody else can; None: nothing does."""

    @property
    @abstractmethod
    def title(self) -> str:
        """The agent's name in a sentence."""

    @abstractmethod
    def make_agent(self, carrier: Carrier, watchers: AgentListeners) -> Agent:
        """Make the agent, inside a running event loop; imports happen here, so a process loads only its own roles."""

    @property
    def manager_address(self) -> str | None:
        """The endpoint of the manager it registers with; None for a manager."""
        return None

    def other_paths(self, agent: Agent) -> dict[str, FrameHandler]:
        """Handlers of paths other than `/mcp`."""
        return {}

    def with_link(self, port: int) -> Self:
        """Return a copy that offers to be called over links at this port."""
        return replace(self, settings=replace(self.settings, link_port=port))


@dataclass(frozen=True, slots=True)
class ManagerPlan(AgentPlan):
    settings: ManagerSettings
    path: str = ""
    """Where it is served on its host and port, such as `/leagues/spring`; empty: at the root."""
    check_player: "PlayerChecker | None" = None
    """How the players of a practice ladder are checked; None: not at all."""

    @property
    def endpoint(self) -> str:
        """The endpoint by which others reach it: below `network.public_url`, if there is one."""
        public = self.settings.system.network.public_url
        return f"{public}{self.path}/mcp" if public else self.local_endpoint

    @property
    def local_endpoint(self) -> str:
        """The endpoint at the host and port that it listens on."""
        root = own_endpoint(self.host, self.port, self.settings.system.network.base_host)
        return f"{root.removesuffix('/mcp')}{self.path}/mcp"

    @property
    def title(self) -> str:
        return "the league manager"

    def make_agent(
        self,
        carrier: Carrier,
        watchers: AgentListeners,
        store: "Store | None" = None,
        offload: "Offload" = asyncio.to_thread,
    ) -> "LeagueManager":
        """Make the manager; without `store` it opens the one that its settings name. `offload` runs writes to it."""
        from agent_league.league.app import LeagueManager  # noqa: PLC0415 - see above

        settings = replace(
            self.settings,
            endpoint=self.endpoint,
            listens_on_loopback=are_all_loopback([self.host]),
        )
        manager: LeagueManager = LeagueManager(
            settings,
            carrier,
            watcher=watchers.on_league_event,
            store=store,
            store_offload=offload,
            tools=Rulebook(settings, lambda: manager.state.config).handlers(),
            derive_result=make_result_decider(settings.league.game_type),
            check_player=self.check_player,
            seats_differ=settings.league.ladder is None or seats_differ(settings.league.game_type),
        )
        return manager

    def with_link(self, port: int) -> Self:
        return replace(self, settings=replace(self.settings, link_port=port, endpoint=self.endpoint))

    def other_paths(self, agent: Agent) -> dict[str, FrameHandler]:
        """A path for registrations in other call forms, unless strict."""
        strict = self.settings.system.tolerance.strict
        return {} if strict else {REGISTER_PATH: agent.dispatcher.answer_registration}


@dataclass(frozen=True, slots=True)
class RefereePlan(AgentPlan):
    settings: RefereeSettings
    dial_out: bool = False
    """Whether it dials out to the manager's server instead of listening at its port."""

    @property
    def title(self) -> str:
        return f"referee {self.settings.wanted_id}"

    @property
    def manager_address(self) -> str | None:
        return self.settings.manager

    def make_agent(self, carrier: Carrier, watchers: AgentListeners) -> "Referee":
        from agent_league.referee.app import Referee  # noqa: PLC0415 - see above

        return Referee(self.settings, carrier, remark=watchers.on_remark, tools=Rulebook(self.settings).handlers())

    def other_paths(self, agent: Agent) -> dict[str, FrameHandler]:
        """A path to post a match to and wait for its result, unless strict."""
        from agent_league.referee.app import Referee  # noqa: PLC0415 - see above

        strict = self.settings.system.tolerance.strict
        return {RUN_PATH: agent.answer_run_match} if isinstance(agent, Referee) and not strict else {}


@dataclass(frozen=True, slots=True)
class PlayerPlan(AgentPlan):
    settings: PlayerSettings
    strategy: str | Strategy = "random"
    defaults: PlayerDefaults = field(default_factory=PlayerDefaults)
    """Settings that strategies are loaded with."""
    dial_out: bool = False
    """Whether it dials out to the manager's server instead of listening at its port."""

    @property
    def title(self) -> str:
        return f"player {self.settings.wanted_id}"

    @property
    def manager_address(self) -> str | None:
        return self.settings.manager

    def make_agent(self, carrier: Carrier, watchers: AgentListeners) -> Player:
        strategy = self.strategy
        if isinstance(strategy, str):
            strategy = load_strategy(strategy, self.defaults, watchers.on_remark)
        tools = Rulebook(self.settings).handlers()
        return Player(
            self.settings, strategy, carrier, on_event=watchers.on_player_event, remark=watchers.on_remark, tools=tools
        )

    def other_paths(self, agent: Agent) -> dict[str, FrameHandler]:
        """A path with the name that its address has in other protocols, and A2A's if its SDK is installed."""
        answer = agent.dispatcher.answer_request
        paths: dict[str, FrameHandler] = {f"/{name_in_address(self.settings.wanted_id)}": answer}
        if has_a2a_sdk():
            paths[RPC_PATH] = LazyPlayerServer(build_player_card(self.settings), answer).answer_frame
        return paths
