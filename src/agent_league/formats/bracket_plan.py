"""The plan of a bracket: its series, where the players of each come from, and the order in which they are played.

A plan follows from the number of players alone; it knows no player and no result.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Origin(StrEnum):
    """What a player of a series was before."""

    SEED = "seed"
    WINNER = "winner"
    LOSER = "loser"


class BracketSection(StrEnum):
    """A part of a bracket that is drawn apart from the others."""

    MAIN = "main"
    WINNERS = "winners"
    LOSERS = "losers"
    FINAL = "final"
    THIRD_PLACE = "third place"


@dataclass(frozen=True, slots=True)
class Source:
    """Where a player of a series comes from."""

    origin: Origin
    number: int
    """The seed, or the index of the series that it won or lost."""


SourcePair = tuple[Source, Source]


@dataclass(frozen=True, slots=True)
class SeriesPlan:
    """Two places in a bracket whose players meet until one of them advances."""

    index: int
    """Its place in the plan."""
    name: str
    """In the middle of a sentence, such as "quarter-final 2"."""
    sources: SourcePair
    loser_place: int
    """The place in the final ranking of a player that goes out here."""
    winner_place: int
    """The best place that its winner can reach."""
    repeats: int | None = None
    """The index of an earlier series that is played once more here if its second player won it."""


@dataclass(frozen=True, slots=True)
class LevelPlan:
    """The series of one column of a bracket."""

    title: str
    section: BracketSection
    series: tuple[int, ...]
    """Their indexes in the plan, from top to bottom."""


@dataclass(frozen=True, slots=True)
class BracketPlan:
    """All series of a bracket; each comes after those that its players come from."""

    players: int
    size: int
    """The places of the first level: the power of two that the players fit in."""
    series: tuple[SeriesPlan, ...]
    steps: tuple[tuple[LevelPlan, ...], ...]
    """The levels in the order of play; those of one step are played side by side."""

    @property
    def levels(self) -> tuple[LevelPlan, ...]:
        return tuple(level for step in self.steps for level in step)


class BracketPlanner:
    """Collects the series and steps of a plan."""

    def __init__(self, players: int) -> None:
        self.players = players
        self.size = find_bracket_size(players)
        self._series: list[SeriesPlan] = []
        self._steps: list[tuple[LevelPlan, ...]] = []

    def pair_seeds(self) -> list[SourcePair]:
        """Pair the seeds of the first level; none if there are no two players."""
        if self.players < 2:
            return []
        return pair_neighbours([Source(Origin.SEED, seed) for seed in order_seeds(self.size)])

    def add_level(
        self,
        title: str,
        section: BracketSection,
        pairs: Sequence[SourcePair],
        *,
        name: str,
        loser_place: int,
        winner_place: int = 1,
        repeats: int | None = None,
    ) -> LevelPlan:
        """Add the series of a level, each named by its number in place of the braces in `name`; `add_step` plays it."""
        first = len(self._series)
        self._series += [
            SeriesPlan(first + number - 1, name.format(number), pair, loser_place, winner_place, repeats)
            for number, pair in enumerate(pairs, start=1)
        ]
        return LevelPlan(title, section, tuple(range(first, len(self._series))))

    def add_step(self, *levels: LevelPlan) -> None:
        self._steps.append(levels)

    def finish_plan(self) -> BracketPlan:
        return BracketPlan(self.players, self.size, tuple(self._series), tuple(self._steps))


def find_bracket_size(players: int) -> int:
    """Return the smallest power of two that holds all players; 0 for none."""
    return 1 << (players - 1).bit_length() if players else 0


def order_seeds(size: int) -> list[int]:
    """Order the seeds of a bracket from top to bottom: seeds 1 and 2 can only meet in the final, and so on."""
    seeds = [1] if size else []
    while len(seeds) < size:
        total = 2 * len(seeds) + 1
        seeds = [one for seed in seeds for one in (seed, total - seed)]
    return seeds


def pair_neighbours(sources: Sequence[Source]) -> list[SourcePair]:
    """Pair the first with the second, the third with the fourth, and so on."""
    return list(zip(sources[::2], sources[1::2], strict=True))


def take_winners(level: LevelPlan) -> list[Source]:
    return [Source(Origin.WINNER, index) for index in level.series]


def take_losers(level: LevelPlan) -> list[Source]:
    return [Source(Origin.LOSER, index) for index in level.series]
