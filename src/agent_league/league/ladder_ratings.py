"""The ratings of a practice ladder: versions of agents rated together, and how likely each beats the house bots.

Computed from sums of results, so that they cost the same after a week as after an hour.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import erf, inf, sqrt

from agent_league.league.ladder_record import LadderRecord, player_of_version
from agent_league.ratings.numpy_import import import_numpy
from agent_league.ratings.tables import Rating, RatingTable, ResultRow

HALF_INTERVAL = 1.96
"""Standard deviations from a rating to the end of its 95% interval."""
EMPTY_TABLE = RatingTable((), 0)


@dataclass(frozen=True, slots=True)
class LadderRatings:
    """The ratings of all versions that are rated."""

    by_version: Mapping[str, Rating] = field(default_factory=dict)
    table: RatingTable = EMPTY_TABLE
    """The current versions by their players' ids, the best first; those without results last."""


@dataclass(frozen=True, slots=True)
class LadderRatingInput:
    """A copy of what the ratings depend on, for a thread."""

    rows: Sequence[ResultRow]
    version_ids: Sequence[str]
    current_ids: frozenset[str]
    seats_differ: bool

    @classmethod
    def from_record(cls, record: LadderRecord, *, seats_differ: bool) -> "LadderRatingInput":
        current = frozenset(player.version_id for player in record.players.values())
        return cls(record.list_result_rows(), record.list_version_ids(), current, seats_differ)

    def compute(self) -> LadderRatings:
        """Rate the versions; loads numpy."""
        if not self.version_ids:
            return LadderRatings()
        import_numpy()
        from agent_league.ratings.bradley_terry import fit_unknown_spread  # noqa: PLC0415 - loads numpy
        from agent_league.ratings.results import ResultTable  # noqa: PLC0415 - loads numpy

        results = ResultTable.from_rows(self.rows, self.version_ids)
        table = fit_unknown_spread(results, seats_differ=[""] if self.seats_differ else []).table
        shown = [rating for rating in table.ratings if rating.player_id in self.current_ids]
        shown.sort(key=lambda rating: -rating.elo if rating.games else inf)
        named = [replace(one, player_id=player_of_version(one.player_id)) for one in shown]
        for at, rating in enumerate(named):
            following = named[at + 1] if at + 1 < len(named) and named[at + 1].games else None
            above = find_likelihood_above(rating, following) if rating.games and following else None
            named[at] = replace(rating, likelihood_above_next=above)
        return LadderRatings(table.by_player(), replace(table, ratings=tuple(named)))


def find_likelihood_above(one: Rating, other: Rating) -> float:
    """How likely one is better than the other, as if their errors had nothing in common."""
    spread = sqrt(sum(((rating.high - rating.low) / 2 / HALF_INTERVAL) ** 2 for rating in (one, other)))
    return 0.5 if not spread else (1 + erf((one.elo - other.elo) / spread / sqrt(2))) / 2


def find_win_chance(one: Rating, other: Rating) -> float:
    """The share of points that one is expected to get against the other."""
    return 1 / (1 + 10 ** ((other.elo - one.elo) / 400))
