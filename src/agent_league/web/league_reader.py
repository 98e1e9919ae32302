"""A season as it is read here: by the manager's own pages while it runs, or from the store by whoever looks later."""

from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

import orjson

from agent_league.agent.metrics import Meter
from agent_league.config.models import LeagueConfig, SystemConfig
from agent_league.league.queries import Queries
from agent_league.league.resume import naming_damage
from agent_league.league.state import Season
from agent_league.storage.base import Saved
from agent_league.storage.paths import DataPaths
from agent_league.web.league_history import Chronicle


@dataclass(frozen=True, slots=True)
class Invitation:
    """How to take part in a league that still waits."""

    endpoint: str
    """Where to register."""
    players: int = 0
    """It starts once so many are there; 0: when it is told to."""
    referees: int = 0


@dataclass(frozen=True, slots=True)
class SeatsOffered:
    """What a person wants to know before taking a seat in the browser."""

    fallback: str
    """The strategy that plays when the time is up."""


class Reader:
    """What pages may ask. Nothing of it changes the season."""

    def __init__(
        self,
        season: Season,
        home: Path,
        chronicle: Chronicle,
        *,
        meter: Meter | None = None,
        invitation: Invitation | None = None,
        seats: SeatsOffered | None = None,
    ) -> None:
        """Only a running manager has a meter, and somewhere to register."""
        self.season = season
        self.home = home
        self.paths = DataPaths(home)
        self.chronicle = chronicle
        self.queries = Queries(season)
        self.meter = meter
        self.invitation = invitation
        self.seats = seats

    @property
    def title(self) -> str:
        return self.season.league.display_name or self.season.league_id

    @property
    def current_round(self) -> int:
        """The latest round that is played, or was. A manager that was started again may not have announced it yet."""
        season, rounds = self.season, self.season.schedule.rounds
        current = season.current_round
        if current == season.rounds_completed:
            given = (any(pairing.match_id in season.assigned for pairing in each.pairings) for each in rounds[current:])
            current += sum(1 for _ in takewhile(bool, given))
        return current

    def round_status(self, round_id: int) -> str:
        """COMPLETED, RUNNING or PENDING."""
        is_open = self.season.rounds_completed < round_id <= self.current_round
        return "RUNNING" if is_open else self.queries.round_status(round_id)

    @property
    def missing(self) -> str:
        """Who has still to come before the league starts by itself, in words; empty: nobody, or it doesn't."""
        if self.invitation is None or not self.invitation.players:
            return ""
        wanted, roster = self.invitation, self.season.roster
        lacking = {
            "player": wanted.players - self.season.ready_players,
            "referee": wanted.referees - len(roster.referees()),
        }
        return " and ".join(f"{n} more {who}{'' if n == 1 else 's'}" for who, n in lacking.items() if n > 0)

    @property
    def names(self) -> dict[str, str]:
        """The players' names by id."""
        return {player_id: player.display_name for player_id, player in self.season.roster.players().items()}


def read_saved(saved: Saved, system: SystemConfig, home: Path) -> Reader:
    """A season as the store has it; what is changed in it from here on is lost."""
    with naming_damage(saved.season.league_id):
        league = LeagueConfig.model_validate_json(orjson.dumps(saved.season.settings))
        season = Season(league, system, saved.season, keep=lambda _: None)
        season.restore(saved)
    return Reader(season, home, Chronicle(season))
