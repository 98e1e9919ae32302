"""Games counted from one player's side, and meetings of two players."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from agent_league.games.base import winning_seat
from agent_league.lab.statistics import Estimate, mean, rate


@dataclass(slots=True)
class Tally:
    """One player's games, from its side."""

    wins: int = 0
    draws: int = 0
    losses: int = 0
    faults: int = 0
    """How often its strategy failed or chose what isn't legal, so that a random move was made."""
    payoffs: Counter[float] = field(default_factory=Counter)
    """How often it got how much; empty where only winning counts."""

    @property
    def games(self) -> int:
        return self.wins + self.draws + self.losses

    @property
    def win_rate(self) -> Estimate:
        return rate(self.wins, self.games)

    @property
    def mean_payoff(self) -> Estimate | None:
        """None where only winning counts."""
        return mean(self.payoffs) if self.payoffs else None

    def add(self, other: "Tally") -> None:
        self.wins += other.wins
        self.draws += other.draws
        self.losses += other.losses
        self.faults += other.faults
        self.payoffs.update(other.payoffs)

    def as_dict(self) -> dict[str, Any]:
        paid = self.mean_payoff
        return {
            "games": self.games,
            "wins": self.wins,
            "draws": self.draws,
            "losses": self.losses,
            "win_rate": _as_dict(self.win_rate),
            "mean_payoff": _as_dict(paid) if paid else None,
            "faults": self.faults,
        }


@dataclass(frozen=True, slots=True)
class Meeting:
    """Games of two players, who are known by their places in the list of players."""

    pair: tuple[int, int]
    tallies: tuple[Tally, Tally]

    @property
    def games(self) -> int:
        return self.tallies[0].games


def meeting(
    pair: tuple[int, int], returns: Mapping[tuple[float, float], int], faults: tuple[int, int], *, payoffs: bool
) -> Meeting:
    """A meeting from its results: how often each pair of returns came; `payoffs`: whether the amounts count too."""
    one, other = (Tally(faults=failed) for failed in faults)
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
    return Meeting(pair, (one, other))


def _as_dict(estimate: Estimate) -> dict[str, float | None]:
    """As JSON can hold it, which knows no infinity."""
    ends = {"value": estimate.value, "low": estimate.low, "high": estimate.high}
    return {name: value if isfinite(value) else None for name, value in ends.items()}
