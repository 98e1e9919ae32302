"""The table of a tournament: each player's score, in all and by opponent."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent_league.lab.counts import Meeting, Score, Tally, score
from agent_league.model.results import Scoring

MOST_GROUPS = 1000
"""With more series, some are counted as one group: a thousand are enough to estimate their spread."""
POINTS = Scoring()


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table."""

    rank: int
    name: str
    points: int
    total: Score
    against: Mapping[str, Score]
    """Its score by the opponent's name."""


class Scoreboard:
    """Adds up tallies; ranks players by their mean payoff or mean points a game."""

    def __init__(self, names: Sequence[str], *, by_payoff: bool) -> None:
        self.names = names
        self.by_payoff = by_payoff
        self.spoiled: set[tuple[str, str]] = set()
        """Pairs of players one of which changed the game's state itself."""
        self._first_faults: dict[str, tuple[int, tuple[int, int], str]] = {}
        self._played: defaultdict[tuple[int, int], defaultdict[int, Tally]] = defaultdict(lambda: defaultdict(Tally))
        """By player and opponent, and by series."""

    @property
    def games(self) -> int:
        return sum(tally.games for series in self._played.values() for tally in series.values()) // 2

    def add(self, played: Meeting) -> None:
        one, other = played.pair
        group = played.series % MOST_GROUPS
        self._played[one, other][group].add(played.tallies[0])
        self._played[other, one][group].add(played.tallies[1])
        for name, fault in zip((self.names[one], self.names[other]), played.first_faults, strict=True):
            if fault:
                told = (played.series, played.pair, fault)
                self._first_faults[name] = min(self._first_faults.get(name, told), told)
        if played.spoiled:
            self.spoiled.add((self.names[one], self.names[other]))

    @property
    def first_faults(self) -> dict[str, str]:
        """The first fault by player, independent of the order in which tallies came."""
        return {name: self._first_faults[name][2] for name in self.names if name in self._first_faults}

    def rows(self) -> list[Row]:
        """The rows, best first; equals share a rank and keep the order of their names."""
        players = range(len(self.names))
        totals = [score([series for (own, _), series in self._played.items() if own == player]) for player in players]
        worth = [self._worth(total) for total in totals]
        return [
            Row(
                rank=1 + sum(other > worth[player] for other in worth),
                name=self.names[player],
                points=_points(totals[player].tally),
                total=totals[player],
                against={
                    name: score([self._played[player, other]])
                    for other, name in enumerate(self.names)
                    if (player, other) in self._played
                },
            )
            for player in sorted(players, key=lambda player: -worth[player])
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return the table as JSON."""
        return {
            "ranked_by": "payoff" if self.by_payoff else "points",
            "games": self.games,
            "spoiled": sorted(self.spoiled),
            "players": [
                {
                    "rank": row.rank,
                    "player": row.name,
                    "points": row.points,
                    **row.total.as_dict(),
                    "first_fault": self.first_faults.get(row.name),
                    "against": {name: score.as_dict() for name, score in row.against.items()},
                }
                for row in self.rows()
            ],
        }

    def _worth(self, total: Score) -> float:
        if self.by_payoff:
            return total.mean_payoff.value if total.mean_payoff else 0.0
        return _points(total.tally) / max(total.tally.games, 1)


def _points(tally: Tally) -> int:
    return tally.wins * POINTS.win_points + tally.draws * POINTS.draw_points + tally.losses * POINTS.loss_points
