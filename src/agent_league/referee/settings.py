"""Settings of a referee as plain data, so that planning a league doesn't import the referee itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from agent_league.agent.member import MemberSettings
from agent_league.config import GamesRegistry
from agent_league.model.agents import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class RefereeSettings(MemberSettings):
    """Settings of one referee."""

    role: ClassVar = Role.REFEREE

    games: GamesRegistry
    max_concurrent_matches: int = 2
    player_addresses: Mapping[str, str] = field(default_factory=dict)
    """Addresses in `agents_config.json`, by player id; used if a foreign manager names none."""
