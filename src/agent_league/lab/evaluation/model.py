"""The data of an evaluation: games, series by opponent, and the numbers computed from them. Pure.

`evaluator` plays the games, `criteria` judges the numbers.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import accumulate, pairwise
from typing import Any

from agent_league.lab.counts import Score, Tally, score
from agent_league.lab.statistics import Estimate, binomial_p_value, grouped_rate, holm

BLOCKS = 10
"""Most blocks of consecutive games that stand in for independent series; each has at least two games."""


class Ending(StrEnum):
    """How a game ended for the player under evaluation."""

    WIN = "win"
    DRAW = "draw"
    LOSS = "loss"
    TECHNICAL_LOSS = "technical_loss"
    WALKOVER = "walkover"
    """The opponent failed: such a game says nothing about the player."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something in a message that isn't in the protocol's own form."""

    where: str
    """The method of the call that the message answers."""
    what: str


@dataclass(frozen=True, slots=True)
class PracticeGame:
    """One game, from the player's side."""

    match_id: str
    seat: int
    ending: Ending
    how: str = ""
    """The kind of a technical loss."""
    payoff: float | None = None
    seconds: tuple[float, ...] = ()
    """How long each answer took."""
    timeouts: int = 0
    """Calls that timed out."""
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True)
class Encounter:
    """The games against one opponent."""

    opponent: str
    says: str
    """How the opponent plays, in a few words."""
    games: tuple[PracticeGame, ...] = ()
    cut_short: str = ""
    """Why there are fewer games than requested, or none; empty: there are all."""

    def count(self, ending: Ending) -> int:
        return sum(game.ending is ending for game in self.games)

    @property
    def counted(self) -> tuple[PracticeGame, ...]:
        """All games but walkovers, which say nothing about the player."""
        return tuple(game for game in self.games if game.ending is not Ending.WALKOVER)

    @property
    def wins(self) -> int:
        return self.count(Ending.WIN)

    @property
    def lost(self) -> int:
        return self.count(Ending.LOSS) + self.count(Ending.TECHNICAL_LOSS)

    @property
    def score(self) -> Score:
        """The score of the valid games, with blocks in place of series."""
        return score([dict(enumerate(_tally(block) for block in _blocks(self.counted)))])

    def win_rates(self, numbers: Iterable[int]) -> Iterator[Estimate]:
        """Yield the win rate after each of these numbers of games."""
        won = [0, *accumulate(game.ending is Ending.WIN for game in self.counted)]
        for number in numbers:
            bounds = pairwise(_bounds(number))
            yield grouped_rate([{first: (after - first, won[after] - won[first]) for first, after in bounds}])

    @property
    def p_value(self) -> float:
        """The binomial p-value of wins against losses; it takes games as independent and leaves draws out."""
        return binomial_p_value(self.wins, self.wins + self.lost)

    @property
    def technical(self) -> Mapping[str, int]:
        """Technical losses by kind."""
        return dict(Counter(game.how for game in self.games if game.ending is Ending.TECHNICAL_LOSS))


@dataclass(frozen=True, slots=True)
class Chances:
    """The probability of winning one game against a player that moves at random."""

    least: float
    """With the worst move."""
    most: float
    """With the best move."""
    alike: bool
    """Whether all moves win, draw and lose equally often, so that skill has no effect."""
    single: bool
    """Whether a match is one game, not several repeated."""


@dataclass(frozen=True, slots=True)
class Moves:
    """How often a strategy was asked for a move."""

    asked: int = 0
    failed: int = 0
    """Of these, how often it raised an error or chose an illegal move."""
    first_failure: str = ""


@dataclass(frozen=True, slots=True)
class Times:
    """Response times in seconds."""

    answers: int
    median: float
    late: float
    """The 95th percentile."""
    longest: float


@dataclass(frozen=True, slots=True)
class Conformance:
    """Results of `league check`'s steps with bad input, including whether the player still works afterwards."""

    passed: int = 0
    skipped: int = 0
    warned: tuple[Fault, ...] = ()
    failed: tuple[Fault, ...] = ()
    unjudged: str = ""
    """Why the steps were not taken; empty: they were."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Everything found about one player: the request, the games and the check with bad input."""

    player: str
    where: str
    """The player's address, or "in this process"."""
    protocol: str
    game_type: str
    title: str
    parameters: Mapping[str, Any]
    chances: Chances | None
    """What can be reached against random play; None if that can't be counted."""
    has_amounts: bool
    """Whether the game's amounts count, not only who has more."""
    seed: str
    earlier: str
    """The player's earlier version; empty if none was named."""
    wanted: int
    """Requested games per opponent."""
    started: str
    seconds: float = 0.0
    playing: float = 0.0
    """Of these, the time spent in games."""
    series: tuple[Encounter, ...] = ()
    conformance: Conformance = field(default_factory=Conformance)
    registration: tuple[Fault, ...] | None = None
    """Faults of its registration message; None: it didn't register."""
    moves: Moves | None = None
    """Moves of a strategy in this process; None for a running player, whose failures can't be seen."""
    remarks: tuple[str, ...] = ()
    interrupted: bool = False

    @property
    def games(self) -> tuple[PracticeGame, ...]:
        """All games, in the order in which they were played."""
        return tuple(game for series in self.series for game in series.games)

    @property
    def messages(self) -> int:
        """The number of answers, and the registration."""
        return sum(len(game.seconds) for game in self.games) + (self.registration is not None)

    @property
    def faulty(self) -> int:
        return sum(len(game.faults) for game in self.games) + len(self.registration or ())

    @property
    def faults(self) -> list[tuple[Fault, int]]:
        """Each fault with its count, the most frequent first."""
        counts = Counter(self.registration or ())
        counts.update(fault for game in self.games for fault in game.faults)
        return counts.most_common()

    @property
    def timeouts(self) -> int:
        return sum(game.timeouts for game in self.games)

    @property
    def times(self) -> Times | None:
        return times_of([seconds for game in self.games for seconds in game.seconds])

    @property
    def adjusted(self) -> Mapping[str, float]:
        """The Holm-adjusted p-values by opponent."""
        tried = [series for series in self.series if series.wins + series.lost]
        p_values = holm([series.p_value for series in tried])
        return {series.opponent: p_value for series, p_value in zip(tried, p_values, strict=True)}

    def against(self, opponent: str) -> Encounter | None:
        return next((series for series in self.series if series.opponent == opponent), None)


def times_of(seconds: Sequence[float]) -> Times | None:
    """Compute median, 95th percentile (nearest rank) and maximum; None without answers."""
    if not seconds:
        return None
    ordered = sorted(seconds)
    middle = len(ordered) // 2
    median = ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
    return Times(len(ordered), median, ordered[math.ceil(0.95 * len(ordered)) - 1], ordered[-1])


def _bounds(games: int) -> list[int]:
    """Return the index at which each block of so many games begins, and the end of the last."""
    number = max(1, min(BLOCKS, games // 2))
    return [games * block // number for block in range(number + 1)]


def _blocks(games: Sequence[PracticeGame]) -> Iterator[Sequence[PracticeGame]]:
    return (games[first:after] for first, after in pairwise(_bounds(len(games))))


def _tally(games: Sequence[PracticeGame]) -> Tally:
    endings = Counter(game.ending for game in games)
    return Tally(
        wins=endings[Ending.WIN],
        draws=endings[Ending.DRAW],
        losses=endings[Ending.LOSS] + endings[Ending.TECHNICAL_LOSS],
        payoffs=Counter(game.payoff for game in games if game.payoff is not None),
    )


def longest_run(good: Iterable[bool]) -> int:
    """Return the length of the longest run of True."""
    best = run = 0
    for one in good:
        run = run + 1 if one else 0
        best = max(best, run)
    return best
