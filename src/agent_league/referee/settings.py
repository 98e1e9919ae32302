"""What a referee needs to know, as plain data: whoever plans a league doesn't need the referee itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agent_league.config import GamesRegistry, SystemConfig
from agent_league.model.agents import Role
from agent_league.storage.credentials import CredentialsFile


@dataclass(frozen=True, slots=True)
class RefereeSettings:
    """What a referee needs to know."""

    system: SystemConfig
    games: GamesRegistry
    home: Path
    manager: str
    endpoint: str
    wanted_id: str
    display_name: str
    version: str = "1.0.0"
    game_types: tuple[str, ...] = ("even_odd",)
    max_concurrent_matches: int = 2
    league_id: str | None = None
    """The league to insist on; None: whichever the manager has."""
    seed: str | None = None
    exit_when_done: bool = False
    player_addresses: Mapping[str, str] = field(default_factory=dict)
    """By id, for the matches of a manager that names none: those of `agents_config.json`."""

    @property
    def credentials(self) -> CredentialsFile:
        """Where this agent keeps what it needs to come back as itself."""
        return CredentialsFile(self.home, Role.REFEREE, self.display_name, self.endpoint, self.manager)
