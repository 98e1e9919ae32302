"""A seat: an agent that is to be, and the port it will serve. Plain data, so that another process can take it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from agent_league.arena.rulebook import Rulebook
from agent_league.config import PlayerDefaults
from agent_league.league.settings import ManagerSettings
from agent_league.model.events import Event
from agent_league.players.app import Player, PlayerSettings
from agent_league.players.happenings import Watch
from agent_league.players.observation import Strategy
from agent_league.players.strategies import load_strategy
from agent_league.protocol.spellings import REGISTER_PATH
from agent_league.referee.settings import RefereeSettings
from agent_league.transport.carrier import Answer, Carrier
from agent_league.transport.mcp import Agent as McpAgent
from agent_league.transport.meter import Meter, Readings
from agent_league.transport.session import Remark

LOOPBACK = "127.0.0.1"


class Agent(McpAgent, Protocol):
    """What the three kinds of agents have in common."""

    @property
    def meter(self) -> Meter: ...
    def readings(self) -> Readings: ...
    async def run(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Watchers:
    """Whoever wants to know what happens."""

    league: Callable[[Event], None] | None = None
    player: Watch | None = None
    remark: Remark | None = None
    """A referee's or player's words to the person at its terminal."""


NO_WATCHERS = Watchers()


@dataclass(frozen=True, slots=True)
class Seat:
    """An agent and its place."""

    settings: ManagerSettings | RefereeSettings | PlayerSettings
    port: int
    host: str = LOOPBACK
    strategy: str | Strategy = "random"
    defaults: PlayerDefaults = field(default_factory=PlayerDefaults)
    """Where a strategy finds its settings."""
    port_option: str = "--port"
    """The option of the command at hand that moves it elsewhere."""

    @property
    def title(self) -> str:
        """How the agent is called in a sentence."""
        if isinstance(self.settings, ManagerSettings):
            return "the league manager"
        if isinstance(self.settings, RefereeSettings):
            return f"referee {self.settings.wanted_id}"
        return f"player {self.settings.wanted_id}"

    def other_paths(self, agent: Agent) -> dict[str, Answer]:
        """What it answers beside `/mcp`: registrations, or calls to its name in `league.v1`."""
        if isinstance(self.settings, ManagerSettings):
            strict = self.settings.system.tolerance.strict
            return {} if strict else {REGISTER_PATH: agent.dispatcher.answer_registration}
        if isinstance(self.settings, PlayerSettings):
            return {f"/{self.settings.v1_name}": agent.dispatcher.answer}
        return {}

    def take(self, carrier: Carrier, watchers: Watchers) -> Agent:
        """The agent, made inside a running event loop; a process imports only those that sit in it."""
        tools = Rulebook(self.settings).table()
        if isinstance(self.settings, ManagerSettings):
            from agent_league.league.app import LeagueManager  # noqa: PLC0415 - see above

            return LeagueManager(self.settings, carrier, watch=watchers.league, tools=tools)
        if isinstance(self.settings, RefereeSettings):
            from agent_league.referee.app import Referee  # noqa: PLC0415 - see above

            return Referee(self.settings, carrier, remark=watchers.remark, tools=tools)
        strategy = self.strategy
        if isinstance(strategy, str):
            strategy = load_strategy(strategy, self.defaults, watchers.remark)
        return Player(self.settings, strategy, carrier, watch=watchers.player, remark=watchers.remark, tools=tools)
