"""Agents: their roles, who they are, and the states of their life."""

from collections.abc import Collection
from dataclasses import dataclass, field
from enum import StrEnum

from agent_league.errors import AgentLeagueError

ANY_GAME = "*"
"""Among the games that an agent names: it takes every other one too."""


class Role(StrEnum):
    """The three kinds of agents."""

    LEAGUE_MANAGER = "league_manager"
    REFEREE = "referee"
    PLAYER = "player"


class AgentState(StrEnum):
    """The states an agent goes through."""

    INIT = "INIT"
    REGISTERED = "REGISTERED"
    ACTIVE = "ACTIVE"
    SUSPENDED = "SUSPENDED"
    SHUTDOWN = "SHUTDOWN"


TRANSITIONS: dict[AgentState, frozenset[AgentState]] = {
    AgentState.INIT: frozenset({AgentState.REGISTERED, AgentState.SHUTDOWN}),
    AgentState.REGISTERED: frozenset({AgentState.ACTIVE, AgentState.SUSPENDED, AgentState.SHUTDOWN}),
    AgentState.ACTIVE: frozenset({AgentState.SUSPENDED, AgentState.SHUTDOWN}),
    AgentState.SUSPENDED: frozenset({AgentState.REGISTERED, AgentState.ACTIVE, AgentState.SHUTDOWN}),
    AgentState.SHUTDOWN: frozenset(),
}


class IllegalTransition(AgentLeagueError):
    """A step between states that the life of an agent doesn't have."""


def advance(current: AgentState, target: AgentState) -> AgentState:
    """The next state; staying where one is, is always allowed."""
    if target != current and target not in TRANSITIONS[current]:
        raise IllegalTransition(f"an agent can't go from {current} to {target}")
    return target


def takes(game_types: Collection[str], game_type: str) -> bool:
    """Whether an agent that names these games plays, or referees, this one."""
    return game_type in game_types or ANY_GAME in game_types


@dataclass(frozen=True, slots=True)
class How:
    """How an agent speaks: its protocol, its style of calls, and what in its words was put up with."""

    protocol: str = "league.v2"
    style: str = "seeds"
    noted: tuple[str, ...] = ()


PLAINLY = How()


@dataclass(frozen=True, slots=True)
class Player:
    """A registered player."""

    player_id: str
    display_name: str
    endpoint: str
    version: str = "1.0.0"
    game_types: tuple[str, ...] = ()
    protocol: str = "league.v2"


@dataclass(frozen=True, slots=True)
class Referee:
    """A registered referee."""

    referee_id: str
    display_name: str
    endpoint: str
    version: str = "1.0.0"
    game_types: tuple[str, ...] = ()
    max_concurrent_matches: int = 1
    protocol: str = field(default="league.v2")
