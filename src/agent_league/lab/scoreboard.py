"""Tallies of games, the scores computed from them, and the table of a tournament: in all and by opponent."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum, isfinite
from operator import itemgetter
from typing import Any

from agent_league.games.base import winning_seat
from agent_league.model.results import Scoring
from agent_league.ratings.statistics import Estimate, estimate_grouped_mean, estimate_grouped_rate, estimate_mean
from agent_league.ratings.tables import ResultRow

MAX_GROUPS = 1000
"""With more series, some are counted as one group: a thousand are enough to estimate their spread."""
DEFAULT_SCORING = Scoring()


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
    first_seat: GameTally | None = None
    """The first player's tally of those games in which it had the first seat; None: of all."""

    @property
    def games(self) -> int:
        return self.tallies[0].games

    @property
    def tallies_of_first_seat(self) -> tuple[GameTally, GameTally]:
        """What each of the two got in the games in which it had the first seat."""
        total = self.tallies[0]
        own = total if self.first_seat is None else self.first_seat
        other = GameTally(total.losses - own.losses, total.draws - own.draws, total.wins - own.wins)
        return own, other


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


@dataclass(frozen=True, slots=True)
class ScoreboardRow:
    """A row of the table."""

    rank: int
    name: str
    points: int
    total: PlayerScore
    against: Mapping[str, PlayerScore]
    """Its score by the opponent's name."""


class Scoreboard:
    """Adds up tallies; ranks players by their mean payoff or mean points a game."""

    def __init__(self, names: Sequence[str], *, by_payoff: bool) -> None:
        self.names = names
        self.by_payoff = by_payoff
        self.spoiled_pairs: set[tuple[str, str]] = set()
        """Pairs of players one of which changed the game's state itself."""
        self._first_faults: dict[str, tuple[int, tuple[int, int], str]] = {}
        self._tallies: defaultdict[tuple[int, int], defaultdict[int, GameTally]] = defaultdict(
            lambda: defaultdict(GameTally)
        )
        """By player and opponent, and by series."""
        self._first_seat_tallies: defaultdict[tuple[int, int], defaultdict[int, GameTally]] = defaultdict(
            lambda: defaultdict(GameTally)
        )
        """The same of games in which the player had the first seat."""

    @property
    def games(self) -> int:
        return sum(tally.games for series in self._tallies.values() for tally in series.values()) // 2

    def add_tallies(self, played: PairTallies) -> None:
        one, other = played.pair
        group = played.series % MAX_GROUPS
        self._tallies[one, other][group].add_tally(played.tallies[0])
        self._tallies[other, one][group].add_tally(played.tallies[1])
        own_first, other_first = played.tallies_of_first_seat
        self._first_seat_tallies[one, other][group].add_tally(own_first)
        self._first_seat_tallies[other, one][group].add_tally(other_first)
        for name, fault in zip((self.names[one], self.names[other]), played.first_faults, strict=True):
            if fault:
                told = (played.series, played.pair, fault)
                self._first_faults[name] = min(self._first_faults.get(name, told), told)
        if played.spoiled:
            self.spoiled_pairs.add((self.names[one], self.names[other]))

    @property
    def first_faults(self) -> dict[str, str]:
        """The first fault by player, independent of the order in which tallies came."""
        return {name: self._first_faults[name][2] for name in self.names if name in self._first_faults}

    def rows(self) -> list[ScoreboardRow]:
        """The rows, best first; equals share a rank and keep the order of their names."""
        players = range(len(self.names))
        totals = [
            compute_score([series for (own, _), series in self._tallies.items() if own == player]) for player in players
        ]
        worth = [self._ranking_value(total) for total in totals]
        return [
            ScoreboardRow(
                rank=1 + sum(other > worth[player] for other in worth),
                name=self.names[player],
                points=_count_points(totals[player].tally),
                total=totals[player],
                against={
                    name: compute_score([self._tallies[player, other]])
                    for other, name in enumerate(self.names)
                    if (player, other) in self._tallies
                },
            )
            for player in sorted(players, key=lambda player: -worth[player])
        ]

    def list_results(self, game_type: str) -> Iterator[ResultRow]:
        """Yield all results for a rating, with their series, in an order that doesn't depend on when they came.

        Ratings are sums, whose last digits depend on it.
        """
        for player, opponent in sorted(self._first_seat_tallies):
            one, other = self.names[player], self.names[opponent]
            for series, tally in sorted(self._first_seat_tallies[player, opponent].items(), key=itemgetter(0)):
                for score, count in ((1.0, tally.wins), (0.5, tally.draws), (0.0, tally.losses)):
                    if count:
                        yield ResultRow(one, other, score, count, game_type, series)

    def to_json(self) -> dict[str, Any]:
        """Return the table as JSON."""
        return {
            "ranked_by": "payoff" if self.by_payoff else "points",
            "games": self.games,
            "spoiled": sorted(self.spoiled_pairs),
            "players": [
                {
                    "rank": row.rank,
                    "player": row.name,
                    "points": row.points,
                    **row.total.to_json(),
                    "first_fault": self.first_faults.get(row.name),
                    "against": {name: score.to_json() for name, score in row.against.items()},
                }
                for row in self.rows()
            ],
        }

    def is_ahead(self, player: str, opponent: str) -> bool:
        """Whether a player won significantly more than it lost against another, also from series to series."""
        series = self._tallies[self.names.index(player), self.names.index(opponent)]
        ahead = estimate_grouped_mean([{name: (one.games, one.wins - one.losses) for name, one in series.items()}])
        return ahead is None or ahead.low > 0

    def _ranking_value(self, total: PlayerScore) -> float:
        if self.by_payoff:
            return total.mean_payoff.value if total.mean_payoff else 0.0
        return _count_points(total.tally) / max(total.tally.games, 1)


def _count_points(tally: GameTally) -> int:
    return (
        tally.wins * DEFAULT_SCORING.win_points
        + tally.draws * DEFAULT_SCORING.draw_points
        + tally.losses * DEFAULT_SCORING.loss_points
    )
