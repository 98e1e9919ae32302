"""The table of a tournament: each player's score, in all and by opponent."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent_league.lab.counts import GameTally, PairTallies, PlayerScore, compute_score
from agent_league.model.results import Scoring

MAX_GROUPS = 1000
"""With more series, some are counted as one group: a thousand are enough to estimate their spread."""
DEFAULT_SCORING = Scoring()


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

    @property
    def games(self) -> int:
        return sum(tally.games for series in self._tallies.values() for tally in series.values()) // 2

    def add_tallies(self, played: PairTallies) -> None:
        one, other = played.pair
        group = played.series % MAX_GROUPS
        self._tallies[one, other][group].add_tally(played.tallies[0])
        self._tallies[other, one][group].add_tally(played.tallies[1])
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
