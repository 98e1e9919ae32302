"""Plays tournaments of a league's format with players of known strength, to find out how far its ranks can be trusted.

It plays no game: who wins is drawn by the strengths alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING

from agent_league.formats.base import Entrant, Format, TournamentRecord
from agent_league.league.standings import StandingsTable
from agent_league.league.tournament import MAX_ROUNDS
from agent_league.model.results import MatchResult, Outcome, Scoring
from agent_league.model.schedule import LeagueRound, Pairing
from agent_league.ratings.rank_error import RankError, estimate_rank_error
from agent_league.ratings.sequential_test import expected_score
from agent_league.ratings.tables import ResultRow

if TYPE_CHECKING:
    from agent_league.ratings.results import ResultTable

MIN_SAMPLES = 4
MAX_SAMPLES = 200
USUAL_COST = 15_000
MAX_COST = 150_000
"""What all tournaments of a trial usually cost and may cost at most, in matches of a fixed format: 10 µs each."""


@dataclass(frozen=True, slots=True)
class TrialTournament:
    """A format with the rules of its table, ready to be played."""

    players: int
    format: Format
    scoring: Scoring
    tiebreakers: tuple[str, ...] = ()
    draw_share: float = 0.0
    """The share of drawn matches between equal players."""
    game: str = ""

    def play(self, strengths: Sequence[float], chance: Random) -> list[list[int]]:
        """Play to the end; return the players by rank, those of a group share one. It is a `PlayTournament`."""
        tournament = self._play_rounds(strengths, chance)
        ranked = self.format.rank_players(tournament)
        if ranked is None:
            ranked = self._rank_by_table(tournament)
        return [[int(player_id) for player_id in group] for group in ranked]

    def replay_by_coin(self, chance: Random) -> "ResultTable":
        """Play a tournament of equal players and return its results."""
        return self.draw_results([0.0] * self.players, chance)

    def draw_results(self, strengths: Sequence[float], chance: Random) -> "ResultTable":
        """Play a tournament and return its results; players are named by their index."""
        from agent_league.ratings.results import ResultTable  # noqa: PLC0415 - loads numpy

        results = self._play_rounds(strengths, chance).results.values()
        rows = (row for result in results if (row := ResultRow.from_result(result, game=self.game)))
        return ResultTable.from_rows(rows, [str(index) for index in range(len(strengths))])

    def count_samples(self, fewest: int, most: int) -> int:
        """How many tournaments can be played in about a second; 0 if not even the fewest."""
        cost = self._estimate_cost()
        return 0 if self.players < 2 or fewest * cost > MAX_COST else min(most, max(fewest, round(USUAL_COST / cost)))

    def estimate_rank_error(self, spread_elo: float) -> RankError | None:
        """Estimate the mean error of a rank; None if that takes too long. See `ratings.rank_error`."""
        samples = self.count_samples(MIN_SAMPLES, MAX_SAMPLES)
        if not samples:
            return None
        found = estimate_rank_error(self.players, spread_elo, self.play, samples=samples)
        rounds = self._play_rounds([0.0] * self.players, Random(0)).rounds  # noqa: S311 - a simulation
        return replace(found, games=2 * sum(len(round_.pairings) for round_ in rounds) / self.players)

    def _estimate_cost(self) -> float:
        players = self.players
        entrants = [Entrant(str(index), index + 1) for index in range(players)]
        rounds = self.format.count_rounds(TournamentRecord(entrants)) or 2 * players
        return rounds * players / 2 * (1 if self.format.is_fixed else 8 + 0.3 * players)

    def _play_rounds(self, strengths: Sequence[float], chance: Random) -> TournamentRecord:
        entrants = [Entrant(str(index), index + 1) for index in range(len(strengths))]
        rounds: list[LeagueRound] = []
        results: dict[str, MatchResult] = {}
        tournament = TournamentRecord(entrants, rounds, results, self.scoring, chance.randrange(2**32))
        while len(rounds) < MAX_ROUNDS and (round_ := self.format.next_round(tournament)):
            rounds.append(round_)
            for pairing in round_.pairings:
                results[pairing.match_id] = self._play_match(pairing, strengths, chance)
        return tournament

    def _play_match(self, pairing: Pairing, strengths: Sequence[float], chance: Random) -> MatchResult:
        first, second = pairing.players
        score = expected_score(strengths[int(first)] - strengths[int(second)])
        drawn = 2 * self.draw_share * min(score, 1 - score)
        number = chance.random()
        winner = None if number < drawn else first if number < drawn / 2 + score else second
        outcome = Outcome.WIN if winner else Outcome.DRAW
        return MatchResult(pairing.match_id, pairing.round_id, pairing.players, outcome, winner)

    def _rank_by_table(self, tournament: TournamentRecord) -> list[list[str]]:
        names = {entrant.player_id: "" for entrant in tournament.entrants}
        table = StandingsTable(names, self.scoring, self.tiebreakers)
        for result in tournament.results.values():
            table.add_result(result)
        for round_ in tournament.rounds if self.format.bye_is_win else ():
            for player_id in round_.byes:
                table.add_bye(player_id, round_.round_id)
        groups: dict[int, list[str]] = {}
        for row in table.ranked_rows():
            groups.setdefault(row.shared_rank, []).append(row.player_id)
        return list(groups.values())
