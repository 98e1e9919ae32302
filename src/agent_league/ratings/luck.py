"""Whether results differ from coin flips: are the points of players spread more widely than luck spreads them?"""

from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass
from random import Random
from typing import Any

import numpy as np

from agent_league.ratings.rank_error import RankError
from agent_league.ratings.results import Floats, Ints, ResultCells, ResultTable, add_by_index, add_up_results
from agent_league.ratings.statistics import simulate_p_value

LEVEL = 0.05
SAMPLES = 99
TINY = 1e-12


@dataclass(frozen=True, slots=True)
class LuckTest:
    """The answer whether points are spread more widely than by coin flips."""

    spread: float
    """How far points are apart, with regard to the opponents they were made against, as a multiple of its size by luck:
    about 1 if there is nothing but luck and pairings don't depend on results."""
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
            sentence = f"These points can't be told from coin flips (p = {self.p_value:.2g}): ranks may be luck so far."
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
    replay: Callable[[Random], ResultTable] | None = None,
) -> LuckTest:
    """Test whether points are spread by luck alone: each decided match is decided again by a coin, draws stay draws.

    In games whose seats differ the coin favours the first seat as much as it was favoured. If pairings depend on
    results, as in a Swiss tournament, `replay` must play the whole tournament again by coin flips: there winners meet
    winners, which spreads points less. Technical losses are left out: they aren't luck. The same seed gives the same
    answer.
    """
    flips = CoinFlips.from_results(results.without_technical_losses(), seats_differ)
    if not flips.decided.any():
        return LuckTest(1.0, 1.0, level)
    observed = flips.compute_spread(flips.wins)
    if replay:
        lot = Random(seed)  # noqa: S311 - a simulation

        def draw() -> float:
            again = CoinFlips.from_results(replay(lot), seats_differ)
            return again.compute_spread(again.wins)
    else:
        chance = np.random.default_rng(seed)

        def draw() -> float:
            return flips.compute_spread(chance.binomial(flips.decided, flips.coin).astype(np.float64))

    return LuckTest(observed, simulate_p_value(observed, draw, samples), level)


@dataclass(frozen=True, slots=True, eq=False)
class CoinFlips:
    """The decided matches as flips of a coin, by cell."""

    cells: ResultCells
    decided: Ints
    wins: Floats
    """Those of player A."""
    coin: Floats
    """The chance of player A."""
    inverse: Floats
    """Weighs the surplus of players against each other, so that it counts against whom points were made."""

    @classmethod
    def from_results(cls, results: ResultTable, seats_differ: Collection[str]) -> "CoinFlips":
        players = len(results.players)
        has_seats = np.array([game in seats_differ for game in results.games], dtype=np.bool_)
        cells = add_up_results(results, has_seats)
        drawn = 4 * cells.halved
        decided = np.rint(cells.played - drawn).astype(np.int64)
        wins = cells.points - drawn / 2
        total = add_by_index(cells.game, decided.astype(np.float64), len(has_seats))
        favoured = add_by_index(cells.game, wins, len(has_seats)) / np.maximum(total, 1.0)
        coin = np.where(has_seats, favoured, 0.5)[cells.game]
        by_luck = decided * coin * (1 - coin)
        key = cells.player_a * players + cells.player_b
        matrix = -add_by_index(key, by_luck, players * players).reshape(players, players)
        matrix = matrix + matrix.T
        diagonal = -matrix.sum(axis=1)
        matrix[np.arange(players), np.arange(players)] = diagonal + 1e-6 * max(TINY, float(diagonal.mean()))
        return cls(cells, decided, wins, coin, np.asarray(np.linalg.inv(matrix), dtype=np.float64))

    def compute_spread(self, wins: Floats) -> float:
        """Compute how far points are apart, as a multiple of its size by luck if pairings don't depend on results."""
        players = len(self.inverse)
        surplus = wins - self.decided * self.coin
        points = add_by_index(self.cells.player_a, surplus, players)
        points -= add_by_index(self.cells.player_b, surplus, players)
        met = np.union1d(self.cells.player_a, self.cells.player_b).size
        return float(points @ self.inverse @ points) / max(1, met - 1)
