"""Read access to a league for pages, exports and commands: of the running manager, or of a league in the store."""

from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

import orjson

from agent_league.agent.metrics import AgentMetrics
from agent_league.config.models import LeagueConfig, SystemConfig
from agent_league.league.queries import LeagueQueries
from agent_league.league.resume import translate_damage
from agent_league.league.state import LeagueState
from agent_league.storage.base import SavedSeason
from agent_league.storage.paths import DataPaths
from agent_league.web.league_history import LeagueHistory


@dataclass(frozen=True, slots=True)
class JoinInstructions:
    """How to register with a league that has not started, and how many agents it waits for."""

    endpoint: str
    """The manager's endpoint."""
    players_needed: int = 0
    """The league starts by itself once this many are registered; 0: only on the organiser's command."""
    referees_needed: int = 0


@dataclass(frozen=True, slots=True)
class BrowserSeatOffer:
    """What a person is told before taking a seat in the browser."""

    fallback: str
    """The strategy that plays when the time is up."""


class LeagueReader:
    """Everything that pages may read of a league; nothing here changes it."""

    def __init__(
        self,
        season: LeagueState,
        home: Path,
        chronicle: LeagueHistory,
        *,
        meter: AgentMetrics | None = None,
        invitation: JoinInstructions | None = None,
        seats: BrowserSeatOffer | None = None,
    ) -> None:
        """Give a running manager's `meter`, `invitation` and `seats`; a league read from the store has none of them."""
        self.state = season
        self.home = home
        self.paths = DataPaths(home)
        self.history = chronicle
        self.queries = LeagueQueries(season)
        self.meter = meter
        self.join_instructions = invitation
        self.seat_offer = seats

    @property
    def title(self) -> str:
        return self.state.config.display_name or self.state.league_id

    @property
    def current_round(self) -> int:
        """The latest round that has begun; after a restart it may not have been announced again yet."""
        season, rounds = self.state, self.state.schedule.rounds
        current = season.current_round
        if current == season.rounds_completed:
            given = (
                any(pairing.match_id in season.assigned_referees for pairing in each.pairings)
                for each in rounds[current:]
            )
            current += sum(1 for _ in takewhile(bool, given))
        return current

    def round_status(self, round_id: int) -> str:
        """COMPLETED, RUNNING or PENDING."""
        is_open = self.state.rounds_completed < round_id <= self.current_round
        return "RUNNING" if is_open else self.queries.get_round_status(round_id)

    @property
    def missing_agents(self) -> str:
        """The agents that the automatic start still waits for, in words; empty if none, or without automatic start."""
        if self.join_instructions is None or not self.join_instructions.players_needed:
            return ""
        wanted, roster = self.join_instructions, self.state.roster
        lacking = {
            "player": wanted.players_needed - self.state.eligible_player_count,
            "referee": wanted.referees_needed - len(roster.referees()),
        }
        return " and ".join(f"{n} more {who}{'' if n == 1 else 's'}" for who, n in lacking.items() if n > 0)

    @property
    def player_names(self) -> dict[str, str]:
        """Player id -> display name."""
        return {player_id: player.display_name for player_id, player in self.state.roster.players().items()}


def read_saved_league(saved: SavedSeason, system: SystemConfig, home: Path) -> LeagueReader:
    """Read a stored league; changes made to its state afterwards are not saved."""
    with translate_damage(saved.season.league_id):
        league = LeagueConfig.model_validate_json(orjson.dumps(saved.season.settings))
        season = LeagueState(league, system, saved.season, save_row=lambda _: None)
        season.restore_rows(saved)
    return LeagueReader(season, home, LeagueHistory(season))
