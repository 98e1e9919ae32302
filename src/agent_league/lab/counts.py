"""Tallies of games: of one player, of a pair, and the scores computed from them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum, isfinite
from typing import Any

from agent_league.games.base import winning_seat
from agent_league.lab.statistics import Estimate, estimate_grouped_mean, estimate_grouped_rate, estimate_mean


@dataclass(slots=True)
class GameTally:
    """Wins, draws, losses, faults and payoffs of one player."""

    wins: int = 0
    draws: int = 0
    losses: int = 0
    faults: int = 0
    """How often its strategy failed or chose an illegal move, so that a random one was made."""
    payoffs: Counter[float] = field(default_factory=Counter)
    """Payoff -> number of games; empty if only winning counts."""

    @property
    def games(self) -> int:
        return self.wins + self.draws + self.losses

    @property
    def total_payoff(self) -> float:
        """The sum of its payoffs."""
        return fsum(value * count for value, count in self.payoffs.items())

    def add_tally(self, other: "GameTally") -> None:
        self.wins += other.wins
        self.draws += other.draws
        self.losses += other.losses
        self.faults += other.faults
        self.payoffs.update(other.payoffs)


TallyBySeries = Mapping[int, GameTally]
"""One player's games with an opponent, by series: dependent within a series, independent between series."""


@dataclass(frozen=True, slots=True)
class PlayerScore:
    """A player's tally with estimates of win rate and mean payoff."""

    tally: GameTally
    series: int
    """The smallest number of series with any opponent; from a single one, dependence can't be estimated."""
    win_rate: Estimate
    mean_payoff: Estimate | None
    """None where only winning counts."""

    def to_json(self) -> dict[str, Any]:
        tally, paid = self.tally, self.mean_payoff
        return {
            "games": tally.games,
            "series": self.series,
            "wins": tally.wins,
            "draws": tally.draws,
            "losses": tally.losses,
            "win_rate": estimate_to_json(self.win_rate),
            "mean_payoff": estimate_to_json(paid) if paid else None,
            "faults": tally.faults,
        }


def compute_score(opponents: Sequence[TallyBySeries]) -> PlayerScore:
    """Compute the score against these opponents; they are fixed, so their differences widen no interval."""
    by_opponent = [_sum_tallies(series) for series in opponents]
    return PlayerScore(
        tally=_sum_tallies(dict(enumerate(by_opponent))),
        series=min((len(series) for series in opponents), default=0),
        win_rate=estimate_grouped_rate(
            [{name: (one.games, one.wins) for name, one in series.items()} for series in opponents]
        ),
        mean_payoff=_estimate_mean_payoff(opponents, by_opponent),
    )


def _estimate_mean_payoff(opponents: Sequence[TallyBySeries], by_opponent: Sequence[GameTally]) -> Estimate | None:
    paid = [
        {name: (one.payoffs.total(), one.total_payoff) for name, one in series.items() if one.payoffs}
        for series in opponents
    ]
    if not any(paid):
        return None
    return estimate_grouped_mean(paid) or estimate_mean(*(tally.payoffs for tally in by_opponent if tally.payoffs))


def _sum_tallies(tallies: TallyBySeries) -> GameTally:
    total = GameTally()
    for tally in tallies.values():
        total.add_tally(tally)
    return total


@dataclass(frozen=True, slots=True)
class PairTallies:
    """Tallies of some games of two players, who are given by their indexes in the list of players."""

    pair: tuple[int, int]
    series: int
    """The number of the series; its games may come in several of these."""
    tallies: tuple[GameTally, GameTally]
    first_faults: tuple[str, str] = ("", "")
    """The first fault of each strategy in this series; empty: none."""
    spoiled: bool = False
    """Whether one of the two changed the state of the game itself."""

    @property
    def games(self) -> int:
        return self.tallies[0].games


def tally_returns(
    returns: Mapping[tuple[float, float], int], faults: tuple[int, int], *, payoffs: bool
) -> tuple[GameTally, GameTally]:
    """Tally both players: how often each pair of returns came; `payoffs`: count the amounts too."""
    one, other = (GameTally(faults=failed) for failed in faults)
    for both, count in returns.items():
        winner = winning_seat(both)
        if winner is None:
            one.draws += count
            other.draws += count
        else:
            won, lost = (one, other) if winner == 0 else (other, one)
            won.wins += count
            lost.losses += count
        if payoffs:
            one.payoffs[both[0]] += count
            other.payoffs[both[1]] += count
    return one, other


def estimate_to_json(estimate: Estimate) -> dict[str, float | None]:
    """Return an estimate as JSON, with null for infinity."""
    ends = {"value": estimate.value, "low": estimate.low, "high": estimate.high}
    return {name: value if isfinite(value) else None for name, value in ends.items()}
