"""One joint Bradley-Terry fit over all results: ratings in Elo, their intervals, and who is really ahead of whom.

The log odds that player A beats player B are the difference of their ratings, plus the advantage of the first seat
in games whose seats differ; a draw is half a win. A normal prior with mean 0 on each rating keeps undefeated players
finite. Each game has the same weight, however many of its matches were played. The league's mean is 0 rather than
1500: ratings of two leagues without common players can't be compared, and an interval is that of the distance from
the mean.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, inf, isfinite, log, sqrt
from statistics import NormalDist

import numpy as np

from agent_league.ratings.results import (
    Flags,
    Floats,
    Ints,
    ResultCells,
    ResultTable,
    add_by_index,
    add_up_results,
    find_connected_groups,
)
from agent_league.ratings.statistics import LARGE_SAMPLE, NORMAL_QUANTILE, student_quantile
from agent_league.ratings.tables import Rating, RatingTable, SeatAdvantage, TechnicalLossRatings

ELO_PER_UNIT = 400 / log(10)
"""A rating in natural log odds times this is one in Elo."""
PRIOR_ELO = 600.0
"""Standard deviation of the prior on each rating and seat advantage."""
PRIOR_SPREADS = (25.0, 50.0, 100.0, 200.0, 300.0, 400.0, 600.0, 800.0)
"""Those that are tried if the spread is unknown."""
MAX_GAMES_TO_SEPARATE = 1_000_000
MAX_STEPS = 100
DECIDED = 0.25
"""The variance of a match between equals that somebody wins."""
SHRINKAGE = 2 * DECIDED
"""How much what is known of the players counts for how often a pair draws."""
TINY = 1e-12
STEP_TOLERANCE = 1e-7
"""Newton's method ends with a step below this; its error is then about the square of it."""


@dataclass(frozen=True, slots=True)
class SpreadFit:
    """Ratings, and the standard deviation that the true ones probably have, in Elo."""

    table: RatingTable
    spread: float


def fit_ratings(
    results: ResultTable, *, seats_differ: Collection[str] = (), prior_elo: float = PRIOR_ELO
) -> RatingTable:
    """Rate all players. `seats_differ` names the games whose first seat may be worth something.

    `prior_elo` may be infinite; then ValueError if the ratings aren't finite.
    """
    if not results.players:
        return RatingTable((), 0)
    fit = fit_bradley_terry(results, seats_differ=seats_differ, prior_elo=prior_elo)
    return make_rating_table(results, fit, fit.estimate_covariance(), NORMAL_QUANTILE)


def compare_technical_losses(
    results: ResultTable, *, seats_differ: Collection[str] = (), prior_elo: float = PRIOR_ELO
) -> TechnicalLossRatings:
    """Rate all players by all results and, if there are technical losses, once more without them."""
    tables = [
        fit_ratings(one, seats_differ=seats_differ, prior_elo=prior_elo)
        for one in ([results, results.without_technical_losses()] if results.has_technical_losses else [results])
    ]
    return TechnicalLossRatings(tables[0], tables[1] if len(tables) == 2 else None)


def fit_unknown_spread(results: ResultTable, *, seats_differ: Collection[str] = ()) -> SpreadFit:
    """Rate players who were paired by their results, as in a Swiss tournament or a bracket.

    There winners meet winners, so that luck alone drives fitted ratings apart if the prior allows for it: of coin flips
    a weak one holds the truth in 65% to 80% of its intervals. So the spread of the ratings is estimated as well: fits
    with priors of several spreads are averaged by how probable the results are under each.
    """
    if not results.players:
        return SpreadFit(RatingTable((), 0), 0.0)
    fits: list[BradleyTerryFit] = []
    for spread in PRIOR_SPREADS:
        start = fits[-1].values if fits else None
        fits.append(fit_bradley_terry(results, seats_differ=seats_differ, prior_elo=spread, start=start))
    evidence = np.array([fit.problem.estimate_evidence(fit) for fit in fits])
    probable = np.exp(evidence - evidence.max())
    spreads = np.array(PRIOR_SPREADS)
    weights = probable * spreads / (probable @ spreads)  # any spread is as probable beforehand, and steps get longer
    values = sum(weight * fit.values for weight, fit in zip(weights, fits, strict=True))
    covariance = sum(
        weight * (fit.estimate_covariance() + np.outer(fit.values - values, fit.values - values))
        for weight, fit in zip(weights, fits, strict=True)
    )
    table = make_rating_table(results, replace(fits[0], values=values), covariance, NORMAL_QUANTILE)
    return SpreadFit(table, float(probable @ spreads / probable.sum()))


def bootstrap_ratings(
    results: ResultTable,
    *,
    seats_differ: Collection[str] = (),
    prior_elo: float = PRIOR_ELO,
    samples: int = 200,
    seed: int = 0,
) -> RatingTable:
    """Rate players whose results depend on each other within a series: those of players that learn.

    Each sample gives every series a random weight of mean 1 and variance 1 and fits again; ratings vary from sample
    to sample as they would from one set of series to another. Intervals are Student's, with the smallest number of
    series that any player took part in. ValueError if that is below 2. If ratings vary less than by games that don't
    depend on each other, as those of players that always play alike, that of such games is taken. The same seed gives
    the same table.
    """
    names, series = np.unique(results.series, return_inverse=True)
    least = _count_series(results, series)
    if least < 2:
        raise ValueError("a bootstrap needs at least two series of each player")
    fit = fit_bradley_terry(results, seats_differ=seats_differ, prior_elo=prior_elo)
    chance = np.random.default_rng(seed)
    drawn = np.empty((samples, len(fit.values)))
    for sample in range(samples):
        weights = chance.standard_exponential(len(names))
        varied = fit_bradley_terry(
            results.weighted(weights[series]), seats_differ=seats_differ, prior_elo=prior_elo, start=fit.values
        )
        drawn[sample] = varied.values
    quantile = NORMAL_QUANTILE if least > LARGE_SAMPLE else student_quantile(least - 1)
    covariance, independent = np.atleast_2d(np.cov(drawn, rowvar=False)), fit.estimate_covariance()
    if np.trace(covariance) < np.trace(independent):
        return make_rating_table(results, fit, independent, NORMAL_QUANTILE)
    return make_rating_table(results, fit, covariance, quantile)


@dataclass(frozen=True, slots=True, eq=False)
class BradleyTerryFit:
    """Estimates in natural log odds: first the ratings, whose mean is 0, then the seat advantages."""

    problem: "LikelihoodProblem"
    values: Floats
    chances: Floats
    """The probability that player A wins, by cell."""

    @property
    def cells(self) -> ResultCells:
        return self.problem.cells

    def estimate_covariance(self) -> Floats:
        """Estimate the covariance of the ratings, as differences from their mean, and of the seat advantages.

        It allows for draws, which vary less than decided matches, and for the weights of games.
        """
        return self.problem.estimate_covariance(self.chances)


def fit_bradley_terry(
    results: ResultTable,
    *,
    seats_differ: Collection[str] = (),
    prior_elo: float = PRIOR_ELO,
    start: Floats | None = None,
) -> BradleyTerryFit:
    """Find the most likely ratings by Newton's method. Ratings near the solution to `start` with save time."""
    has_seats = np.array([game in seats_differ for game in results.games], dtype=np.bool_)
    problem = LikelihoodProblem.from_cells(
        add_up_results(results, has_seats), len(results.players), has_seats, prior_elo
    )
    return problem.fit(np.zeros(problem.players + problem.seats) if start is None else start)


@dataclass(frozen=True, slots=True, eq=False)
class LikelihoodProblem:
    """The likelihood of ratings and seat advantages under the results, together with the prior."""

    cells: ResultCells
    players: int
    seat_games: tuple[int, ...]
    """The games that have a seat advantage, by index."""
    seat: Ints
    """By cell, which of the seat advantages it has, counted from 0; their number for none."""
    weight: Floats
    """By cell."""
    precision: Floats
    """That of the prior, by value."""

    @classmethod
    def from_cells(cls, cells: ResultCells, players: int, has_seats: Flags, prior_elo: float) -> "LikelihoodProblem":
        seat_games = tuple(int(game) for game in np.flatnonzero(has_seats))
        number = np.where(has_seats, np.cumsum(has_seats) - 1, len(seat_games))
        played = add_by_index(cells.game, cells.played, len(has_seats))
        share = played.sum() / max(1, np.count_nonzero(played))
        weight = share / np.where(played > 0, played, 1.0)
        precision = np.full(players + len(seat_games), (ELO_PER_UNIT / prior_elo) ** 2)
        precision[players:] = (ELO_PER_UNIT / max(prior_elo, PRIOR_ELO)) ** 2
        return cls(cells, players, seat_games, number[cells.game], weight[cells.game], precision)

    @property
    def seats(self) -> int:
        return len(self.seat_games)

    def fit(self, values: Floats) -> BradleyTerryFit:
        """Find the values of greatest likelihood from these on. ValueError if they aren't finite."""
        odds, reached = self._evaluate(values)
        for _ in range(MAX_STEPS):
            chances = _logistic(odds)
            try:
                step = np.linalg.solve(self._curvature(self._information(chances)), self._gradient(values, chances))
            except np.linalg.LinAlgError:
                break
            step[: self.players] -= step[: self.players].mean()
            size = float(np.abs(step).max(initial=0.0))
            while True:
                odds, found = self._evaluate(values + step)
                if found >= reached - 1e-9 * abs(reached) or size < STEP_TOLERANCE:
                    break
                step, size = step / 2, size / 2
            values, reached = values + step, found
            if size < STEP_TOLERANCE:
                return BradleyTerryFit(self, values, _logistic(odds))
            if not self.precision.any() and float(np.abs(values).max()) > 30:
                break
        raise ValueError("these results have no finite ratings: some players need a prior")

    def estimate_covariance(self, chances: Floats) -> Floats:
        """Estimate the covariance at the solution, whose chances these are."""
        information = self._information(chances)
        inverse = np.asarray(np.linalg.inv(self._curvature(information)), dtype=np.float64)
        scale = self.weight * self.estimate_dispersion(chances)
        if not np.allclose(scale, 1.0, rtol=0, atol=1e-12):
            inverse = inverse @ self._curvature(information * scale) @ inverse
        inverse[: self.players] -= inverse[: self.players].mean(axis=0)  # the mean varies with nothing else
        return inverse

    def estimate_evidence(self, fit: BradleyTerryFit) -> float:
        """Estimate how probable the results are under the prior, as a logarithm, after Laplace."""
        matrix = self._curvature(self._information(fit.chances))
        held = float(matrix[: self.players, : self.players].sum()) / self.players  # the mean's; the prior's is its own
        determinant = float(np.linalg.slogdet(matrix)[1]) - log(held) + log(self.precision[0])
        return self._evaluate(fit.values)[1] + float(np.log(self.precision).sum()) / 2 - determinant / 2

    def find_chances(self, values: Floats) -> Floats:
        """Return the chance of player A in each cell under these values."""
        return _logistic(self._evaluate(values)[0])

    def _evaluate(self, values: Floats) -> tuple[Floats, float]:
        """Return the log odds of player A in each cell, and the logarithm of the likelihood."""
        cells = self.cells
        seat = np.append(values[self.players :], 0.0)
        odds = values[cells.player_a] - values[cells.player_b] + seat[self.seat]
        likelihood = self.weight * (cells.points * odds - cells.played * np.logaddexp(0.0, odds))
        return odds, float(likelihood.sum() - (self.precision * values) @ values / 2)

    def _information(self, chances: Floats) -> Floats:
        return self.weight * self.cells.played * chances * (1 - chances)

    def _gradient(self, values: Floats, chances: Floats) -> Floats:
        cells = self.cells
        residual = self.weight * (cells.points - cells.played * chances)
        ratings = add_by_index(cells.player_a, residual, self.players)
        ratings -= add_by_index(cells.player_b, residual, self.players)
        seats = add_by_index(self.seat, residual, self.seats + 1)[: self.seats]
        return np.concatenate([ratings, seats]) - self.precision * values

    def _curvature(self, information: Floats) -> Floats:
        """Return the negative second derivatives, with a term that holds the ratings' mean, which is free, at 0."""
        cells, players, size = self.cells, self.players, self.players + self.seats
        pairs = add_by_index(cells.player_a * players + cells.player_b, information, players * players)
        pairs = pairs.reshape(players, players)
        pairs = pairs + pairs.T
        matrix = np.empty((size, size))
        matrix[:players, :players] = -pairs
        matrix[:players, players:] = self._seat_columns(information)
        matrix[players:, :players] = matrix[:players, players:].T
        matrix[players:, players:] = 0.0
        diagonal = np.concatenate([pairs.sum(axis=1), add_by_index(self.seat, information, self.seats + 1)[:-1]])
        matrix[np.arange(size), np.arange(size)] += diagonal + self.precision
        matrix[:players, :players] += max(1.0, float(diagonal[:players].mean())) / players
        return matrix

    def _seat_columns(self, information: Floats) -> Floats:
        """Return the mixed second derivatives of ratings and seat advantages."""
        shape = (self.seats + 1, self.players)
        key = self.seat * self.players
        mixed = add_by_index(key + self.cells.player_a, information, shape[0] * shape[1])
        mixed -= add_by_index(key + self.cells.player_b, information, shape[0] * shape[1])
        return mixed.reshape(shape)[:-1].T

    def estimate_dispersion(self, chances: Floats) -> Floats:
        """Estimate for each cell the variance of its points as a share of what it would be without draws.

        Some pairs draw more often than others, so a cell's own matches count, and as if they were a few more, those of
        the one of its players that draws less often; for players, those of the whole game. Over a game, no less is
        assumed than if one match more was decided: drawn matches alone don't make an estimate certain.
        """
        cells, games = self.cells, int(self.cells.game.max(initial=0)) + 1
        expected = cells.played * chances * (1 - chances)
        varied: Floats = np.maximum(expected - cells.halved, 0.0)
        total = add_by_index(cells.game, expected, games)
        known = np.maximum(total - add_by_index(cells.game, cells.halved, games), 0.0)
        in_game = (known + DECIDED) / (total + DECIDED)
        one, other = (cells.game * self.players + player for player in (cells.player_a, cells.player_b))
        size = games * self.players
        own = add_by_index(one, varied, size) + add_by_index(other, varied, size)
        most = add_by_index(one, expected, size) + add_by_index(other, expected, size)
        of_player = (own + SHRINKAGE * np.repeat(in_game, self.players)) / (most + SHRINKAGE)
        likely = np.maximum(of_player[one], of_player[other])
        found = (varied + SHRINKAGE * likely) / (expected + SHRINKAGE)
        least = in_game * total / np.maximum(add_by_index(cells.game, found * expected, games), TINY)
        dispersion: Floats = np.minimum(found * np.maximum(least, 1.0)[cells.game], 1.0)
        return dispersion


def make_rating_table(results: ResultTable, fit: BradleyTerryFit, covariance: Floats, quantile: float) -> RatingTable:
    """Rank the players of a fit; an interval is `quantile` standard errors to each side.

    Players that no chain of opponents links aren't compared: each group has a mean of 0, and the groups follow one
    after another, the largest first.
    """
    players = len(results.players)
    place_of = {player: index for index, player in enumerate(results.players)}
    linked = [[place_of[player] for player in group] for group in find_connected_groups(results)]
    values = np.round(fit.values * ELO_PER_UNIT, 8) + 0.0  # equal results give equal ratings, and none is -0
    covariance = covariance * ELO_PER_UNIT**2
    if len(linked) > 1:
        values, covariance = _centre_groups(linked, values, covariance)
    errors = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
    games = results.count_games()
    group_of = {one: number for number, group in enumerate(linked) for one in group}
    order = sorted(range(players), key=lambda one: (group_of[one], -values[one], results.players[one]))
    groups = _group_tied_players(order, group_of, values, covariance, quantile)
    ratings = []
    for place, one in enumerate(order):
        above: float | None = None
        more: int | None = None
        if place + 1 < players and group_of[order[place + 1]] == group_of[one]:
            difference, error = _compare(one, order[place + 1], values, covariance)
            above = NormalDist().cdf(difference / error) if error > 0 else 0.5
            more = _count_games_to_separate(difference, error, int(games[one]), quantile)
        half = quantile * float(errors[one])
        elo = float(values[one])
        ratings.append(
            Rating(results.players[one], elo, elo - half, elo + half, int(games[one]), above, groups[place], more)
        )
    seats = [
        SeatAdvantage(
            results.games[game],
            float(values[index]),
            float(values[index] - quantile * errors[index]),
            float(values[index] + quantile * errors[index]),
        )
        for index, game in enumerate(fit.problem.seat_games, start=players)
    ]
    return RatingTable(tuple(ratings), int(games.sum()) // 2, tuple(seats), len(linked) < 2)


def _centre_groups(groups: Sequence[Sequence[int]], values: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """Make ratings the distances from the mean of their group; who has no result keeps the prior's uncertainty."""
    values, covariance = values.copy(), covariance.copy()
    for group in groups:
        if len(group) > 1:
            values[group] -= values[group].mean()
            covariance[group] -= covariance[group].mean(axis=0)
            covariance[:, group] -= covariance[:, group].mean(axis=1, keepdims=True)
    return np.round(values, 8) + 0.0, covariance


def _compare(one: int, other: int, values: Floats, covariance: Floats) -> tuple[float, float]:
    """Return how much better `one` is than `other`, and the standard error of that."""
    variance = covariance[one, one] + covariance[other, other] - 2 * covariance[one, other]
    return float(values[one] - values[other]), sqrt(max(0.0, float(variance)))


def _group_tied_players(
    order: list[int], group_of: Mapping[int, int], values: Floats, covariance: Floats, quantile: float
) -> list[int]:
    """Number the groups of tied players, as `Rating.tied_group` tells, in the order of ranks."""
    groups: list[int] = []
    leader = -1
    for one in order:
        is_linked = leader >= 0 and group_of[leader] == group_of[one]
        if is_linked:
            difference, error = _compare(leader, one, values, covariance)
        if not is_linked or difference > quantile * error:
            leader = one
            groups.append(groups[-1] + 1 if groups else 1)
        else:
            groups.append(groups[-1])
    return groups


def _count_games_to_separate(difference: float, error: float, games: int, quantile: float) -> int | None:
    """Count the further games until a difference is significant: an error shrinks with the root of the games."""
    if difference > quantile * error:
        return 0
    needed = games * ((quantile * error / difference) ** 2 - 1) if difference > 0 else inf
    if not games or not isfinite(needed) or needed >= MAX_GAMES_TO_SEPARATE:
        return None
    return max(1, ceil(needed))


def _count_series(results: ResultTable, series: Ints) -> int:
    """Count the series of the player that took part in the fewest."""
    players = len(results.players)
    rows = results.count > 0
    both = np.concatenate([results.player_a[rows], results.player_b[rows]])
    pairs = np.unique(np.concatenate([series[rows], series[rows]]) * players + both)
    return int(np.bincount(pairs % players, minlength=players).min()) if players else 0


def _logistic(odds: Floats) -> Floats:
    return 0.5 * (1 + np.tanh(odds / 2))
