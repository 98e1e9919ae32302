"""A season as it is read here: by the manager's own pages while it runs, or from the store by whoever looks later."""

from dataclasses import dataclass
from pathlib import Path

from agent_league.config.models import LeagueConfig, SystemConfig
from agent_league.league.queries import Queries
from agent_league.league.season import Season
from agent_league.league.takeover import league_of
from agent_league.storage.base import Saved
from agent_league.storage.paths import DataPaths
from agent_league.transport.meter import Meter
from agent_league.web.chronicle import Chronicle


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

    move_seconds: float
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
    def names(self) -> dict[str, str]:
        """The players' names by id."""
        return {player_id: player.display_name for player_id, player in self.season.roster.players().items()}


def read_saved(saved: Saved, league: LeagueConfig, system: SystemConfig, home: Path) -> Reader:
    """A season as the store has it; what is changed in it from here on is lost."""
    season = Season(league_of(saved, league), system, saved.season, keep=lambda _: None)
    season.restore(saved)
    return Reader(season, home, Chronicle(season))
