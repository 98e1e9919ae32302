"""Read access to a league for pages, exports and commands: of the running manager, or of a league in the store."""

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
    """How to register with a league that has not started, and how many agents it waits for."""

    endpoint: str
    """The manager's endpoint."""
    players: int = 0
    """The league starts by itself once this many are registered; 0: only on the organiser's command."""
    referees: int = 0


@dataclass(frozen=True, slots=True)
class SeatsOffered:
    """What a person is told before taking a seat in the browser."""

    fallback: str
    """The strategy that plays when the time is up."""


class Reader:
    """Everything that pages may read of a league; nothing here changes it."""

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
        """Give a running manager's `meter`, `invitation` and `seats`; a league read from the store has none of them."""
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
        """The latest round that has begun; after a restart it may not have been announced again yet."""
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
        """The agents that the automatic start still waits for, in words; empty if none, or without automatic start."""
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
        """Player id -> display name."""
        return {player_id: player.display_name for player_id, player in self.season.roster.players().items()}


def read_saved(saved: Saved, system: SystemConfig, home: Path) -> Reader:
    """Read a stored league; changes made to its state afterwards are not saved."""
    with naming_damage(saved.season.league_id):
        league = LeagueConfig.model_validate_json(orjson.dumps(saved.season.settings))
        season = Season(league, system, saved.season, keep=lambda _: None)
        season.restore(saved)
    return Reader(season, home, Chronicle(season))
