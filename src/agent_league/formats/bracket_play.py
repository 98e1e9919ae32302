"""A bracket as it is played: which series are decided and how, and which matches come next.

All is worked out anew from the rounds that were paired and their results. Each round notes who was passed over because
it was out, so that what was decided stays decided when a player comes back later. A series that could have gone on
when a round was paired, and whose players were neither paired nor passed over, lost its match by a correction: it is
still to be played. Rounds of leagues that began before that was noted name everybody that is still in the bracket, in
a pairing or with a bye: there the one that is named has advanced by walkover.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import chain

from agent_league.formats.base import PlayerGroups, TournamentRecord, make_round
from agent_league.formats.bracket_plan import BracketPlan, Origin, Source
from agent_league.formats.series import EMPTY, Decision, SeriesPlay, name_match
from agent_league.model.schedule import LeagueRound, Pairing

PairWithReason = tuple[str, str, str]


class BracketPlay:
    """The series of a bracket as they stand after the rounds of a tournament, with players that are out now."""

    def __init__(
        self,
        plan: BracketPlan,
        best_of: int,
        tournament: TournamentRecord,
        series_by_match: Mapping[str, int] | None = None,
    ) -> None:
        """Raises ValueError if a round can't be one of this bracket.

        With `series_by_match`, the index of the series that each match was paired for, matches that have no place
        there are left out instead, and noted as `misfits`.
        """
        self.plan = plan
        self.series = [SeriesPlay(one, best_of) for one in plan.series]
        self._tournament = tournament
        self._best_of = best_of
        self._player_ids = [entrant.player_id for entrant in tournament.entrants]
        self.seeds = {player_id: seed for seed, player_id in enumerate(self._player_ids, start=1)}
        self._active = {entrant.player_id for entrant in tournament.entrants if not entrant.is_out}
        self._step = 0
        """The index of the step that is played; the number of steps at the end."""
        self._steps = [[self.series[index] for level in step for index in level.series] for step in plan.steps]
        self._series_by_match = series_by_match
        self.misfits: set[str] = set()
        """Ids of the matches that were left out."""
        self.passed_over: list[tuple[str, ...]] = []
        """By round: who was out when it was paired; the last are those who are out now."""
        self._leans: Counter[str] = Counter()
        """How often each player was A more than B."""
        self._followers: list[list[SeriesPlay]] = [[] for _ in self.series]
        """The series in which the players of each go on, by its index."""
        for series in self.series:
            for source in series.plan.sources:
                if source.origin is not Origin.SEED:
                    self._followers[source.number].append(series)
            if series.plan.repeats is not None:
                self._followers[series.plan.repeats].append(series)
        for series in self.series:
            self._fill_places(series)
        for round_ in tournament.rounds:
            self.passed_over.append(tuple(self._replay_round(round_)))
        self.passed_over.append(tuple(self._pass_finished_steps()))

    @property
    def is_over(self) -> bool:
        return self._step == len(self._steps)

    def make_next_round(self) -> LeagueRound | None:
        """Pair what is still needed of the step that is played; None at the end."""
        due = [series for series in self._current_series() if series.is_ready]
        if not due:
            return None
        pairs = [self._pair_players(series, number) for number, series in enumerate(due)]
        byes, title = self._explain_byes(due), self._make_title(due)
        return make_round(self._tournament, pairs, byes=byes, title=title, absent=self.passed_over[-1])

    def count_losses(self) -> dict[str, int]:
        """Count the series that each player has lost."""
        losses = dict.fromkeys(self._player_ids, 0)
        for series in self.series:
            if series.loser:
                losses[series.loser] += 1
        return losses

    def rank_players(self) -> PlayerGroups:
        """Rank those that are still in by their losses, then the others by when they went out."""
        losses = self.count_losses()
        places = dict.fromkeys(self._player_ids, 1)
        for series in self.series:
            if series.loser:
                places[series.loser] = series.plan.loser_place
            for player_id in filter(None, series.players):
                if player_id != series.loser:
                    places[player_id] = series.plan.winner_place
        groups: dict[tuple[int, int], list[str]] = {}
        for player_id in self._player_ids:
            groups.setdefault((places[player_id], losses[player_id]), []).append(player_id)
        return [groups[key] for key in sorted(groups)]

    def find_player(self, source: Source) -> str | None:
        """Return the player that a source stands for; EMPTY if there is none, None if it isn't known yet."""
        if source.origin is Origin.SEED:
            return self._player_ids[source.number - 1] if source.number <= len(self._player_ids) else EMPTY
        series = self.series[source.number]
        return series.winner if source.origin is Origin.WINNER else series.loser

    def _current_series(self) -> Sequence[SeriesPlay]:
        return () if self.is_over else self._steps[self._step]

    def _fill_places(self, series: SeriesPlay) -> None:
        """Bring the players of a series to their places, and decide it if it needs no match."""
        first = self.series[series.plan.repeats] if series.plan.repeats is not None else None
        if series.decision is not None or (first is not None and first.decision is None):
            return
        one, other = (self.find_player(source) for source in series.plan.sources)
        series.players = (one, other)
        if one is None or other is None:
            return
        if first is not None and first.winner == one:
            series.decide(Decision.NOT_NEEDED, one)
        elif not one or not other:
            series.decide(Decision.BYE, one or other)
        self._fill_following(series)

    def _fill_following(self, series: SeriesPlay) -> None:
        """Bring the players of a decided series to the places where they go on."""
        if series.decision is not None:
            for following in self._followers[series.plan.index]:
                self._fill_places(following)

    def _replay_round(self, round_: LeagueRound) -> list[str]:
        """Add a round that was paired, and settle the series that it shows to be over; returns who was passed over."""
        pairings = {frozenset[str | None](pairing.players): pairing for pairing in round_.pairings}
        named = {*chain.from_iterable(pairing.players for pairing in round_.pairings), *round_.byes}
        passed_over: list[str] = []
        absent = Counter(round_.absent)
        for step in self._steps[self._step :]:
            if not pairings and not absent:
                break
            ready = [series for series in step if series.is_ready]
            played = [series for series in ready if self._is_played(series, pairings.get(frozenset(series.players)))]
            others = [series for series in ready if series not in played]
            if round_.absent is None:
                passed_over += self._decide_walkovers(others, named)
            else:
                missed = [
                    series for series in others if any(absent[player_id or EMPTY] for player_id in series.players)
                ]
                passed_over += self._decide_walkovers(missed, {*self._player_ids} - absent.keys())
                absent -= Counter(series.loser or EMPTY for series in missed)
            for series in played:
                pairing = pairings.pop(frozenset(series.players))
                series.add_match(pairing, self._tournament.results.get(pairing.match_id), self.seeds.__getitem__)
                self._leans[pairing.player_a] += 1
                self._leans[pairing.player_b] -= 1
                self._fill_following(series)
        if pairings and self._series_by_match is None:
            raise ValueError(f"round {round_.round_id} doesn't belong to this bracket of {self.plan.players} players")
        self.misfits.update(pairing.match_id for pairing in pairings.values())
        while not self.is_over and all(series.decision is not None for series in self._current_series()):
            self._step += 1
        return passed_over

    def _is_played(self, series: SeriesPlay, pairing: Pairing | None) -> bool:
        """Whether a match of the same players is one of a series that could go on."""
        if pairing is None:
            return False
        return self._series_by_match is None or self._series_by_match.get(pairing.match_id) == series.plan.index

    def _pass_finished_steps(self) -> list[str]:
        """Go to the first step that has a match to play; returns who was passed over because it is out now."""
        passed_over: list[str] = []
        while not self.is_over:
            ready = [series for series in self._current_series() if series.is_ready]
            waiting = [
                series
                for series in ready
                if series.has_open_match or self._active.issuperset(filter(None, series.players))
            ]
            others = [series for series in ready if series not in waiting]
            passed_over += self._decide_walkovers(others, self._active)
            if waiting:
                break
            self._step += 1
        return passed_over

    def _decide_walkovers(self, series: Sequence[SeriesPlay], present: Collection[str]) -> list[str]:
        """Let the player that is present advance in each of these series; the higher seed if both or none are.

        Returns the others.
        """
        passed_over: list[str] = []
        for one in series:
            players = [player_id for player_id in one.players if player_id]
            chosen = [player_id for player_id in players if player_id in present]
            winner = chosen[0] if len(chosen) == 1 else min(players, key=self.seeds.__getitem__)
            one.decide(Decision.WALKOVER, winner)
            passed_over += [player_id for player_id in players if player_id != winner]
            self._fill_following(one)
        return passed_over

    def _pair_players(self, series: SeriesPlay, number: int) -> PairWithReason:
        """Choose sides: they alternate in a series; the first time A is the one that has been A less often.

        Where that is level, the upper and the lower place of the series are A by turns in a round.
        """
        one, other = (player_id or EMPTY for player_id in series.players)
        reason = series.describe_next_match()
        if series.pairings:
            last = series.pairings[-1]
            return last.player_b, last.player_a, reason
        why = self._explain_series(series)
        reason = f"{why}; {reason}" if reason else why
        lean = self._leans[one] - self._leans[other] or (self._tournament.lot + number) % 2
        return (one, other, reason) if lean <= 0 else (other, one, reason)

    def _explain_series(self, series: SeriesPlay) -> str:
        if series.plan.repeats is not None:
            return f"the grand final once more: {series.players[1]} won it, so each has lost one series"
        return " meets ".join(self._describe_source(source) for source in series.plan.sources)

    def _describe_source(self, source: Source) -> str:
        """Tell where a known player comes from, such as "winner of R1M4 (P07)"."""
        player_id = self.find_player(source)
        if source.origin is Origin.SEED:
            return f"seed {source.number}"
        series = self.series[source.number]
        is_winner = source.origin is Origin.WINNER
        if series.decision is Decision.BYE:
            before = next(one for one in series.plan.sources if self.find_player(one) == player_id)
            return self._describe_source(before)
        if series.decision is Decision.WALKOVER:
            return f"{player_id} ({'without a match' if is_winner else f'absent from {series.plan.name}'})"
        if series.decision is Decision.HIGHER_SEED:
            seed = "higher" if is_winner else "lower"
            return f"{seed} seed after the draw of {series.pairings[-1].match_id} ({player_id})"
        return f"{source.origin} of {series.pairings[-1].match_id} ({player_id})"

    def _explain_byes(self, due: Sequence[SeriesPlay]) -> Mapping[str, str]:
        """Give a reason for each player that is still in the bracket and has no match now."""
        paired = set(chain.from_iterable(series.players for series in due))
        latest = {player_id: series for series in self.series for player_id in series.players if player_id}
        return {
            player_id: self._explain_bye(player_id, latest[player_id])
            for player_id in self._player_ids
            if player_id in self._active and player_id not in paired and latest[player_id].loser != player_id
        }

    def _explain_bye(self, player_id: str, latest: SeriesPlay) -> str:
        now = [series for series in self._current_series() if player_id in series.players]
        decided = now[0] if now else None
        if decided is None:
            return f"waits for {latest.plan.name}"
        if decided.decision is Decision.BYE and decided.plan.sources[0].origin is Origin.SEED:
            size, players = self.plan.size, self.plan.players
            return f"seed {self.seeds[player_id]} has a bye: {players} players in a bracket of {size}"
        if decided.decision is Decision.BYE:
            return f"has a bye: nobody to meet in {decided.plan.name}"
        if decided.decision is Decision.WALKOVER:
            return f"advances without a match: {decided.loser} is out"
        return f"has finished {decided.plan.name}: {decided.describe_score()}"

    def _make_title(self, due: Sequence[SeriesPlay]) -> str:
        """Name the levels that are played, with the number of the match in its series."""
        levels = [
            level.title
            for level in self.plan.steps[self._step]
            if any(self.series[index] in due for index in level.series)
        ]
        first, *others = levels
        title = " and ".join([first, *(f"{other[0].lower()}{other[1:]}" for other in others)])
        number = name_match(len(due[0].pairings) + 1, self._best_of)
        return f"{title}, {number}" if number else title
