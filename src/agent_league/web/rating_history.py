"""The players' ratings after the rounds of a league: computed when a page asks, and kept, as a round's never change.

Runs in threads, on a copy of the results. Knows nothing of pages.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent_league.games.registry import seats_differ
from agent_league.ratings.numpy_import import import_numpy
from agent_league.ratings.tables import Rating, ResultRow
from agent_league.web.league_ratings import RatingInput

MOST_ROUNDS = 24
"""About so many rounds are rated; of a longer league every second, third, ... and the last."""
MOST_ROUNDS_OF_MANY = 12
"""About so many if there are more players than `MANY_PLAYERS`, as the first page then has to wait for them."""
MANY_PLAYERS = 100

RatedRounds = dict[int, Mapping[str, Rating]]
"""By round, the ratings after it by player."""


@dataclass(frozen=True, slots=True)
class RoundRating:
    """A player's rating after a round, in whole points of Elo, with the ends of its 95% interval."""

    round_id: int
    elo: int
    low: int
    high: int


class RatingHistory:
    """The ratings after each round, as far as they were asked for."""

    def __init__(self) -> None:
        self._corrections = 0
        self._rated: RatedRounds = {}

    def rate_player(self, player_id: str, given: RatingInput, rounds: int, corrections: int) -> list[RoundRating]:
        """Rate a player after some of the completed rounds; `corrections` counts those of results so far."""
        if corrections != self._corrections:
            self._corrections, self._rated = corrections, {}
        rated = self._rated
        wanted = choose_rounds(rounds, len(given.player_ids))
        if missing := [round_id for round_id in wanted if round_id not in rated]:
            rated.update(_rate_rounds(given, missing))
        chosen = ((round_id, rated[round_id].get(player_id)) for round_id in wanted)
        return [
            RoundRating(round_id, round(rating.elo), round(rating.low), round(rating.high))
            for round_id, rating in chosen
            if rating and rating.games
        ]


def choose_rounds(rounds: int, players: int) -> Sequence[int]:
    """Choose the rounds that are rated: all of them, or every so many and the last."""
    step = -(-rounds // (MOST_ROUNDS if players <= MANY_PLAYERS else MOST_ROUNDS_OF_MANY))
    return [*range(step, rounds, step), rounds] if rounds else []


def _rate_rounds(given: RatingInput, round_ids: Sequence[int]) -> RatedRounds:
    """Rate all players after each of the rounds, over one table of results, which takes longer to make than to rate."""
    import_numpy()
    from agent_league.ratings.bradley_terry import fit_ratings  # noqa: PLC0415 - loads numpy
    from agent_league.ratings.results import ResultTable  # noqa: PLC0415 - loads numpy

    in_order = sorted(given.results, key=lambda result: result.round_id)
    rows = [(result.round_id, row) for result in in_order if (row := ResultRow.from_result(result, game=given.game))]
    table = ResultTable.from_rows((row for _, row in rows), given.player_ids)
    differ = [given.game] if seats_differ(given.game) else []
    ends = {round_id: bisect_right(rows, round_id, key=lambda row: row[0]) for round_id in round_ids}
    return {
        round_id: fit_ratings(table.take_first(end), seats_differ=differ).by_player() for round_id, end in ends.items()
    }
