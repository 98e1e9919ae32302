"""The leagues that are measured: where their ports begin, how many referees they have, and what is set for them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_league.config import ConfigLoader
from agent_league.config.home import make_home
from agent_league.launch.plan import LeaguePlan, LeagueRequest, make_league_plan


@dataclass(frozen=True, slots=True)
class Setting:
    """What all leagues of a run have in common. They come in turn, so they share their ports."""

    port: int
    referees: int = 4

    @property
    def manager_port(self) -> int:
        return self.port

    @property
    def lone_port(self) -> int:
        """For agents that are no part of a fleet."""
        return self.port + 50

    @property
    def player_port(self) -> int:
        return self.port + 100

    @property
    def manager(self) -> str:
        return f"http://localhost:{self.manager_port}/mcp"


def planned(
    setting: Setting, home: Path, players: int, outside: int = 0, overrides: Mapping[str, Any] | None = None
) -> LeaguePlan:
    """A league as `league run` plays it, with its pages; `outside` players come by themselves."""
    make_home(home)
    request = LeagueRequest(
        home=home,
        players=players - outside,
        people=outside,
        referees=setting.referees,
        seed="bench",
        manager_port=setting.manager_port,
        referee_port=setting.port + 10,
        player_port=setting.player_port,
    )
    return make_league_plan(ConfigLoader(home, overrides), request)


def count_matches(plan: LeaguePlan) -> int:
    """How many matches a planned league has: a round robin, or as many rounds of it as are set."""
    players, rounds = plan.manager.settings.expected_players, plan.league.scheduling.rounds
    return matches_of(players) if rounds is None else rounds * (players // 2)


def matches_of(players: int) -> int:
    """Everybody meets everybody once."""
    return players * (players - 1) // 2
