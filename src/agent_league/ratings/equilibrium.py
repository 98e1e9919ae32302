"""Two rankings for games that go in circles: alpha-rank and Nash averaging, from who scores how much against whom.

Both spread a share of 1 over the players. Alpha-rank's is the time that a population spends with each player if it now
and then takes up another one that does better against it. Nash averaging's is the most even mix of players that nobody
scores more than half against; copies of a player share its part and change nothing else.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import log
from typing import Any

import numpy as np

from agent_league.ratings.results import Flags, Floats, ResultTable, add_by_index

POPULATION = 50
LOG_NEVER = -1e4
"""The logarithm of how often a population takes up what does worse, in the limit of strong selection."""
SMALLEST_GAP = 1e-13
"""An equilibrium is found when nobody scores more than this above half against it."""
NEARLY_ZERO = 1e-9
MAX_STEPS = 200


@dataclass(frozen=True, slots=True)
class EquilibriumShare:
    """A player's part of an equilibrium."""

    player_id: str
    share: float
    score: float
    """What the player scores a match against opponents chosen by these shares."""


@dataclass(frozen=True, slots=True)
class Equilibrium:
    """The players with their shares, best first."""

    shares: tuple[EquilibriumShare, ...]
    gap: float
    """How much more than half the best of all players scores against the mix; 0 says nobody can do better."""

    def to_json(self) -> dict[str, Any]:
        """Return the ranking as JSON."""
        return asdict(self)


def compute_win_matrix(results: ResultTable) -> Floats:
    """Compute what each player (row) scored a match against each other; 0.5 if they never met.

    Each game in which they met counts the same.
    """
    players = len(results.players)
    total, met = np.zeros((players, players)), np.zeros((players, players))
    for game in range(len(results.games)):
        here = results.game == game
        count, points = results.count[here], results.count[here] * results.score[here]
        key = results.player_a[here] * players + results.player_b[here]
        first = add_by_index(key, points, players * players).reshape(players, players)
        second = add_by_index(key, count - points, players * players).reshape(players, players).T
        played = add_by_index(key, count, players * players).reshape(players, players)
        played = played + played.T
        total += (first + second) / np.where(played > 0, played, 1.0)
        met += played > 0
    return np.where(met > 0, total / np.maximum(met, 1.0), 0.5)


def rank_by_alpha_rank(
    players: Sequence[str], wins: Floats, *, alpha: float | None = None, population: int = POPULATION
) -> Equilibrium:
    """Rank players by the time a population spends with each.

    `wins` is what each (row) scores a match against each other, `alpha` the strength of selection. None is its limit:
    a population takes up every player that does better against the present one, and hardly ever another.
    """
    advantage = _find_advantage(players, wins)
    gain = -2 * advantage  # of the newcomer (column) over the present player (row)
    if alpha is None:
        rates = np.where(gain > NEARLY_ZERO, 0.0, np.where(gain < -NEARLY_ZERO, LOG_NEVER, -log(population)))
    else:
        rates = _compute_log_fixation(alpha * gain, population)
    return _make_equilibrium(players, advantage, _find_stationary_shares(rates), by_share=True)


def rank_by_nash_averaging(players: Sequence[str], wins: Floats) -> Equilibrium:
    """Rank players by their score against the Nash equilibrium of greatest entropy, then by their share of it.

    `wins` is what each player (row) scores a match against each other.
    """
    advantage = _find_advantage(players, wins)
    shares, slack = _follow_central_path(advantage)
    return _make_equilibrium(players, advantage, _spread_evenly(advantage, shares, shares > slack), by_share=False)


def _find_advantage(players: Sequence[str], wins: Floats) -> Floats:
    """Return how much more than half each player scores against each other: an antisymmetric matrix."""
    if wins.shape != (len(players), len(players)) or not len(players):
        raise ValueError(f"a win matrix of {len(players)} players has as many rows and columns, and at least one")
    if not np.isfinite(wins).all():
        raise ValueError("a win matrix holds numbers alone")
    return np.asarray((wins - wins.T) / 2, dtype=np.float64)


def _make_equilibrium(players: Sequence[str], advantage: Floats, shares: Floats, *, by_share: bool) -> Equilibrium:
    above_half = advantage @ shares
    rows = [
        EquilibriumShare(player, float(share), 0.5 + float(above))
        for player, share, above in zip(players, shares, above_half, strict=True)
    ]
    rows.sort(key=lambda row: (0.0 if by_share else -round(row.score, 9), -round(row.share, 9), row.player_id))
    return Equilibrium(tuple(rows), max(0.0, float(above_half.max())))


def _compute_log_fixation(gain: Floats, population: int) -> Floats:
    """Compute the logarithm of the probability that one newcomer with this gain takes over a whole population."""
    size = np.maximum(np.abs(gain), 1e-12)
    taken = np.log(-np.expm1(-size)) - np.log(-np.expm1(-population * size))
    return np.asarray(np.where(gain < 0, taken - (population - 1) * size, taken), dtype=np.float64)


def _find_stationary_shares(log_rates: Floats) -> Floats:
    """Find the stationary distribution of a Markov chain from the logarithms of its rates between states.

    States are eliminated one by one (Grassmann, Taksar and Heyman). Nothing is subtracted and all stays a logarithm,
    so that rates may differ by any number of orders of magnitude.
    """
    rates = log_rates.copy()
    states = len(rates)
    for state in range(states - 1, 0, -1):
        leaving = np.logaddexp.reduce(rates[state, :state])
        rates[:state, state] -= leaving
        detour = rates[:state, state, None] + rates[None, state, :state]
        rates[:state, :state] = np.logaddexp(rates[:state, :state], detour)
    shares = np.zeros(states)
    for state in range(1, states):
        shares[state] = np.logaddexp.reduce(shares[:state] + rates[:state, state])
    shares = np.exp(shares - shares.max())
    return np.asarray(shares / shares.sum(), dtype=np.float64)


def _follow_central_path(advantage: Floats) -> tuple[Floats, Floats]:
    """Find an equilibrium in the middle of all, and by how much each player scores less than half against it.

    An interior point method: shares and slacks stay positive, `gap` is the sum of their products, and nobody scores
    more than `gap` above half. In the end each player has either a share or a slack that isn't nearly 0.
    """
    players = len(advantage)
    shares = np.full(players, 1 / players)
    gap = 2 * float((advantage @ shares).max()) + 0.1
    slack = gap - advantage @ shares
    for _ in range(MAX_STEPS):
        if gap < SMALLEST_GAP:
            break
        change = -0.8 * gap
        target = (gap + change) / players
        matrix = np.diag(slack) - shares[:, None] * advantage
        step = np.linalg.solve(matrix, target - shares * slack - shares * change)
        slack_step = change - advantage @ step
        length = min(1.0, 0.9 * _longest_step(shares, step), 0.9 * _longest_step(slack, slack_step))
        shares = shares + length * step
        shares = shares / shares.sum()
        gap += length * change
        slack = np.maximum(gap - advantage @ shares, gap * NEARLY_ZERO)
    return shares, slack


def _longest_step(values: Floats, step: Floats) -> float:
    """Return how far a step may go before one of the values, which are positive, gets to 0."""
    falling = step < 0
    return float((values[falling] / -step[falling]).min(initial=np.inf))


def _spread_evenly(advantage: Floats, shares: Floats, used: Flags) -> Floats:
    """Find the equilibrium of greatest entropy, from one in the middle of all and the players that any of them uses.

    Among the mixes of these players under which all of them score half, the greatest entropy is found by Newton's
    method; a barrier, lowered step by step, keeps the others from scoring more than half.
    """
    among, others = advantage[np.ix_(used, used)], advantage[np.ix_(~used, used)]
    fixed = np.vstack([among, np.ones(int(used.sum()))])
    _, sizes, directions = np.linalg.svd(fixed)
    free = directions[int((sizes > NEARLY_ZERO).sum()) :].T
    mix = shares[used] / shares[used].sum()
    mix = _solve_exactly(fixed, mix)
    barrier = 0.01
    while free.shape[1] and barrier > 1e-14:
        for _ in range(MAX_STEPS):
            slack = -(others @ mix)
            slope = free.T @ (-np.log(mix) - 1 - barrier * (others.T @ (1 / slack)))
            curve = np.diag(1 / mix) + barrier * (others.T / slack**2) @ others
            step = free @ np.linalg.solve(free.T @ curve @ free, slope)
            length = min(1.0, 0.9 * _longest_step(mix, step), 0.9 * _longest_step(slack, -(others @ step)))
            mix = mix + length * step
            if float(np.abs(step).max()) < 1e-12:
                break
        barrier /= 10
    result = np.zeros(len(advantage))
    result[used] = mix / mix.sum()
    return result


def _solve_exactly(fixed: Floats, mix: Floats) -> Floats:
    """Move a mix to the nearest one under which all of its players score exactly half."""
    wanted = np.zeros(len(fixed))
    wanted[-1] = 1.0
    nearest = mix - np.linalg.lstsq(fixed, fixed @ mix - wanted, rcond=NEARLY_ZERO)[0]
    return nearest if (nearest > 0).all() else mix
