"""Whether results differ from coin flips: are the points of players spread more widely than luck spreads them?"""

from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from agent_league.ratings.rank_error import RankError
from agent_league.ratings.results import Floats, ResultTable, add_by_index, add_up_results
from agent_league.ratings.statistics import simulate_p_value

LEVEL = 0.05
SAMPLES = 99


@dataclass(frozen=True, slots=True)
class LuckTest:
    """The answer whether points are spread more widely than by coin flips."""

    spread: float
    """The mean over the players of their squared distance from even points, as a multiple of its size by luck: about 1
    if there is nothing but luck."""
    p_value: float
    """How probable so wide a spread is by luck."""
    level: float

    @property
    def is_luck(self) -> bool:
        """Whether the points can't be told from luck."""
        return self.p_value > self.level

    def describe(self, rank_error: RankError | None = None) -> str:
        """Say it in a sentence or two for a page."""
        if self.is_luck:
            sentence = f"These points can't be told from coin flips (p = {self.p_value:.2g}): ranks are luck so far."
        else:
            sentence = f"Points are spread more widely than by luck (p = {self.p_value:.2g}): the players differ."
        return f"{sentence} {rank_error.describe()}" if rank_error else sentence

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {**asdict(self), "is_luck": self.is_luck, "sentence": self.describe()}


def check_luck(
    results: ResultTable,
    *,
    seats_differ: Collection[str] = (),
    level: float = LEVEL,
    samples: int = SAMPLES,
    seed: int = 0,
) -> LuckTest:
    """Test whether points are spread by luck alone: each decided match is decided again by a coin, draws stay draws.

    In games whose seats differ the coin favours the first seat as much as it was favoured. Technical losses are left
    out: they aren't luck. The same seed gives the same answer.
    """
    players = len(results.players)
    has_seats = np.array([game in seats_differ for game in results.games], dtype=np.bool_)
    cells = add_up_results(results.without_technical_losses(), has_seats)
    drawn = 4 * cells.halved
    decided = np.rint(cells.played - drawn).astype(np.int64)
    wins = cells.points - drawn / 2
    total = add_by_index(cells.game, decided.astype(np.float64), len(has_seats))
    favoured = add_by_index(cells.game, wins, len(has_seats)) / np.maximum(total, 1.0)
    coin = np.where(has_seats, favoured, 0.5)[cells.game]
    by_luck = decided * coin * (1 - coin)
    variance = add_by_index(cells.player_a, by_luck, players) + add_by_index(cells.player_b, by_luck, players)
    counted = variance > 0

    def compute_spread(won: Floats) -> float:
        surplus = won - decided * coin
        points = add_by_index(cells.player_a, surplus, players) - add_by_index(cells.player_b, surplus, players)
        return float((points[counted] ** 2 / variance[counted]).mean())

    if not counted.any():
        return LuckTest(1.0, 1.0, level)
    chance = np.random.default_rng(seed)
    observed = compute_spread(wins)
    p_value = simulate_p_value(
        observed, lambda: compute_spread(chance.binomial(decided, coin).astype(np.float64)), samples
    )
    return LuckTest(observed, p_value, level)
