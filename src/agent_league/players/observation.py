"""What a strategy sees: the situation of one move, and the player's memory. No wire, no clock."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from random import Random
from typing import Any, Protocol, overload

from agent_league.games.base import Rules
from agent_league.players.legal_moves import spelled

Move = Any
RECALLED = 200
"""So many of the latest moves tell a habit; older ones may be another."""
MOST_PAYOFFS = 4096
"""Rows of a table of payoffs that are read."""


VOID = "VOID"
"""The outcome of a match that counts for nobody."""


@dataclass(frozen=True, slots=True)
class GameRecord:
    """One finished match, as the player remembers it."""

    match_id: str
    game_type: str
    opponent_id: str
    outcome: str
    """WIN, DRAW, LOSS or TECHNICAL_LOSS, from the player's side; VOID where it counts for nobody."""
    my_moves: tuple[Move, ...] = ()
    opponent_moves: tuple[Move, ...] = ()
    league_id: str | None = None
    round_id: int | None = None
    season: str | None = None
    """What tells this league from an earlier or later one under the same id, where the manager says it."""
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Played:
    """What was played in some of our games, oldest first."""

    games: list[GameRecord] = field(default_factory=list)
    mine: list[Move] = field(default_factory=list)
    theirs: list[Move] = field(default_factory=list)


class Memory(Sequence[GameRecord]):
    """Our games, oldest first; those of one game or one opponent are found without looking through all."""

    def __init__(self, games: Iterable[GameRecord] = ()) -> None:
        self._games: list[GameRecord] = []
        self._played: dict[tuple[str, str | None], Played] = {}
        for game in games:
            self.append(game)

    def append(self, game: GameRecord) -> None:
        self._games.append(game)
        for opponent_id in (None, game.opponent_id):
            key = (game.game_type, opponent_id)
            played = self._played.get(key)
            if played is None:
                played = self._played[key] = Played()
            played.games.append(game)
            played.mine += game.my_moves
            played.theirs += game.opponent_moves

    def played(self, game_type: str, opponent_id: str | None = None) -> Played:
        """Our games of one kind; those with one opponent, where it is named."""
        return self._played.get((game_type, opponent_id), NOTHING_PLAYED)

    @overload
    def __getitem__(self, index: int) -> GameRecord: ...
    @overload
    def __getitem__(self, index: slice) -> list[GameRecord]: ...
    def __getitem__(self, index: int | slice) -> GameRecord | list[GameRecord]:
        return self._games[index]

    def __len__(self) -> int:
        return len(self._games)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


NOTHING_PLAYED = Played()


@dataclass(slots=True)
class Observation:
    """The situation in which a move is wanted. Valid until the move is made: whoever keeps it keeps nothing."""

    game_type: str
    match_id: str
    player_id: str
    opponent_id: str | None
    legal_moves: Sequence[Move]
    view: Any = None
    """What the referee shows of the game."""
    step: int = 0
    round_id: int | None = None
    standings: Mapping[str, int] = field(default_factory=dict)
    history: Sequence[GameRecord] = ()
    """All games of ours, oldest first."""
    random: Random = field(default_factory=Random)
    """The dice to use: the same under the same seed."""
    deadline: datetime | None = None
    """When the answer has to be there, by the player's own clock; None where the referee doesn't say."""
    seat: int = 0
    """Ours: 0 is PLAYER_A, 1 is PLAYER_B."""
    rules: Rules | None = field(default=None, repr=False)
    """The rules, where the game is installed here; None: nothing is known of it but the legal moves.

    In a league they are looked up when they are asked for, which may take seconds: nothing for an `instant` strategy.
    """

    @property
    def memory(self) -> Memory:
        return self.history if isinstance(self.history, Memory) else Memory(self.history)

    @property
    def of_this_game(self) -> list[GameRecord]:
        """Our earlier matches in this game; a habit in another one tells nothing here."""
        return self.memory.played(self.game_type).games

    @property
    def against_opponent(self) -> list[GameRecord]:
        """Our earlier matches in this game with this opponent."""
        return self.memory.played(self.game_type, self.opponent_id).games if self.opponent_id else []

    @property
    def rounds(self) -> list[tuple[Move, Move]]:
        """Our move and the opponent's in each earlier round of this match, where the view tells of rounds."""
        return self._pairs(_rounds(self.view) or [])

    @property
    def rounds_over(self) -> int:
        """How many rounds of this match there were, where the view tells of rounds."""
        return len(_rounds(self.view) or [])

    def lately(self, count: int = 1) -> list[tuple[Move, Move]]:
        """Our move and the opponent's in the last rounds: of this match, or, where a match is a single round, of our
        last matches with this opponent."""
        shown = _rounds(self.view)
        if shown is not None:
            return self._pairs(shown[-count:])
        games = self.against_opponent[-count:]
        single = [game for game in games if len(game.my_moves) == len(game.opponent_moves) == 1]
        return [(game.my_moves[0], game.opponent_moves[0]) for game in single]

    def _pairs(self, shown: list[Any]) -> list[tuple[Move, Move]]:
        return [(pair[self.seat], pair[1 - self.seat]) for pair in shown if isinstance(pair, list) and len(pair) == 2]

    @property
    def opponent_moves(self) -> list[Move]:
        """The latest that this opponent played against us, in this match too; what all did, where we never met."""
        now = [theirs for _, theirs in self._pairs((_rounds(self.view) or [])[-RECALLED:])]
        memory = self.memory
        met = memory.played(self.game_type, self.opponent_id) if self.opponent_id else NOTHING_PLAYED
        known = met if met.games or now else memory.played(self.game_type)
        return (known.theirs[-RECALLED:] + now)[-RECALLED:]

    @property
    def my_moves(self) -> list[Move]:
        """The latest that we played in this game, in this match too."""
        now = [mine for mine, _ in self._pairs((_rounds(self.view) or [])[-RECALLED:])]
        return (self.memory.played(self.game_type).mine[-RECALLED:] + now)[-RECALLED:]

    def is_legal(self, move: Move) -> bool:
        """Whether this is one of the legal moves, of which there may be too many to go through."""
        return bool(spelled(move, self.legal_moves))

    @property
    def payoffs(self) -> list[tuple[Move, Move, float, float]]:
        """What each pair of moves pays, where the view tells it: our move, theirs, our payoff, theirs."""
        return _payoffs(self.view, self.seat)

    def best_reply(self, expected: Move) -> Move:
        """What pays best against a move that we expect; where nobody says what pays, something else than that move."""
        known = [(own, ours) for own, other, ours, _ in self.payoffs if other == expected]
        names = None if isinstance(self.legal_moves, range) else set(map(_name, self.legal_moves))
        paid = [(own, value) for own, value in known if (self.is_legal(own) if names is None else _name(own) in names)]
        if not paid:
            return self.other_than(expected)
        most = max(value for _, value in paid)
        return self.random.choice([own for own, value in paid if value == most])

    def other_than(self, move: Move) -> Move:
        """Some legal move that isn't this one."""
        legal, place = self.legal_moves, None
        if isinstance(legal, range):
            place = next(map(legal.index, spelled(move, legal)), None)
        elif others := [option for option in legal if option != move]:
            legal = others
        if place is None or len(legal) == 1:
            return self.random.choice(legal)
        other = self.random.randrange(len(legal) - 1)
        return legal[other + (other >= place)]


def _rounds(view: Any) -> list[Any] | None:
    """The earlier rounds of a match of several; None: a match of one."""
    shown = view.get("rounds") if isinstance(view, Mapping) else None
    return shown if isinstance(shown, list) else None


def _payoffs(view: Any, seat: int) -> list[tuple[Move, Move, float, float]]:
    """The table of a view, which in a repeated game is that of the single game."""
    game = view.get("game") if isinstance(view, Mapping) else None
    tables = [shown.get("payoffs") for shown in (view, game) if isinstance(shown, Mapping)]
    table = next((table for table in tables if isinstance(table, list)), [])
    rows = [
        row for row in table[:MOST_PAYOFFS] if isinstance(row, list) and len(row) == 4 and all(map(_is_number, row[2:]))
    ]
    return [(row[seat], row[1 - seat], row[2 + seat], row[3 - seat]) for row in rows]


def _name(move: Move) -> Any:
    """A move, or a name for one that can't be looked up by itself."""
    return repr(move) if isinstance(move, list | dict) else move


def _is_number(value: Any) -> bool:
    return isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))


def counted(moves: Iterable[Move]) -> list[tuple[Move, int]]:
    """Moves and how often they occur, the most frequent first; a move may be anything that JSON can hold."""
    moves = list(moves)
    try:
        return Counter(moves).most_common()
    except TypeError:  # lists and objects can't be counted by themselves
        by_text = {repr(move): move for move in moves}
        return [(by_text[text], count) for text, count in Counter(map(repr, moves)).most_common()]


@dataclass(frozen=True, slots=True)
class Usage:
    """What a move has cost: it is sent with the move, and so gets into the match file."""

    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    """None where nobody knows the price."""
    latency_ms: int = 0
    attempts: int = 0
    """How often the model was asked."""
    fallback: str | None = None
    """Why the move is not the model's own; None where it is."""


@dataclass(frozen=True, slots=True)
class Thought:
    """A move, what it has cost to find it, and why it was chosen."""

    move: Move
    usage: Usage | None = None
    reason: str | None = None
    """A sentence for the player's log; it is not sent."""


class Strategy(Protocol):
    """An idea of how to play: one function, plain or a coroutine.

    The first line of its class's docstring says in a sentence what it does; a class attribute `games` names the games
    that it is made for, where it isn't made for any. Elsewhere it plays some legal move all the same.

    One that answers at once may say so with a class attribute `instant = True`; it is then called without a thread.
    One that has something to put away has a coroutine `close`, which is called when its player ends; one that has
    something to prepare has a method `prepare(log)`, called when its player is made. One with settings has a class
    method `configured(defaults, remark)`, given `defaults/player.json` and a way to talk to its owner; and maybe a
    `check(defaults)`, which raises a ConfigError before anything starts. One that learns has a method `learn(game)`,
    given the GameRecord of each match that is over; and, to keep what it learned for the next league, `saved()`, which
    gives it as JSON can hold it, and `restore(saved)`.
    """

    def choose(self, observation: Observation) -> Move | Thought:
        """The move to make, by itself or in a Thought."""
        ...
