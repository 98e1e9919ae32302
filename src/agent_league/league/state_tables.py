"""The tables of a league: that of all results, and that after the last completed round.

How rows are ranked is the matter of `standings.py`, of the format or of the ladder's ratings.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from agent_league.formats.base import PlayerGroups, TournamentRecord
from agent_league.formats.play_off import split_leaders
from agent_league.league.ladder_format import rank_by_rating
from agent_league.league.ladder_table import LadderTable
from agent_league.league.standings import StandingsTable
from agent_league.league.state_record import LeagueSetup
from agent_league.league.state_tournament import LeagueTournament
from agent_league.league.tournament import counts_byes
from agent_league.model.agents import Role
from agent_league.model.results import MatchResult, StandingsRow
from agent_league.model.schedule import LeagueRound


class LeagueTables(LeagueTournament):
    """The standings of a league, kept with each result."""

    def __init__(self, setup: LeagueSetup) -> None:
        super().__init__(setup)
        self.standings_table = self.table_after_round = self._create_table()
        """The table, and that after the last completed round; the same object unless rounds overlap."""

    def standings(self) -> tuple[StandingsRow, ...]:
        return self.standings_table.ranked_rows()

    def standings_after_round(self) -> tuple[StandingsRow, ...]:
        """The standings after the last completed round, without results of later rounds."""
        return self.table_after_round.ranked_rows()

    def iter_standings(self) -> Iterator[tuple[StandingsRow, ...]]:
        """Yield the standings after each completed round."""
        completed = self.schedule.rounds[: self.rounds_completed]
        whole, number = self._whole_tournament, 0

        def select_tournament() -> TournamentRecord:
            results = {key: one for key, one in whole.results.items() if one.round_id <= number}
            return replace(whole, rounds=whole.rounds[: number + 1], results=results)

        table = self._create_table(select_tournament)
        for number, round_ in enumerate(completed, start=1):  # noqa: B007 - read by rank_by_format
            for result in self.get_round_results(round_):
                self._add_to_table(table, result)
            for player_id in round_.byes if counts_byes(self.format, round_) else ():
                table.add_bye(player_id, round_.round_id)
            yield table.ranked_rows()

    def _create_table(self, select_tournament: Callable[[], TournamentRecord] | None = None) -> StandingsTable:
        """Create an empty table; `select_tournament` gives what it is ranked by, if that isn't all that was played."""
        get_tournament = select_tournament or (lambda: self._whole_tournament)
        names = {member.agent_id: member.agent.display_name for member in self.roster.list_members(Role.PLAYER)}
        if (ladder := self.ladder) is not None:
            players = self.roster.players
            return LadderTable(names, ladder, self.scoring, rank=lambda: rank_by_rating(ladder, [*players()]))
        return StandingsTable(
            names,
            self.scoring,
            self.config.scoring.tiebreakers,
            lot=self.lot if self.config.scheduling.seeded_players else "",  # before the start, by id
            rank_by_format=lambda: self._rank_by_format(get_tournament()),
            split_leaders=lambda leaders: split_leaders(get_tournament(), leaders) if self.has_play_off else [leaders],
            is_withdrawn=lambda player_id: self.roster[player_id].is_withdrawn,
        )

    def _rank_by_format(self, whole: TournamentRecord) -> PlayerGroups | None:
        rounds = [round_ for round_ in whole.rounds if not round_.is_play_off]
        return self.format.rank_players(replace(whole, rounds=rounds)) if rounds else None

    def _fill_tables(self, standings_table: StandingsTable, table_after_round: StandingsTable) -> None:
        """Make these empty tables those of the league, with all results; they may be one object."""
        self.standings_table, self.table_after_round = standings_table, table_after_round
        for result in self.results.values():
            self._add_to_tables(result)
        for round_ in self.schedule.rounds[: self.rounds_completed]:
            self._add_byes(round_)

    def _rebuild_tables(self) -> None:
        """Compute the tables anew, after a result was corrected."""
        table = self._create_table()
        overlaps = self.table_after_round is not self.standings_table
        self._fill_tables(table, self._create_table(self._select_completed) if overlaps else table)

    def _rank_tables_again(self) -> None:
        """Rank the players anew, because more than results has changed: the rounds, or who is out."""
        for table in (self.standings_table, self.table_after_round):
            table.rank_again()

    def _add_to_tables(self, result: MatchResult) -> None:
        self._add_to_table(self.standings_table, result)
        is_other = self.table_after_round is not self.standings_table
        if is_other and result.round_id <= self.rounds_completed:
            self._add_to_table(self.table_after_round, result)

    def _add_to_table(self, table: StandingsTable, result: MatchResult) -> None:
        table.add_result(result, is_play_off=self.schedule.rounds[result.round_id - 1].is_play_off)

    def _add_byes(self, round_: LeagueRound) -> None:
        """Give the points of a round's byes, if the format has such."""
        if counts_byes(self.format, round_):
            tables = {id(table): table for table in (self.standings_table, self.table_after_round)}
            for table in tables.values():
                for player_id in round_.byes:
                    table.add_bye(player_id, round_.round_id)
