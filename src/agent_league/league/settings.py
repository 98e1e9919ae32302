"""What a manager needs to know, as plain data: whoever plans a league doesn't need the manager itself."""

from dataclasses import dataclass
from pathlib import Path

from agent_league.config import LeagueConfig, SystemConfig


@dataclass(frozen=True, slots=True)
class ManagerSettings:
    """What a manager needs to know; it starts the league once so many agents are there (0: only when told)."""

    system: SystemConfig
    league: LeagueConfig
    home: Path
    players: int
    referees: int
    exit_when_done: bool = False
    store: str | None = None
    """The address of the database; None: `league.db` in the home's data."""
    web: bool = True
    """Whether it serves pages beside `/mcp`."""
    seats: bool = True
    """Whether people may take seats on those pages."""
    v1_league: LeagueConfig | None = None
    """What is played where all players speak `league.v1`; None: `league` under the rules of that."""
    endpoint: str | None = None
    """Where it listens; agents are told so with its signature, and go there if it doesn't answer where it was."""
