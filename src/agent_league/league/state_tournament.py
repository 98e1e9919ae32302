"""The league as its format sees it: entrants, rounds and results, and what follows from them.

Pairs nothing that is stored (`state_rounds.py`), and ranks nobody (`state_tables.py`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from agent_league.formats.base import Entrant, Format, TournamentRecord
from agent_league.formats.progress import describe_progress
from agent_league.formats.stage_views import count_still_in, find_group_tables
from agent_league.league.ladder_format import EndlessRound
from agent_league.league.state_record import LeaguePhase, LeagueRecord, LeagueSetup
from agent_league.league.tournament import draw_number, lay_out_rounds, make_format, seed_players
from agent_league.model.group_table import GroupTable
from agent_league.model.results import MatchResult
from agent_league.model.schedule import LeagueRound, Schedule


class LeagueTournament(LeagueRecord):
    """The tournament that the format of a league pairs and ranks by."""

    def __init__(self, setup: LeagueSetup) -> None:
        super().__init__(setup)
        self.format: Format = self._make_format()

    @property
    def tournament(self) -> TournamentRecord:
        """What the format pairs the next round from."""
        whole = self._whole_tournament
        return replace(whole, rounds=[round_ for round_ in whole.rounds if not round_.is_play_off])

    @property
    def _whole_tournament(self) -> TournamentRecord:
        """The tournament with its play-off."""
        seeded = self.config.scheduling.seeded_players
        known = set(seeded)
        late = [player_id for player_id in self.roster.players() if player_id not in known]
        entrants = [
            Entrant(player_id, seed, self.roster[player_id].is_barred, self._count_missed_rounds(player_id))
            for seed, player_id in enumerate((*seeded, *late), start=1)
        ]
        rounds: Sequence[LeagueRound] = self.schedule.rounds
        if self.set_aside:
            rounds = [round_.without_matches(self.set_aside) for round_ in rounds]
        return TournamentRecord(entrants, rounds, self._select_results(), self.scoring, draw_number(self.lot))

    def _select_results(self) -> Mapping[str, MatchResult]:
        """The results by which the format pairs and ranks."""
        return self.results

    def _count_missed_rounds(self, player_id: str) -> int:
        """How many rounds were over when a player entered; a late one is named first by the round that it enters."""
        seeded = self.config.scheduling.seeded_players
        if not seeded or player_id in seeded:
            return 0
        named = (player_id in round_.byes or player_id in round_.players for round_ in self.schedule.rounds)
        return next((missed for missed, is_named in enumerate(named) if is_named), len(self.schedule.rounds))

    def _select_completed(self) -> TournamentRecord:
        """The tournament without results of rounds that are still open."""
        whole = self._whole_tournament
        known = {key: result for key, result in whole.results.items() if result.round_id <= self.rounds_completed}
        return replace(whole, results=known)

    def _make_format(self) -> Format:
        return EndlessRound() if self.ladder else make_format(self.config.scheduling)

    @property
    def planned_rounds(self) -> int:
        """The number of rounds of the league, or of those that are known if the rest depends on results."""
        return max(self.format.count_rounds(self.tournament) or 0, len(self.schedule.rounds))

    @property
    def has_open_end(self) -> bool:
        """Whether the number of rounds depends on results."""
        return self.format.count_rounds(self.tournament) is None

    @property
    def takes_late_players(self) -> bool:
        """Whether a player may still enter: the league runs, its format allows it, and another round will be paired."""
        if self.phase is not LeaguePhase.RUNNING or not self.format.takes_late_entries:
            return False
        if self.ladder:
            return True
        return len(self.schedule.rounds) < (self.format.count_rounds(self.tournament) or 0)

    def describe_progress(self, current_round: int) -> str:
        """Say what is played in a round and what it takes to advance; empty once the league is over."""
        if self.phase is LeaguePhase.COMPLETED:
            return ""
        known = self.schedule.rounds[: max(current_round, 1)]
        if known and known[-1].is_play_off:
            return f"{known[-1].title}: it gives no points in the table"
        return describe_progress(self.format, replace(self.tournament, rounds=known))

    def find_group_tables(self) -> list[GroupTable]:
        """Make the tables of all groups of a league that has begun."""
        names = {player_id: player.display_name for player_id, player in self.roster.players().items()}
        return find_group_tables(self.format, self.tournament, names) if self.schedule.rounds else []

    def count_still_in(self, after: LeagueRound) -> int | None:
        """Count who may still win after a round where nobody leads; None if somebody does."""
        return None if after.is_play_off else count_still_in(self.format, self.tournament, after.stage)

    def preview_schedule(self) -> Schedule:
        """Pair what can be paired now for the players registered now, without storing it."""
        league = self._configs_by_protocol[self.protocol] if self.phase is LeaguePhase.REGISTRATION else self.config
        seeded = seed_players(self.roster.players(), league.scheduling, self.lot)
        entrants = [Entrant(player_id, seed) for seed, player_id in enumerate(seeded, start=1)]
        return Schedule(
            tuple(lay_out_rounds(make_format(league.scheduling), TournamentRecord(entrants, lot=draw_number(self.lot))))
        )
