"""The manager's settings as plain data, importable without the manager itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agent_league.config import LeagueConfig, SystemConfig


@dataclass(frozen=True, slots=True)
class ManagerSettings:
    """The manager's settings; it starts the league once the expected agents registered (0: only on command)."""

    system: SystemConfig
    league: LeagueConfig
    home: Path
    expected_players: int
    expected_referees: int
    exit_when_done: bool = False
    store: str | None = None
    """The address of the database; None: `league.db` in the home's data."""
    serves_pages: bool = True
    """Whether it serves web pages beside `/mcp`."""
    offers_seats: bool = True
    """Whether people may play in the browser."""
    configs_by_protocol: Mapping[str, LeagueConfig] = field(default_factory=dict)
    """The league if all its players speak that protocol, where it isn't `league` under the protocol's own rules."""
    endpoint: str | None = None
    """Its own address, which its call tokens carry, so that agents find a manager that has moved."""
    needs_referee_key: bool = True
    """Whether referees need the organiser's key if others than this machine can reach it; not in a check's league."""
    listens_on_loopback: bool = True
    """Whether no other machine can call it."""
    has_dial_out_seats: bool = False
    """Whether agents elsewhere may take part through connections that they open to it."""
    link_port: int | None = None
    """Where its process takes links; None: it is called by single calls alone."""
    moves_between_servers: bool = False
    """Whether other servers of its store may run the league later: its admin token is the same there."""
