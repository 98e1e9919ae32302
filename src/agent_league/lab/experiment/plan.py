"""Which meetings an experiment has, and how they are cut into pieces that take about as long.

Meetings are numbered in the order of their rows: by game, by pair, by seed. It plays nothing and writes nothing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations

from agent_league.errors import UserError
from agent_league.lab.experiment.contestants import GameSpec, PlayerKind, PlayerSpec
from agent_league.lab.experiment.pieces import Piece, PieceResult

PIECE_SECONDS = 0.25
"""How long a piece should take: much longer than sending it, short enough that little is lost if it is."""
TIMED_SEEDS = 10
"""Of so many seeds it is measured how long the players think: a clock costs as much as a quick move."""


@dataclass(frozen=True, slots=True)
class Shard:
    """A part of the meetings, for a machine that knows nothing of the others: number `index` of `count`, from 1."""

    index: int
    count: int

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """Parse `2/3`; raises UserError."""
        match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text, re.ASCII)
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise UserError(f"expected I/N with I from 1 to N, such as 1/3; found {text!r}")
        return cls(int(match[1]), int(match[2]))


@dataclass(frozen=True, slots=True)
class ExperimentPlan:
    """What is to be played: every pair of players, or all with the first, in every game, with every seed."""

    games: tuple[GameSpec, ...]
    players: tuple[PlayerSpec, ...]
    seeds: tuple[str, ...]
    rounds: int = 1
    full: bool = False
    """Whether each meeting is a whole league."""
    is_gauntlet: bool = False
    """Whether only the first player meets the others."""
    by_messages: bool = False
    """Whether all players are called, as those at addresses always are."""

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        every = tuple(combinations(range(len(self.players)), 2))
        return every[: len(self.players) - 1] if self.is_gauntlet else every

    @property
    def matchup_count(self) -> int:
        """The number of pairs in all games."""
        return len(self.games) * len(self.pairs)

    @property
    def meeting_count(self) -> int:
        return self.matchup_count * len(self.seeds)

    @property
    def games_per_meeting(self) -> int:
        return 2 * self.rounds

    def find_called_matchups(self) -> set[int]:
        """Return the numbers of the matchups that are played by messages."""
        return {
            matchup.number
            for matchup in self.list_matchups()
            if self.by_messages or any(self.players[player].kind is PlayerKind.ADDRESS for player in matchup.pair)
        }

    def list_matchups(self) -> "tuple[Matchup, ...]":
        """Return each pair in each game, in the order of the rows."""
        pairs = self.pairs
        return tuple(
            Matchup(game * len(pairs) + place, game, pair)
            for game in range(len(self.games))
            for place, pair in enumerate(pairs)
        )

    def mark_others(self, shard: "Shard | None", *, whole_matchups: bool) -> bytearray:
        """Return a byte for each meeting: 1 if it isn't of this shard, else 0; None: all are of it.

        Shards take turns, so that each has its part of slow games; with `whole_matchups` by matchup, else by meeting.
        """
        number = self.meeting_count
        if shard is None:
            return bytearray(number)
        length = len(self.seeds) if whole_matchups else 1
        turns = b"\x01" * length * (shard.index - 1) + bytes(length) + b"\x01" * length * (shard.count - shard.index)
        return bytearray((turns * -(-number // len(turns)))[:number])

    def describe_meeting(self, number: int) -> str:
        """Name a meeting for a person."""
        matchup, seed = divmod(number, len(self.seeds))
        game, place = divmod(matchup, len(self.pairs))
        one, other = (self.players[player].label for player in self.pairs[place])
        return f"{self.games[game].label}: {one} - {other}, seed {self.seeds[seed]}"


@dataclass(frozen=True, slots=True)
class Matchup:
    """A pair of players in one game."""

    number: int
    game: int
    pair: tuple[int, int]


@dataclass(slots=True)
class _Queue:
    """The meetings of a matchup that are still to be played, in the order of seeds."""

    matchup: Matchup
    next: int
    """Number of a meeting; no earlier one waits."""
    left: int
    """How many wait."""
    seconds: float | None = None
    """How long a meeting took, lately; None: not known."""


@dataclass(slots=True)
class PiecePlanner:
    """Cuts meetings into pieces as an engine asks for them; told how long pieces took, it sizes the next ones.

    The matchups take turns, so that an interruption is fair to all of them.
    """

    plan: ExperimentPlan
    settled: bytearray | None = None
    """A byte for each meeting: 1 if it isn't to be played. None: all are."""
    _queues: dict[int, _Queue] = field(init=False)
    _under_way: dict[int, tuple[int, list[int]]] = field(init=False, default_factory=dict)
    """By piece, the matchup and its meetings."""
    _last_id: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.settled = settled = self.settled or bytearray(self.plan.meeting_count)
        size = len(self.plan.seeds)
        self._queues = {}
        for matchup in self.plan.list_matchups():
            first = matchup.number * size
            if left := settled.count(0, first, first + size):
                self._queues[matchup.number] = _Queue(matchup, first, left)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left to be planned."""
        return not any(queue.left for queue in self._queues.values())

    def list_pieces(self) -> Iterator[Piece]:
        """Yield pieces until every meeting is in one."""
        while not self.is_empty:
            for queue in self._queues.values():
                if queue.left:
                    yield self._cut_piece(queue)

    def finish_piece(self, result: PieceResult) -> list[int]:
        """Take note of a result, and return the numbers of its meetings, in the order of its rows."""
        number, planned = self._under_way.pop(result.piece_id)
        if result.ends_matchup:
            self.end_matchup(number)
        meetings = planned[: len(result.rows) // self.plan.games_per_meeting]
        if meetings:
            self._queues[number].seconds = result.seconds / len(meetings)
        return meetings

    def estimate_seconds(self) -> float | None:
        """Estimate how long the rest takes by itself, in one process; None: nothing is known yet."""
        known = [queue.seconds for queue in self._queues.values() if queue.seconds is not None]
        if not known:
            return None
        typical = sum(known) / len(known)
        waiting = sum(queue.left * (queue.seconds or typical) for queue in self._queues.values())
        under_way = sum(
            len(meetings) * (self._queues[number].seconds or typical) for number, meetings in self._under_way.values()
        )
        return waiting + under_way / 2

    def end_matchup(self, number: int) -> None:
        """Plan no more meetings of a matchup."""
        if number in self._queues:
            self._queues[number].left = 0

    def _cut_piece(self, queue: _Queue) -> Piece:
        size = 1 if queue.seconds is None else max(1, int(PIECE_SECONDS / max(queue.seconds, 1e-9)))
        meetings = [self._take_next(queue) for _ in range(min(size, queue.left))]
        self._last_id += 1
        self._under_way[self._last_id] = (queue.matchup.number, meetings)
        plan, (one, other) = self.plan, queue.matchup.pair
        seeds = [meeting % len(plan.seeds) for meeting in meetings]
        return Piece(
            self._last_id,
            plan.games[queue.matchup.game],
            (plan.players[one], plan.players[other]),
            tuple(plan.seeds[seed] for seed in seeds),
            plan.rounds,
            frozenset(plan.seeds[seed] for seed in seeds if seed < TIMED_SEEDS),
            plan.full,
        )

    def _take_next(self, queue: _Queue) -> int:
        meeting = (self.settled or b"").find(0, queue.next)
        queue.next = meeting + 1
        queue.left -= 1
        return meeting
