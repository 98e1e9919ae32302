"""What an evaluation found: games one by one, series by opponent, and the numbers that follow. Pure.

How the games are played is `practice`'s business, what is to be thought of the numbers that of `criteria`.
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
"""So many runs of consecutive games tell how far games hang together; each has at least two, one from either side."""


class Ending(StrEnum):
    """How a game ended for the player under evaluation."""

    WIN = "win"
    DRAW = "draw"
    LOSS = "loss"
    TECHNICAL_LOSS = "technical_loss"
    WALKOVER = "walkover"
    """The opponent failed: nothing can be learned from such a game."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that isn't in the protocol's own form."""

    where: str
    """The call that it answers."""
    what: str


@dataclass(frozen=True, slots=True)
class PracticeGame:
    """One game, from the player's side."""

    match_id: str
    seat: int
    ending: Ending
    how: str = ""
    """Of a technical loss: in which way the player failed."""
    payoff: float | None = None
    seconds: tuple[float, ...] = ()
    """How long each answer took."""
    timeouts: int = 0
    """Calls that stayed without an answer."""
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True)
class Encounter:
    """The games against one opponent."""

    opponent: str
    says: str
    """What the opponent does, in a few words."""
    games: tuple[PracticeGame, ...] = ()
    cut_short: str = ""
    """Why there are fewer games than were asked for, or none at all."""

    def count(self, ending: Ending) -> int:
        return sum(game.ending is ending for game in self.games)

    @property
    def counted(self) -> tuple[PracticeGame, ...]:
        """The games that say something of the player."""
        return tuple(game for game in self.games if game.ending is not Ending.WALKOVER)

    @property
    def wins(self) -> int:
        return self.count(Ending.WIN)

    @property
    def lost(self) -> int:
        return self.count(Ending.LOSS) + self.count(Ending.TECHNICAL_LOSS)

    @property
    def score(self) -> Score:
        """The games that say something, in blocks."""
        return score([dict(enumerate(_tally(block) for block in _blocks(self.counted)))])

    def win_rates(self, numbers: Iterable[int]) -> Iterator[Estimate]:
        """The share of wins after each of these numbers of games."""
        won = [0, *accumulate(game.ending is Ending.WIN for game in self.counted)]
        for number in numbers:
            bounds = pairwise(_bounds(number))
            yield grouped_rate([{first: (after - first, won[after] - won[first]) for first, after in bounds}])

    @property
    def p_value(self) -> float:
        """How likely so uneven a result is among equals whose games are independent; draws say nothing of that."""
        return binomial_p_value(self.wins, self.wins + self.lost)

    @property
    def technical(self) -> Mapping[str, int]:
        """Technical losses by kind."""
        return dict(Counter(game.how for game in self.games if game.ending is Ending.TECHNICAL_LOSS))


@dataclass(frozen=True, slots=True)
class Chances:
    """How often one game is won against a player that chooses at random."""

    least: float
    """By the worst choice."""
    most: float
    """By the best."""
    alike: bool
    """Whether every choice wins, draws and loses as often as any other: then no skill changes anything."""
    single: bool
    """Whether a match is one such game."""


@dataclass(frozen=True, slots=True)
class Moves:
    """How often a strategy was asked for a move."""

    asked: int = 0
    failed: int = 0
    """Of these, it raised an error or chose what isn't legal."""
    first_failure: str = ""


@dataclass(frozen=True, slots=True)
class Times:
    """How long answers took, in seconds."""

    answers: int
    median: float
    late: float
    """95 of 100 were faster."""
    longest: float


@dataclass(frozen=True, slots=True)
class Conformance:
    """What became of steps that `league check` takes too: bad input, and whether the player is itself afterwards."""

    passed: int = 0
    skipped: int = 0
    warned: tuple[Fault, ...] = ()
    failed: tuple[Fault, ...] = ()
    unjudged: str = ""
    """Why nothing was tried."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All that was found out about one player."""

    player: str
    where: str
    """Its address, or that it played in this process."""
    protocol: str
    game_type: str
    title: str
    parameters: Mapping[str, Any]
    chances: Chances | None
    """What can be reached against random, where that can be counted."""
    has_amounts: bool
    """Whether it counts how much a seat has, and not only who has more."""
    seed: str
    earlier: str
    """Its earlier version, where one was named."""
    wanted: int
    """Games that were asked for, per opponent."""
    started: str
    seconds: float = 0.0
    playing: float = 0.0
    """Of these, so many went into games."""
    series: tuple[Encounter, ...] = ()
    conformance: Conformance = field(default_factory=Conformance)
    registration: tuple[Fault, ...] | None = None
    """What is wrong with the message with which it registered; None: it didn't."""
    moves: Moves | None = None
    """Of a strategy in this process, whose player makes a random move where it fails; None: nobody can know."""
    remarks: tuple[str, ...] = ()
    interrupted: bool = False

    @property
    def games(self) -> tuple[PracticeGame, ...]:
        """All games, in the order in which they were played."""
        return tuple(game for series in self.series for game in series.games)

    @property
    def messages(self) -> int:
        """Answers that came, and its registration."""
        return sum(len(game.seconds) for game in self.games) + (self.registration is not None)

    @property
    def faulty(self) -> int:
        return sum(len(game.faults) for game in self.games) + len(self.registration or ())

    @property
    def faults(self) -> list[tuple[Fault, int]]:
        """Each kind of fault and how often it was found, the most frequent first."""
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
        """By opponent, the p-values as a family of tests."""
        tried = [series for series in self.series if series.wins + series.lost]
        p_values = holm([series.p_value for series in tried])
        return {series.opponent: p_value for series, p_value in zip(tried, p_values, strict=True)}

    def against(self, opponent: str) -> Encounter | None:
        return next((series for series in self.series if series.opponent == opponent), None)


def times_of(seconds: Sequence[float]) -> Times | None:
    """The middle, the 95th percentile (nearest rank) and the longest; None where nothing was answered."""
    if not seconds:
        return None
    ordered = sorted(seconds)
    middle = len(ordered) // 2
    median = ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
    return Times(len(ordered), median, ordered[math.ceil(0.95 * len(ordered)) - 1], ordered[-1])


def _bounds(games: int) -> list[int]:
    """Where blocks of so many games begin, and where the last one ends."""
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
    """The most in a row that were good."""
    best = run = 0
    for one in good:
        run = run + 1 if one else 0
        best = max(best, run)
    return best
