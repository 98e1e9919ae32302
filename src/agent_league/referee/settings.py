"""Settings of a referee as plain data, so that planning a league doesn't import the referee itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agent_league.config import GamesRegistry, SystemConfig
from agent_league.model.agents import Role
from agent_league.storage.credentials import CredentialsFile


@dataclass(frozen=True, slots=True)
class RefereeSettings:
    """Settings of one referee."""

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
    """The only league to register for; None: any that the manager has."""
    seed: str | None = None
    exit_when_done: bool = False
    player_addresses: Mapping[str, str] = field(default_factory=dict)
    """Addresses in `agents_config.json`, by player id; used if a foreign manager names none."""

    @property
    def credentials(self) -> CredentialsFile:
        """The file with the credentials that let this agent return with its id."""
        return CredentialsFile(self.home, Role.REFEREE, self.display_name, self.endpoint, self.manager)
