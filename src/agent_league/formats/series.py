"""A series: two players meet in match after match until one of them advances.

A match without a winner, be it drawn, void or lost by both, is a drawn one here.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from agent_league.formats.bracket_plan import SeriesPlan
from agent_league.model.results import MatchResult
from agent_league.model.schedule import Pairing

EXTRA_PAIRS = 2
"""How many pairs of matches may follow a drawn series; after them the higher seed advances."""

EMPTY = ""
"""Stands for the player of a place that nobody takes."""

PlayerPair = tuple[str | None, str | None]


class Decision(StrEnum):
    """How a series was decided."""

    WON = "won"
    HIGHER_SEED = "higher seed"
    """It was drawn to the end."""
    WALKOVER = "walkover"
    """A player was out when a match was due."""
    BYE = "bye"
    NOT_NEEDED = "not needed"


@dataclass(slots=True, eq=False)
class SeriesPlay:
    """A series as it stands."""

    plan: SeriesPlan
    best_of: int
    players: PlayerPair = (None, None)
    """Each is None while it isn't known, and EMPTY if nobody takes the place."""
    pairings: list[Pairing] = field(default_factory=list)
    results: list[MatchResult] = field(default_factory=list)
    """Of the matches that are over."""
    decision: Decision | None = None
    winner: str | None = None

    @property
    def is_ready(self) -> bool:
        """Whether both players are known, and who advances isn't."""
        return self.decision is None and all(self.players)

    @property
    def has_open_match(self) -> bool:
        return len(self.results) < len(self.pairings)

    @property
    def loser(self) -> str | None:
        """The player that doesn't advance; EMPTY after a bye, None while that isn't known."""
        if self.decision is None:
            return None
        return next((player_id for player_id in self.players if player_id != self.winner), EMPTY)

    def count_wins(self) -> tuple[int, int]:
        """Return how many matches each of the players has won."""
        winners = [None if result.is_void else result.winner for result in self.results]
        one, other = self.players
        return (winners.count(one) if one else 0, winners.count(other) if other else 0)

    def add_match(self, pairing: Pairing, result: MatchResult | None, rank_seed: Callable[[str], int]) -> None:
        """Add the next match, and decide the series if its result does so; None is one that isn't over."""
        self.pairings.append(pairing)
        if result is not None:
            self.results.append(result)
            self._decide_by_results(rank_seed)

    def decide(self, decision: Decision, winner: str) -> None:
        self.decision = decision
        self.winner = winner

    def describe_next_match(self) -> str:
        """Tell the number of the next match and how the series stands; empty for a series of one match."""
        number = len(self.pairings) + 1
        if number > 1:
            return f"{name_match(number, self.best_of)}; it stands {self.describe_score()}"
        return name_match(number, self.best_of)

    def describe_score(self) -> str:
        wins = self.count_wins()
        if wins[0] == wins[1]:
            return f"{wins[0]} to {wins[1]}"
        leader = self.players[wins[1] > wins[0]]
        return f"{max(wins)} to {min(wins)} for {leader}"

    def _decide_by_results(self, rank_seed: Callable[[str], int]) -> None:
        one, other = self.players
        if not one or not other:
            return
        played = len(self.results)
        limits = [self.best_of + 2 * pairs for pairs in range(EXTRA_PAIRS + 1)]
        limit = next((limit for limit in limits if limit >= played), played)
        wins = self.count_wins()
        if abs(wins[0] - wins[1]) > limit - played:
            self.decide(Decision.WON, one if wins[0] > wins[1] else other)
        elif played >= limits[-1]:
            self.decide(Decision.HIGHER_SEED, min(one, other, key=rank_seed))


def name_match(number: int, best_of: int) -> str:
    """Name a match of a series by its number; empty for the only one."""
    if number > best_of:
        return f"extra game {number - best_of}"
    return f"game {number} of {best_of}" if best_of > 1 else ""
