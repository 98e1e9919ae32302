"""The rounds of a league: pairing and storing them, the play-off for first place, their beginning and end.

Which round may begin when is decided by the conductor and the times, not here.
"""

from agent_league.formats.play_off import pair_play_off
from agent_league.league.ladder_format import LADDER_ROUND
from agent_league.league.state_record import LeaguePhase
from agent_league.league.state_tables import LeagueTables
from agent_league.league.stored_rows import match_to_row, round_to_row
from agent_league.league.tournament import lay_out_rounds
from agent_league.model.events import RoundCompleted, RoundStarted
from agent_league.model.schedule import LeagueRound, Pairing, Schedule


class LeagueRounds(LeagueTables):
    """The rounds of a league, paired as far as results allow."""

    def pair_further_rounds(self) -> bool:
        """Pair what follows once all rounds are over and no match is left to be played again; returns whether it did.

        A correction may ask for a round that nobody expected: a bracket's final that was made void is played again.
        """
        known = len(self.schedule.rounds)
        is_over = self.phase is LeaguePhase.RUNNING and self.rounds_completed == known and not self.list_open_reruns()
        if is_over:
            self._pair_rounds()
        return len(self.schedule.rounds) > known

    def needs_further_round(self) -> bool:
        """Whether the format, or the play-off for first place, would pair another round by the results there are."""
        if not self.has_play_off and next(lay_out_rounds(self.format, self.tournament), None) is not None:
            return True
        return self._pair_play_off() is not None

    def list_open_reruns(self) -> list[Pairing]:
        """List the matches of completed rounds that are to be played again, and aren't over."""
        return [
            pairing
            for round_ in self.schedule.rounds[: self.rounds_completed]
            for pairing in round_.pairings
            if pairing.match_id not in self.results
        ]

    def _pair_rounds(self) -> None:
        """Pair and save the rounds that can be paired now."""
        if self.ladder:
            self._update_ladder_round()
            return
        rounds = [] if self.has_play_off else list(lay_out_rounds(self.format, self.tournament))
        if not rounds and (round_ := self._pair_play_off()):
            rounds = [round_]
        if rounds:
            self._set_schedule(Schedule((*self.schedule.rounds, *rounds)))
        self._rank_tables_again()
        for round_ in rounds:
            self._save_row(round_to_row(round_))
            for pairing in round_.pairings:
                self._save_row(match_to_row(pairing, None, None))

    def _pair_play_off(self) -> LeagueRound | None:
        """Pair the next round of the play-off for first place, if the league file asks for one and it is needed."""
        is_over = 0 < self.rounds_completed == len(self.schedule.rounds)
        if not is_over or not self.config.scheduling.play_off or all(one.is_void for one in self.results.values()):
            return None
        return pair_play_off(self._whole_tournament, self.table_after_round.list_leaders())

    def _update_ladder_round(self) -> None:
        """Lay out the one round of a ladder: the matches that are kept."""
        self.schedule = Schedule((LeagueRound(LADDER_ROUND, tuple(self._pairings.values())),))
        self.current_round = LADDER_ROUND

    def find_round(self, pairing: Pairing) -> LeagueRound:
        """The round to announce a match with; a match of a ladder is announced alone."""
        return LeagueRound(LADDER_ROUND, (pairing,)) if self.ladder else self.schedule.rounds[pairing.round_id - 1]

    def begin_round(self, round_: LeagueRound) -> None:
        self.current_round = round_.round_id
        self.emit(RoundStarted(round_, self.describe_progress(round_.round_id)))

    def complete_round(self, round_id: int) -> None:
        self.rounds_completed, round_ = round_id, self.schedule.rounds[round_id - 1]
        self._update_season_row(rounds_completed=round_id)
        self._add_byes(round_)
        if self.table_after_round is not self.standings_table:
            for result in self.get_round_results(round_):
                self._add_to_table(self.table_after_round, result)
        self._pair_rounds()
        is_last = round_id == len(self.schedule.rounds)
        groups = tuple(table for table in self.find_group_tables() if table.stage == round_.stage)
        rows = self.standings_after_round()
        self.emit(RoundCompleted(round_id, rows, is_last, groups, self.count_still_in(round_)))
