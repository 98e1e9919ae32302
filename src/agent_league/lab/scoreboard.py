"""The table of a tournament: every player's games, in all and against each other one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent_league.lab.tally import Meeting, Tally
from agent_league.model.results import Scoring


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table."""

    rank: int
    name: str
    points: int
    tally: Tally
    against: Mapping[str, Tally]
    """Its games with each opponent, by name."""


class Scoreboard:
    """Adds up meetings; ranked by what a game brings on average, in payoff or in points."""

    def __init__(self, names: Sequence[str], *, by_payoff: bool, scoring: Scoring | None = None) -> None:
        self.names = names
        self.by_payoff = by_payoff
        self._scoring = scoring or Scoring()
        self._against: dict[tuple[int, int], Tally] = {}

    @property
    def games(self) -> int:
        return sum(tally.games for tally in self._against.values()) // 2

    def add(self, played: Meeting) -> None:
        one, other = played.pair
        self._against.setdefault((one, other), Tally()).add(played.tallies[0])
        self._against.setdefault((other, one), Tally()).add(played.tallies[1])

    def rows(self) -> list[Row]:
        """The best first; equals share a rank and stay in the order in which they were named."""
        totals = [self._total(player) for player in range(len(self.names))]
        worth = [self._worth(total) for total in totals]
        return [
            Row(
                rank=1 + sum(other > worth[player] for other in worth),
                name=self.names[player],
                points=self._points(totals[player]),
                tally=totals[player],
                against={
                    name: self._against[player, other]
                    for other, name in enumerate(self.names)
                    if (player, other) in self._against
                },
            )
            for player in sorted(range(len(self.names)), key=lambda player: -worth[player])
        ]

    def _total(self, player: int) -> Tally:
        total = Tally()
        for (own, _), tally in self._against.items():
            if own == player:
                total.add(tally)
        return total

    def _worth(self, tally: Tally) -> float:
        if self.by_payoff:
            paid = tally.mean_payoff
            return paid.value if paid else 0.0
        return self._points(tally) / max(tally.games, 1)

    def _points(self, tally: Tally) -> int:
        scoring = self._scoring
        return tally.wins * scoring.win_points + tally.draws * scoring.draw_points + tally.losses * scoring.loss_points
