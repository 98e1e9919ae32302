"""How far a rank is off on average in a tournament of some format, found by simulation.

It knows no format: the caller brings a function that plays one.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from random import Random
from typing import Any

from agent_league.ratings.statistics import NORMAL_QUANTILE, Estimate, estimate_mean
from agent_league.ratings.tables import RatingTable

PlayTournament = Callable[[Sequence[float], Random], Sequence[Sequence[int]]]
"""Play a tournament of players with these strengths in Elo; return their indexes in groups, the best first. Those of a
group share a rank."""


@dataclass(frozen=True, slots=True)
class RankError:
    """By how many places a rank differs from the true one on average."""

    places: Estimate
    players: int
    by_lot: float
    """What it would be if ranks were drawn by lot."""
    games: float | None = None
    """The matches of a player, if they are known."""

    def describe(self) -> str:
        """Say it in a sentence."""
        games = "" if self.games is None else f" with {self.games:.2g} games a player"
        return (
            f"In this format{games} a rank is off by {self.places.value:.1f} places on average;"
            f" drawn by lot it would be {self.by_lot:.1f} of {self.players}."
        )

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {**asdict(self), "sentence": self.describe()}


def estimate_rank_error(
    players: int, spread_elo: float, play: PlayTournament, *, samples: int = 200, seed: int = 0
) -> RankError:
    """Estimate the mean absolute error of a rank: play tournaments whose players' true strengths are known.

    Strengths are normal with standard deviation `spread_elo`. If that is 0, as in a game of luck, nobody is better and
    the true order is one by lot. A shared rank counts as the middle of its places.
    """
    if players < 1 or samples < 2 or spread_elo < 0:
        raise ValueError("a rank error needs a player, two samples, and a spread of at least 0")
    chance = Random(seed)  # noqa: S311 - a simulation
    errors: dict[float, int] = {}
    for _ in range(samples):
        true_order = list(range(players))
        chance.shuffle(true_order)
        drawn = sorted((chance.gauss(0, 1) for _ in range(players)), reverse=True)
        strengths = [0.0] * players
        for player, strength in zip(true_order, drawn, strict=True):
            strengths[player] = strength * spread_elo
        found = _find_ranks(play(strengths, chance), players)
        error = sum(abs(found[player] - place) for place, player in enumerate(true_order, start=1)) / players
        errors[error] = errors.get(error, 0) + 1
    return RankError(estimate_mean(errors), players, by_lot=(players * players - 1) / (3 * players))


def group_by_points(points: Sequence[float]) -> list[list[int]]:
    """Group players, given by their index, by their points, the most first."""
    groups: dict[float, list[int]] = {}
    for player, own in enumerate(points):
        groups.setdefault(own, []).append(player)
    return [groups[own] for own in sorted(groups, reverse=True)]


def estimate_rating_spread(table: RatingTable) -> float:
    """Estimate the standard deviation of the true ratings in Elo: that of the fitted ones without their errors.

    It is 0 if errors alone explain the differences.
    """
    rated = [rating for rating in table.ratings if rating.games]
    if len(rated) < 2:
        return 0.0
    errors = sum(((rating.high - rating.low) / 2 / NORMAL_QUANTILE) ** 2 for rating in rated) / (len(rated) - 1)
    middle = sum(rating.elo for rating in rated) / len(rated)
    return sqrt(max(0.0, sum((rating.elo - middle) ** 2 for rating in rated) / (len(rated) - 1) - errors))


def _find_ranks(groups: Sequence[Sequence[int]], players: int) -> list[float]:
    """Return the rank of each player, that of a group being the middle of its places."""
    if sorted(player for group in groups for player in group) != list(range(players)):
        raise ValueError("a tournament must rank every player once")
    ranks = [0.0] * players
    above = 0
    for group in groups:
        for player in group:
            ranks[player] = above + (len(group) + 1) / 2
        above += len(group)
    return ranks
