"""Agents: roles, lifecycle states, and what is known of a registered player or referee."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from agent_league.errors import AgentLeagueError
from agent_league.model.looks import NO_LOOK, PlayerLook

ANY_GAME = "*"
"""Among an agent's `game_types`: it supports every game."""


class Role(StrEnum):
    """The three roles of agents."""

    LEAGUE_MANAGER = "league_manager"
    REFEREE = "referee"
    PLAYER = "player"


class AgentState(StrEnum):
    """The lifecycle states of an agent."""

    INIT = "INIT"
    REGISTERED = "REGISTERED"
    ACTIVE = "ACTIVE"
    SUSPENDED = "SUSPENDED"
    SHUTDOWN = "SHUTDOWN"


# an organiser may have a match played again after the end
TRANSITIONS: dict[AgentState, frozenset[AgentState]] = {
    AgentState.INIT: frozenset({AgentState.REGISTERED, AgentState.SHUTDOWN}),
    AgentState.REGISTERED: frozenset({AgentState.ACTIVE, AgentState.SUSPENDED, AgentState.SHUTDOWN}),
    AgentState.ACTIVE: frozenset({AgentState.SUSPENDED, AgentState.SHUTDOWN}),
    AgentState.SUSPENDED: frozenset({AgentState.REGISTERED, AgentState.ACTIVE, AgentState.SHUTDOWN}),
    AgentState.SHUTDOWN: frozenset({AgentState.ACTIVE, AgentState.SUSPENDED}),
}


class IllegalTransition(AgentLeagueError):
    """A change of state that `TRANSITIONS` doesn't allow."""


def advance_state(current: AgentState, target: AgentState) -> AgentState:
    """Return `target` if an agent may enter it from `current`; staying is always allowed. Raises IllegalTransition."""
    if target != current and target not in TRANSITIONS[current]:
        raise IllegalTransition(f"an agent can't go from {current} to {target}")
    return target


def id_sort_key(agent_id: str) -> tuple[int, str]:
    """Sort key of an id: P2 before P10, P99 before P100."""
    return (len(agent_id), agent_id)


def supports_game(game_types: Collection[str], game_type: str) -> bool:
    """Whether an agent with these `game_types` plays, or referees, this game."""
    return game_type in game_types or ANY_GAME in game_types


@dataclass(frozen=True, slots=True)
class ProtocolProfile:
    """How an agent communicates: its protocol, its call form, and the deviations that were tolerated."""

    protocol: str = "league.v2"
    call_form: str = "seeds"
    deviations: tuple[str, ...] = ()


DEFAULT_PROTOCOL_PROFILE = ProtocolProfile()


@dataclass(frozen=True, slots=True)
class AgentProfile:
    """What an agent says about itself when it registers; `agent_id` is the id it asks for, then the one it gets."""

    role: Role
    agent_id: str
    display_name: str
    endpoint: str
    version: str = "1.0.0"
    game_types: tuple[str, ...] = ()
    max_concurrent_matches: int = 1
    """Matches that a referee runs at the same time."""
    addresses: tuple[str, ...] | None = ()
    """The IP addresses of a name in its endpoint, as it was resolved and checked: it is called there alone.

    None in an application whose name can't be resolved.
    """
    look: PlayerLook = NO_LOOK


@dataclass(frozen=True, slots=True)
class AgentVersion:
    """One of the agents that a team has registered one after the other under its id."""

    number: int
    display_name: str
    version: str
    since: str
    """When it registered, in UTC."""

    def to_json(self) -> dict[str, str | int]:
        return {
            "number": self.number,
            "display_name": self.display_name,
            "version": self.version,
            "since": self.since,
        }
