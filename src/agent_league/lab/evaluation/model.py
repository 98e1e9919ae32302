"""The data of an evaluation: games, series by opponent, and the numbers computed from them. Pure.

`evaluator` plays the games, `criteria` judges the numbers.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from agent_league.lab.scoreboard import GameTally, PlayerScore, compute_score
from agent_league.ratings.statistics import Estimate, adjust_p_values, binomial_p_value, estimate_grouped_rate


class GameEnding(StrEnum):
    """How a game ended for the player under evaluation."""

    WIN = "win"
    DRAW = "draw"
    LOSS = "loss"
    TECHNICAL_LOSS = "technical_loss"
    WALKOVER = "walkover"
    """The opponent failed: such a game says nothing about the player."""


@dataclass(frozen=True, slots=True)
class MessageFault:
    """Something in a message that isn't in the protocol's own form."""

    where: str
    """The method of the call that the message answers."""
    what: str


@dataclass(frozen=True, slots=True)
class PracticeGame:
    """One game, from the player's side."""

    match_id: str
    seat: int
    ending: GameEnding
    seed: str = ""
    """Of its meeting; players of ours begin each without memory."""
    how: str = ""
    """The kind of a technical loss."""
    payoff: float | None = None
    seconds: tuple[float, ...] = ()
    """How long each answer took."""
    timeouts: int = 0
    """Calls that timed out."""
    faults: tuple[MessageFault, ...] = ()


@dataclass(frozen=True, slots=True)
class OpponentSeries:
    """The games against one opponent."""

    opponent: str
    description: str
    """How the opponent plays, in a few words."""
    games: tuple[PracticeGame, ...] = ()
    cut_short_reason: str = ""
    """Why there are fewer games than requested, or none; empty: there are all."""

    def count_ending(self, ending: GameEnding) -> int:
        return sum(game.ending is ending for game in self.games)

    @property
    def valid_games(self) -> tuple[PracticeGame, ...]:
        """All games but walkovers, which say nothing about the player."""
        return tuple(game for game in self.games if game.ending is not GameEnding.WALKOVER)

    @property
    def wins(self) -> int:
        return self.count_ending(GameEnding.WIN)

    @property
    def losses(self) -> int:
        return self.count_ending(GameEnding.LOSS) + self.count_ending(GameEnding.TECHNICAL_LOSS)

    @property
    def score(self) -> PlayerScore:
        """The score of the valid games."""
        return compute_score([dict(enumerate(map(tally_games, self.meetings)))])

    @property
    def meetings(self) -> list[list[PracticeGame]]:
        """The valid games by seed."""
        found: dict[str, list[PracticeGame]] = {}
        for game in self.valid_games:
            found.setdefault(game.seed, []).append(game)
        return list(found.values())

    def estimate_win_rates(self, numbers: Sequence[int]) -> Iterator[Estimate]:
        """Yield the win rate after each of these numbers of games, which ascend."""
        seeds: dict[str, int] = {}
        counts: dict[int, tuple[int, int]] = {}
        for number, game in enumerate(self.valid_games, 1):
            seed = seeds.setdefault(game.seed, len(seeds))
            games, won = counts.get(seed, (0, 0))
            counts[seed] = (games + 1, won + (game.ending is GameEnding.WIN))
            if number in numbers:
                yield estimate_grouped_rate([counts])

    @property
    def p_value(self) -> float:
        """The binomial p-value of wins against losses; it takes games as independent and leaves draws out."""
        return binomial_p_value(self.wins, self.wins + self.losses)

    @property
    def technical_losses(self) -> Mapping[str, int]:
        """Technical losses by kind."""
        return dict(Counter(game.how for game in self.games if game.ending is GameEnding.TECHNICAL_LOSS))


@dataclass(frozen=True, slots=True)
class WinChances:
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
class MoveCounts:
    """How often a strategy was asked for a move."""

    asked: int = 0
    failed: int = 0
    """Of these, how often it raised an error, chose an illegal move, or its language model gave none."""
    first_failure: str = ""

    def add(self, later: "MoveCounts") -> "MoveCounts":
        first = self.first_failure or later.first_failure
        return MoveCounts(self.asked + later.asked, self.failed + later.failed, first)

    def subtract(self, earlier: "MoveCounts") -> "MoveCounts":
        """Return what came after an earlier count."""
        return MoveCounts(self.asked - earlier.asked, self.failed - earlier.failed, self.first_failure)


@dataclass(frozen=True, slots=True)
class ResponseTimes:
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
    warned: tuple[MessageFault, ...] = ()
    failed: tuple[MessageFault, ...] = ()
    unjudged: str = ""
    """Why the steps were not taken; empty: they were."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Everything found about one player: the request, the games and the check with bad input."""

    player: str
    location: str
    """The player's address, or "in this process"."""
    protocol: str
    game_type: str
    title: str
    parameters: Mapping[str, Any]
    chances: WinChances | None
    """What can be reached against random play; None if that can't be counted."""
    has_amounts: bool
    """Whether the game's amounts count, not only who has more."""
    seed: str
    earlier: str
    """The player's earlier version; empty if none was named."""
    games_wanted: int
    """Requested games per opponent."""
    started_at: str
    seconds: float = 0.0
    playing_seconds: float = 0.0
    """Of these, the time spent in games."""
    series: tuple[OpponentSeries, ...] = ()
    conformance: Conformance = field(default_factory=Conformance)
    registration_faults: tuple[MessageFault, ...] | None = None
    """Faults of its registration message; None: it didn't register."""
    moves: MoveCounts | None = None
    """Moves of a strategy in this process; None for a running player, whose failures can't be seen."""
    remarks: tuple[str, ...] = ()
    interrupted: bool = False

    @property
    def games(self) -> tuple[PracticeGame, ...]:
        """All games, in the order in which they were played."""
        return tuple(game for series in self.series for game in series.games)

    @property
    def message_count(self) -> int:
        """The number of answers, and the registration."""
        return sum(len(game.seconds) for game in self.games) + (self.registration_faults is not None)

    @property
    def fault_count(self) -> int:
        return sum(len(game.faults) for game in self.games) + len(self.registration_faults or ())

    @property
    def faults_by_frequency(self) -> list[tuple[MessageFault, int]]:
        """Each fault with its count, the most frequent first."""
        counts = Counter(self.registration_faults or ())
        counts.update(fault for game in self.games for fault in game.faults)
        return counts.most_common()

    @property
    def timeout_count(self) -> int:
        return sum(game.timeouts for game in self.games)

    @property
    def response_times(self) -> ResponseTimes | None:
        return summarise_times([seconds for game in self.games for seconds in game.seconds])

    @property
    def adjusted_p_values(self) -> Mapping[str, float]:
        """The Holm-adjusted p-values by opponent."""
        tried = [series for series in self.series if series.wins + series.losses]
        p_values = adjust_p_values([series.p_value for series in tried])
        return {series.opponent: p_value for series, p_value in zip(tried, p_values, strict=True)}

    def find_series(self, opponent: str) -> OpponentSeries | None:
        return next((series for series in self.series if series.opponent == opponent), None)


def summarise_times(seconds: Sequence[float]) -> ResponseTimes | None:
    """Compute median, 95th percentile (nearest rank) and maximum; None without answers."""
    if not seconds:
        return None
    ordered = sorted(seconds)
    middle = len(ordered) // 2
    median = ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
    return ResponseTimes(len(ordered), median, ordered[math.ceil(0.95 * len(ordered)) - 1], ordered[-1])


def tally_games(games: Sequence[PracticeGame]) -> GameTally:
    """Count how games ended for the player."""
    endings = Counter(game.ending for game in games)
    return GameTally(
        wins=endings[GameEnding.WIN],
        draws=endings[GameEnding.DRAW],
        losses=endings[GameEnding.LOSS] + endings[GameEnding.TECHNICAL_LOSS],
        payoffs=Counter(game.payoff for game in games if game.payoff is not None),
    )


def longest_run(good: Iterable[bool]) -> int:
    """Return the length of the longest run of True."""
    best = run = 0
    for one in good:
        run = run + 1 if one else 0
        best = max(best, run)
    return best
