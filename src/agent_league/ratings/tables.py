"""What ratings are computed from and what comes of it, as plain data. It knows no arithmetic and no numpy."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from agent_league.model.results import MatchResult, Outcome

NO_NAMES: Mapping[str, str] = {}
"""In place of names by player id: sentences name players by their ids."""


class RankMethod(StrEnum):
    """How players are ranked by their results: by one number each, or by who beats whom."""

    ELO = "elo"
    ALPHA_RANK = "alpha-rank"
    NASH = "nash"


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One match, or several that ended the same way."""

    player_a: str
    """The player in the first seat."""
    player_b: str
    score: float
    """What player A got a match: 1 for a win, 0.5 for a draw, 0 for a loss."""
    count: int = 1
    game: str = ""
    series: int = 0
    """Results of one series may depend on each other, those of different series don't."""
    is_technical: bool = False
    """Whether it was decided by a technical loss."""

    @classmethod
    def from_result(cls, result: MatchResult, *, game: str = "", series: int = 0) -> "ResultRow | None":
        """Return what ratings make of a match; None if it is void, awarded, or lost by both players."""
        if result.is_void or result.is_awarded or (result.outcome is Outcome.TECHNICAL_LOSS and result.winner is None):
            return None
        player_a, player_b = result.players
        score = 0.5 if result.winner is None else float(result.winner == player_a)
        is_technical = result.outcome is Outcome.TECHNICAL_LOSS
        return cls(player_a, player_b, score, game=game, series=series, is_technical=is_technical)


@dataclass(frozen=True, slots=True)
class Rating:
    """A player's rating in Elo above or below the league's mean, which is 0, and how sure it is."""

    player_id: str
    elo: float
    low: float
    high: float
    """`low` to `high` is the 95% interval of the difference from the league's mean."""
    games: int
    likelihood_above_next: float | None
    """How likely the player is better than the one below it; None for the last, also of those linked by opponents."""
    tied_group: int
    """The number of its group, from 1: the players from the group's first one down that aren't significantly weaker
    than this first one (two-sided, 95%). So of group 1 nobody can be ruled out as the best. Players that aren't linked
    by opponents are never of one group."""
    games_to_separate: int | None
    """How many more games the player needs, if all play on at the same rate and the difference from the one below stays
    as it is, until this difference is significant: 0 if it is already. None for the last, and if it is a million games
    or more."""

    def __str__(self) -> str:
        return f"{round(self.elo):+d} ±{(self.high - self.low) / 2:.0f}"


@dataclass(frozen=True, slots=True)
class SeatAdvantage:
    """What the first seat of a game is worth in Elo, with its 95% interval."""

    game: str
    elo: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class RatingTable:
    """The ratings of one fit, best first; those of players that aren't linked by opponents come group by group."""

    ratings: tuple[Rating, ...]
    games: int
    seat_advantages: tuple[SeatAdvantage, ...] = ()
    is_connected: bool = True
    """Whether every player is linked to every other by a chain of opponents. If not, ratings compare players only
    within a chain."""

    @property
    def can_name_best(self) -> bool:
        """Whether all who played are linked by opponents, so that one of them can be called the best."""
        return all(rating.games == 0 for rating in self.ratings[len(self.list_linked()) :])

    def list_linked(self) -> tuple[Rating, ...]:
        """Return the ratings of the largest group that is linked by opponents: all if the table is connected."""
        last = next((at for at, one in enumerate(self.ratings) if one.likelihood_above_next is None), -1)
        return self.ratings[: last + 1]

    def by_player(self) -> Mapping[str, Rating]:
        """Return the ratings by player id."""
        return {rating.player_id: rating for rating in self.ratings}

    def to_json(self) -> dict[str, Any]:
        """Return the table as JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class TechnicalLossRatings:
    """The same players rated with and without the matches that a technical loss decided."""

    all_results: RatingTable
    without_technical_losses: RatingTable | None
    """None if there was no technical loss."""

    def to_json(self) -> dict[str, Any]:
        """Return both tables as JSON."""
        return asdict(self)


RATING_COLUMNS = (
    *("player_id", "display_name", "elo", "low", "high", "games", "likelihood_above_next", "tied_group"),
    *("games_to_separate", "elo_without_technical_losses", "low_without_technical_losses"),
    "high_without_technical_losses",
)
"""The columns of exported ratings, in order."""


def list_rating_rows(told: Mapping[str, Any], names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the ratings out of `TechnicalLossRatings.to_json` as rows with `RATING_COLUMNS`."""
    without = told["without_technical_losses"] or {"ratings": ()}
    ratings = {rating["player_id"]: rating for rating in without["ratings"]}
    return [
        {
            **rating,
            "display_name": names.get(rating["player_id"], rating["player_id"]),
            **{
                f"{name}_without_technical_losses": ratings.get(rating["player_id"], {}).get(name)
                for name in ("elo", "low", "high")
            },
        }
        for rating in told["all_results"]["ratings"]
    ]
