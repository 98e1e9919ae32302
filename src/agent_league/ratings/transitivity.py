"""Whether one number a player can describe the results, or who beats whom goes in circles.

The Bradley-Terry fit is compared with a model that gives every pair of players a strength difference of its own: the
deviance is twice the logarithm of their likelihood ratio. How large it gets by chance is found by fitting results that
are simulated from the ratings, which holds for few matches a pair too.
"""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from math import sqrt
from typing import Any

import numpy as np

from agent_league.ratings.bradley_terry import BradleyTerryFit, fit_bradley_terry
from agent_league.ratings.luck import LuckTest
from agent_league.ratings.results import Floats, Ints, ResultCells, ResultTable, add_by_index, count_loops
from agent_league.ratings.statistics import binomial_tail, simulate_p_value
from agent_league.ratings.tables import NO_NAMES

LEVEL = 0.05
SAMPLES = 499
PAIR_STEPS = 25
LARGEST_STEP = 2.0
TINY = 1e-12


@dataclass(frozen=True, slots=True)
class RatedPairScore:
    """What a player scored against another, beside what the ratings expect."""

    player_id: str
    opponent_id: str
    points: float
    games: int
    expected: float
    """The points that the ratings expect."""


@dataclass(frozen=True, slots=True)
class Cycle:
    """Three players each of whom did better against the next, the last against the first."""

    scores: tuple[RatedPairScore, RatedPairScore, RatedPairScore]
    p_value: float
    """An upper bound of the probability that a cycle of this strength shows up anywhere though there is none."""


@dataclass(frozen=True, slots=True)
class Transitivity:
    """The answer whether one number a player describes the results."""

    deviance: float
    p_value: float
    """How probable so large a deviance is if one number does describe them."""
    level: float
    """A smaller p-value says that one number doesn't."""
    cycle: Cycle | None
    """The strongest cycle in the results, by chance or not."""
    worst_pair: RatedPairScore | None
    """The pair whose results are farthest from what the ratings expect."""

    @property
    def is_described_by_ratings(self) -> bool:
        return self.p_value > self.level

    @property
    def goes_in_circles(self) -> bool:
        """Whether one number doesn't describe the results and their strongest cycle is not chance."""
        return not self.is_described_by_ratings and self.cycle is not None and self.cycle.p_value <= self.level

    def describe(self, names: Mapping[str, str] = NO_NAMES) -> str:
        """Say in a sentence or two whether the ratings can be trusted. Players missing in `names` have their ids."""

        def name(player_id: str) -> str:
            return names.get(player_id, player_id)

        if self.is_described_by_ratings or self.worst_pair is None:
            return f"One number a player describes these results (p = {self.p_value:.2g})."
        if self.goes_in_circles and self.cycle:
            chain = ", ".join(
                f"{name(one.player_id)} beats {name(one.opponent_id)} ({_words(one)})" for one in self.cycle.scores
            )
            return f"The results go in circles: {chain}. One number can't rank them; the ratings mislead."
        worst = self.worst_pair
        sentence = (
            f"One number a player doesn't describe these results (p = {self.p_value:.2g}):"
            f" {name(worst.player_id)} scored {_words(worst)} against {name(worst.opponent_id)}"
            f" where the ratings expect {worst.expected:.1f}."
        )
        if self.cycle:
            one, two, three = (name(score.player_id) for score in self.cycle.scores)
            sentence += f" {one} did better than {two}, {two} than {three}, and {three} than {one}."
        return sentence

    def to_json(self) -> dict[str, Any]:
        """Return the answer as JSON."""
        return {
            **asdict(self),
            "is_described_by_ratings": self.is_described_by_ratings,
            "goes_in_circles": self.goes_in_circles,
            "sentence": self.describe(),
        }


def check_transitivity(
    results: ResultTable,
    *,
    seats_differ: Collection[str] = (),
    level: float = LEVEL,
    samples: int = SAMPLES,
    seed: int = 0,
) -> Transitivity:
    """Test whether one number a player describes the results. The same seed gives the same answer.

    Without a loop among who met whom, there is nothing that could contradict ratings, and the p-value is 1. Of players
    who were paired by their results, as in a bracket, the p-value would be too small: don't test these.
    """
    fit = fit_bradley_terry(results, seats_differ=seats_differ)
    pairs = _Pairs.from_cells(fit.cells, len(results.players))
    if not count_loops(results):
        samples = 0
    deviance = _compute_deviance(fit, pairs)
    source, chance = _remove_noise(fit), np.random.default_rng(seed)
    dispersion = fit.problem.estimate_dispersion(fit.chances)

    def simulate_deviance() -> float:
        again = replace(fit.problem, cells=_simulate_cells(source, dispersion, chance)).fit(fit.values)
        return _compute_deviance(again, pairs)

    return Transitivity(
        deviance=deviance,
        p_value=simulate_p_value(deviance, simulate_deviance, samples) if samples else 1.0,
        level=level,
        cycle=_find_strongest_cycle(fit, pairs, results.players),
        worst_pair=_find_worst_pair(fit, pairs, results.players),
    )


def is_luck_credible(luck: LuckTest | None, transitivity: Transitivity | None) -> bool:
    """Whether a test for luck can be believed: points are even in circles, too, and not by luck."""
    return luck is None or not luck.is_luck or transitivity is None or transitivity.is_described_by_ratings


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    """The pairs of players that met, whatever their seats and games."""

    one: Ints
    other: Ints
    """The players of each pair; the first has the lower index."""
    of_cell: Ints
    """The pair of each cell."""
    sign: Floats
    """1 if player A of a cell is the first of its pair, else -1."""

    @classmethod
    def from_cells(cls, cells: ResultCells, players: int) -> "_Pairs":
        low, high = np.minimum(cells.player_a, cells.player_b), np.maximum(cells.player_a, cells.player_b)
        keys, of_cell = np.unique(low * players + high, return_inverse=True)
        return cls(keys // players, keys % players, of_cell, np.where(cells.player_a == low, 1.0, -1.0))

    def add_up(self, values: Floats) -> Floats:
        """Add up values of cells by pair."""
        return add_by_index(self.of_cell, values, len(self.one))

    def add_up_points(self, cells: ResultCells, points: Floats) -> Floats:
        """Add up points of player A in each cell to those of each pair's first player."""
        return self.add_up(np.where(self.sign > 0, points, cells.played - points))


def _compute_deviance(fit: BradleyTerryFit, pairs: _Pairs) -> float:
    """Compute twice the gain in log likelihood when every pair gets a difference of its own."""
    cells = fit.cells
    fitted = _log_odds(fit.chances)
    if len(pairs.one) == len(cells.played):
        apart = _log_odds(cells.points / cells.played)
    else:
        apart = _fit_pairs(fit, pairs, fitted)
    gain = cells.points * (apart - fitted) - cells.played * (np.logaddexp(0.0, apart) - np.logaddexp(0.0, fitted))
    return max(0.0, float(2 * (fit.problem.weight * gain).sum()))


def _log_odds(chances: Floats) -> Floats:
    kept: Floats = np.clip(chances, TINY, 1 - TINY)
    return np.log(kept) - np.log1p(-kept)


def _fit_pairs(fit: BradleyTerryFit, pairs: _Pairs, odds: Floats) -> Floats:
    """Shift the log odds of each pair's cells together to where they are the most likely, by Newton's method."""
    cells, weight = fit.cells, fit.problem.weight
    for _ in range(PAIR_STEPS):
        chances = 0.5 * (1 + np.tanh(odds / 2))
        slope = pairs.add_up(weight * pairs.sign * (cells.points - cells.played * chances))
        curve = pairs.add_up(weight * cells.played * chances * (1 - chances))
        step = np.clip(slope / np.maximum(curve, TINY), -LARGEST_STEP, LARGEST_STEP)
        odds = odds + pairs.sign * step[pairs.of_cell]
        if float((slope * step).sum()) < 1e-7:
            break
    return odds


def _remove_noise(fit: BradleyTerryFit) -> BradleyTerryFit:
    """Draw the ratings together to the spread that the true ones probably have.

    Fitted ratings are farther apart by the noise in them, and the more uneven players are, the smaller a deviance of
    few matches gets by chance: simulated from fitted ratings, the test would see what isn't there.
    """
    players = fit.problem.players
    noise = float(np.trace(fit.estimate_covariance()[:players, :players]))
    spread = float(fit.values[:players] @ fit.values[:players])
    values = fit.values.copy()
    values[:players] *= sqrt(max(0.0, 1 - noise / max(spread, TINY)))
    return replace(fit, values=values, chances=fit.problem.find_chances(values))


def _simulate_cells(fit: BradleyTerryFit, dispersion: Floats, chance: np.random.Generator) -> ResultCells:
    """Play all matches again with the chances of the fit, and draws about as frequent as they were in each cell."""
    cells, chances = fit.cells, fit.chances
    drawn_chance = 4 * chances * (1 - chances) * (1 - dispersion)
    drawn_chance = np.minimum(drawn_chance, 2 * np.minimum(chances, 1 - chances))
    played = np.rint(cells.played).astype(np.int64)
    drawn = chance.binomial(played, drawn_chance)
    won = (chances - drawn_chance / 2) / np.maximum(1 - drawn_chance, TINY)
    wins = chance.binomial(played - drawn, np.clip(won, 0.0, 1.0))
    return replace(cells, points=wins + drawn / 2, halved=drawn / 4)


def _find_strongest_cycle(fit: BradleyTerryFit, pairs: _Pairs, players: tuple[str, ...]) -> Cycle | None:
    """Find the cycle of three whose weakest link is the strongest, in standard errors from an even score."""
    cells = fit.cells
    even = _chances_of_equals(fit)
    points = pairs.add_up_points(cells, cells.points)
    expected = pairs.add_up_points(cells, cells.played * even)
    variance = pairs.add_up(np.maximum(cells.played * even * (1 - even) - cells.halved, 0.0))
    ahead = (points - expected) / np.sqrt(np.maximum(variance, 0.25))
    strength = np.zeros((len(players), len(players)))
    strength[pairs.one, pairs.other] = np.maximum(ahead, 0.0)
    strength[pairs.other, pairs.one] = np.maximum(-ahead, 0.0)
    best, found = 0.0, (0, 0, 0)
    for one in range(len(players)):
        links = np.minimum(strength, strength[:, one])  # from `two` to `three` and on to `one`
        weakest = np.minimum(strength[one], links.max(axis=1))
        two = int(weakest.argmax())
        if weakest[two] > best + 1e-9:
            best, found = float(weakest[two]), (one, two, int(links[two].argmax()))
    if not best:
        return None
    one, two, three = found
    index = {(int(a), int(b)): number for number, (a, b) in enumerate(zip(pairs.one, pairs.other, strict=True))}
    links_found = [(one, two), (two, three), (three, one)]
    numbers = [index[min(link), max(link)] for link in links_found]
    chance = max(
        _bound_link_chance(fit, pairs, even, number, first=link[0] < link[1])
        for number, link in zip(numbers, links_found, strict=True)
    )
    first, second, third = (
        _score_pair(fit, pairs, players, number, first=link[0] < link[1])
        for number, link in zip(numbers, links_found, strict=True)
    )
    # A false cycle needs a link against the true order, and there are as many as pairs.
    return Cycle((first, second, third), min(1.0, chance * len(pairs.one)))


def _bound_link_chance(fit: BradleyTerryFit, pairs: _Pairs, even: Floats, number: int, *, first: bool) -> float:
    """Bound the probability that a player who isn't better than the other wins so many of their decided matches."""
    cells = fit.cells
    here = pairs.of_cell == number
    own = (pairs.sign[here] > 0) == first
    drawn = 4 * cells.halved[here]
    decided = cells.played[here] - drawn
    wins = np.where(own, cells.points[here], cells.played[here] - cells.points[here]) - drawn / 2
    chance = np.where(own, even[here], 1 - even[here])
    total = float(decided.sum())
    if total < 0.5:
        return 1.0
    return binomial_tail(round(float(wins.sum())), round(total), float((chance * decided).sum() / total))


def _chances_of_equals(fit: BradleyTerryFit) -> Floats:
    """Return for each cell the chance of player A if both were equally strong: what its seat alone makes."""
    seat = np.append(fit.values[fit.problem.players :], 0.0)[fit.problem.seat]
    return 0.5 * (1 + np.tanh(seat / 2))


def _find_worst_pair(fit: BradleyTerryFit, pairs: _Pairs, players: tuple[str, ...]) -> RatedPairScore | None:
    """Find the pair farthest from expectation in standard errors, told of the player that did better than expected."""
    if not len(pairs.one):
        return None
    cells = fit.cells
    surplus = pairs.add_up_points(cells, cells.points) - pairs.add_up_points(cells, cells.played * fit.chances)
    variance = pairs.add_up(cells.played * fit.chances * (1 - fit.chances))
    number = int((np.abs(surplus) / np.sqrt(np.maximum(variance, 0.25))).argmax())
    return _score_pair(fit, pairs, players, number, first=bool(surplus[number] >= 0))


def _score_pair(
    fit: BradleyTerryFit, pairs: _Pairs, players: tuple[str, ...], number: int, *, first: bool
) -> RatedPairScore:
    """Tell the score of one pair from the view of its first player or of its other."""
    cells = fit.cells
    games = float(pairs.add_up(cells.played)[number])
    points = float(pairs.add_up_points(cells, cells.points)[number])
    expected = float(pairs.add_up_points(cells, cells.played * fit.chances)[number])
    one, other = players[pairs.one[number]], players[pairs.other[number]]
    if first:
        return RatedPairScore(one, other, points, round(games), expected)
    return RatedPairScore(other, one, games - points, round(games), games - expected)


def _words(score: RatedPairScore) -> str:
    return f"{score.points:g} of {score.games}"
