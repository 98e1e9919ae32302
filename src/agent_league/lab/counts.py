"""Games counted from one player's side, and meetings of two players."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum, isfinite
from typing import Any

from agent_league.games.base import winning_seat
from agent_league.lab.statistics import Estimate, grouped_mean, grouped_rate, mean


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
    def paid(self) -> float:
        """All of its payoffs."""
        return fsum(value * count for value, count in self.payoffs.items())

    def add(self, other: "Tally") -> None:
        self.wins += other.wins
        self.draws += other.draws
        self.losses += other.losses
        self.faults += other.faults
        self.payoffs.update(other.payoffs)


SeriesOfGames = Mapping[int, Tally]
"""One player's games with an opponent, by series: games hang together within one, and don't from one to the next."""


@dataclass(frozen=True, slots=True)
class Score:
    """What one player's games come to."""

    tally: Tally
    series: int
    """The fewest that it played with an opponent; of one alone, nobody knows how games hang together."""
    win_rate: Estimate
    mean_payoff: Estimate | None
    """None where only winning counts."""

    def as_dict(self) -> dict[str, Any]:
        tally, paid = self.tally, self.mean_payoff
        return {
            "games": tally.games,
            "series": self.series,
            "wins": tally.wins,
            "draws": tally.draws,
            "losses": tally.losses,
            "win_rate": estimate_as_dict(self.win_rate),
            "mean_payoff": estimate_as_dict(paid) if paid else None,
            "faults": tally.faults,
        }


def score(opponents: Sequence[SeriesOfGames]) -> Score:
    """The games with these opponents. Who they are is settled, so what differs between them makes no interval wider."""
    by_opponent = [_together(series) for series in opponents]
    return Score(
        tally=_together(dict(enumerate(by_opponent))),
        series=min((len(series) for series in opponents), default=0),
        win_rate=grouped_rate([{name: (one.games, one.wins) for name, one in series.items()} for series in opponents]),
        mean_payoff=_mean_payoff(opponents, by_opponent),
    )


def _mean_payoff(opponents: Sequence[SeriesOfGames], by_opponent: Sequence[Tally]) -> Estimate | None:
    paid = [
        {name: (one.payoffs.total(), one.paid) for name, one in series.items() if one.payoffs} for series in opponents
    ]
    if not any(paid):
        return None
    return grouped_mean(paid) or mean(*(tally.payoffs for tally in by_opponent if tally.payoffs))


def _together(tallies: SeriesOfGames) -> Tally:
    total = Tally()
    for tally in tallies.values():
        total.add(tally)
    return total


@dataclass(frozen=True, slots=True)
class Meeting:
    """Games of two players, who are known by their places in the list of players."""

    pair: tuple[int, int]
    series: int
    """The number of the series; its games may be told in several meetings."""
    tallies: tuple[Tally, Tally]
    first_faults: tuple[str, str] = ("", "")
    """What went wrong first with each one's strategy in this series; empty: nothing."""
    spoiled: bool = False
    """Whether one of the two changed the state of the game itself."""

    @property
    def games(self) -> int:
        return self.tallies[0].games


def tallies(
    returns: Mapping[tuple[float, float], int], faults: tuple[int, int], *, payoffs: bool
) -> tuple[Tally, Tally]:
    """Both sides of a meeting: how often each pair of returns came; `payoffs`: whether the amounts count too."""
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
    return one, other


def estimate_as_dict(estimate: Estimate) -> dict[str, float | None]:
    """As JSON can hold it, which knows no infinity."""
    ends = {"value": estimate.value, "low": estimate.low, "high": estimate.high}
    return {name: value if isfinite(value) else None for name, value in ends.items()}
