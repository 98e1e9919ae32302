"""What a strategy sees: the situation of one move, and the player's earlier games. No wire, no clock."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from random import Random
from typing import Any, Protocol, overload

from agent_league.games.base import Rules
from agent_league.players.moves import find_equal_moves

Move = Any
MAX_RECALLED_MOVES = 200
"""Moves that `my_moves` and `opponent_moves` go back; older ones say little about present habits."""
MAX_PAYOFF_ROWS = 4096
"""Rows of a payoff table that are read."""


VOID = "VOID"
"""The outcome of a match that doesn't count."""


@dataclass(frozen=True, slots=True)
class GameRecord:
    """One finished match from the player's side."""

    match_id: str
    game_type: str
    opponent_id: str
    outcome: str
    """WIN, DRAW, LOSS or TECHNICAL_LOSS, from the player's side; VOID if it doesn't count."""
    my_moves: tuple[Move, ...] = ()
    opponent_moves: tuple[Move, ...] = ()
    league_id: str | None = None
    round_id: int | None = None
    season: str | None = None
    """Tells this league from others with the same id; None if the manager doesn't send it."""
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class MoveHistory:
    """Some of the player's games and the moves in them, oldest first."""

    games: list[GameRecord] = field(default_factory=list)
    my_moves: list[Move] = field(default_factory=list)
    opponent_moves: list[Move] = field(default_factory=list)


class GameMemory(Sequence[GameRecord]):
    """The player's games, oldest first, indexed by game and opponent."""

    def __init__(self, games: Iterable[GameRecord] = ()) -> None:
        self._games: list[GameRecord] = []
        self._histories: dict[tuple[str, str | None], MoveHistory] = {}
        for game in games:
            self.append(game)

    def append(self, game: GameRecord) -> None:
        self._games.append(game)
        for opponent_id in (None, game.opponent_id):
            key = (game.game_type, opponent_id)
            played = self._histories.get(key)
            if played is None:
                played = self._histories[key] = MoveHistory()
            played.games.append(game)
            played.my_moves += game.my_moves
            played.opponent_moves += game.opponent_moves

    def find_history(self, game_type: str, opponent_id: str | None = None) -> MoveHistory:
        """Return the games of one type, or only those against `opponent_id`."""
        return self._histories.get((game_type, opponent_id), EMPTY_HISTORY)

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


EMPTY_HISTORY = MoveHistory()


@dataclass(slots=True)
class Observation:
    """The situation in which a move is wanted. Valid until the move is made; don't store it."""

    game_type: str
    """The game, such as `tic_tac_toe`."""
    match_id: str
    player_id: str
    """The player's own id."""
    opponent_id: str | None
    """The other's id; None if the referee doesn't say it."""
    legal_moves: Sequence[Move]
    """The moves to choose from; a long range of numbers is a `range`."""
    view: Any = None
    """What the referee shows of the game."""
    step: int = 0
    """How many times the match has asked somebody before."""
    round_id: int | None = None
    standings: Mapping[str, int] = field(default_factory=dict)
    """The player's wins, losses and draws in this league so far."""
    history: Sequence[GameRecord] = ()
    """All earlier games of the player, oldest first."""
    random: Random = field(default_factory=Random)
    """The dice to use: the same under the same seed."""
    deadline: datetime | None = None
    """When the answer must arrive, by the player's own clock; None if the referee sets no deadline."""
    seat: int = 0
    """The player's seat: 0 is PLAYER_A, 1 is PLAYER_B."""
    rules: Rules | None = field(default=None, repr=False)
    """The rules of the game; None if it isn't installed here.

    In a league they are loaded on first access, which may take seconds: an `instant` strategy should not use them.
    """
    thinking_seconds: float | None = None
    """How long to think at most, for a strategy that can stop; None where play must be repeatable."""

    @property
    def memory(self) -> GameMemory:
        """`history`, in which one game or opponent is found at once."""
        return self.history if isinstance(self.history, GameMemory) else GameMemory(self.history)

    @property
    def of_this_game(self) -> list[GameRecord]:
        """The player's earlier matches in this game."""
        return self.memory.find_history(self.game_type).games

    @property
    def against_opponent(self) -> list[GameRecord]:
        """The player's earlier matches in this game with this opponent."""
        return self.memory.find_history(self.game_type, self.opponent_id).games if self.opponent_id else []

    @property
    def rounds(self) -> list[tuple[Move, Move]]:
        """Own move and the opponent's in each earlier round of this match; empty if the view has no rounds."""
        return self._order_pairs(self._find_rounds() or [])

    @property
    def rounds_over(self) -> int:
        """The number of finished rounds of this match; 0 if the view has no rounds."""
        return len(self._find_rounds() or [])

    def lately(self, count: int = 1) -> list[tuple[Move, Move]]:
        """Own move and the opponent's in the last `count` rounds of this match; if a match is a single round, in the
        last matches with this opponent."""
        shown = self._find_rounds()
        if shown is not None:
            return self._order_pairs(shown[-count:])
        games = self.against_opponent[-count:]
        single = [game for game in games if len(game.my_moves) == len(game.opponent_moves) == 1]
        return [(game.my_moves[0], game.opponent_moves[0]) for game in single]

    def _find_rounds(self) -> list[Any] | None:
        """The finished rounds in the view of a repeated game; None for a single game."""
        shown = self.view.get("rounds") if isinstance(self.view, Mapping) else None
        return shown if isinstance(shown, list) else None

    def _order_pairs(self, shown: list[Any]) -> list[tuple[Move, Move]]:
        return [(pair[self.seat], pair[1 - self.seat]) for pair in shown if isinstance(pair, list) and len(pair) == 2]

    @property
    def opponent_moves(self) -> list[Move]:
        """The latest moves of this opponent in this game, this match included; of all opponents, if never met."""
        now = [theirs for _, theirs in self._order_pairs((self._find_rounds() or [])[-MAX_RECALLED_MOVES:])]
        memory = self.memory
        met = memory.find_history(self.game_type, self.opponent_id) if self.opponent_id else EMPTY_HISTORY
        known = met if met.games or now else memory.find_history(self.game_type)
        return (known.opponent_moves[-MAX_RECALLED_MOVES:] + now)[-MAX_RECALLED_MOVES:]

    @property
    def my_moves(self) -> list[Move]:
        """The player's latest moves in this game, this match included."""
        now = [mine for mine, _ in self._order_pairs((self._find_rounds() or [])[-MAX_RECALLED_MOVES:])]
        return (self.memory.find_history(self.game_type).my_moves[-MAX_RECALLED_MOVES:] + now)[-MAX_RECALLED_MOVES:]

    def is_legal(self, move: Move) -> bool:
        """Whether a move is one of the legal moves; fast for a long range, too."""
        return bool(find_equal_moves(move, self.legal_moves))

    @property
    def payoffs(self) -> list[tuple[Move, Move, float, float]]:
        """Payoffs of each pair of moves, if the view has them: own move, the opponent's, own payoff, the opponent's."""
        return read_payoff_table(find_payoff_table(self.view), self.seat)

    def best_reply(self, expected: Move) -> Move:
        """Return the move that pays best against an expected one; without payoffs, any other move than that."""
        known = [(own, ours) for own, other, ours, _ in self.payoffs if other == expected]
        names = None if isinstance(self.legal_moves, range) else set(map(_hashable_move, self.legal_moves))
        paid = [
            (own, value)
            for own, value in known
            if (self.is_legal(own) if names is None else _hashable_move(own) in names)
        ]
        if not paid:
            return self.other_than(expected)
        most = max(value for _, value in paid)
        return self.random.choice([own for own, value in paid if value == most])

    def other_than(self, move: Move) -> Move:
        """Return a random legal move other than `move`, if there is one."""
        legal, place = self.legal_moves, None
        if isinstance(legal, range):
            place = next(map(legal.index, find_equal_moves(move, legal)), None)
        elif others := [option for option in legal if option != move]:
            legal = others
        if place is None or len(legal) == 1:
            return self.random.choice(legal)
        other = self.random.randrange(len(legal) - 1)
        return legal[other + (other >= place)]


def find_payoff_table(view: Any) -> list[Any]:
    """Find the payoff table of a view, or of the single game in it; empty if there is none."""
    game = view.get("game") if isinstance(view, Mapping) else None
    tables = [shown.get("payoffs") for shown in (view, game) if isinstance(shown, Mapping)]
    return next((table for table in tables if isinstance(table, list)), [])


def read_payoff_table(table: list[Any], seat: int) -> list[tuple[Move, Move, float, float]]:
    """Read a payoff table from the side of `seat`."""
    rows = [
        row
        for row in table[:MAX_PAYOFF_ROWS]
        if isinstance(row, list) and len(row) == 4 and all(map(_is_number, row[2:]))
    ]
    return [(row[seat], row[1 - seat], row[2 + seat], row[3 - seat]) for row in rows]


def _hashable_move(move: Move) -> Any:
    """The move itself, or its text if it can't be hashed."""
    return repr(move) if isinstance(move, list | dict) else move


def _is_number(value: Any) -> bool:
    return isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))


def count_moves(moves: Iterable[Move]) -> list[tuple[Move, int]]:
    """Count how often each move occurs, the most frequent first; moves may be any JSON."""
    moves = list(moves)
    try:
        return Counter(moves).most_common()
    except TypeError:  # lists and objects can't be hashed
        by_text = {repr(move): move for move in moves}
        return [(by_text[text], count) for text, count in Counter(map(repr, moves)).most_common()]


@dataclass(frozen=True, slots=True)
class Usage:
    """What a move cost; sent with the move and written into the match file."""

    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    """None if the price isn't known."""
    latency_ms: int = 0
    attempts: int = 0
    """How often the model was asked."""
    fallback: str | None = None
    """Why the fallback chose the move; None if the model did."""
    illegal_answers: int = 0
    """How often the model named no legal move."""
    late_answers: int = 0
    """How often it didn't answer in time."""


@dataclass(frozen=True, slots=True)
class Thought:
    """A move, what finding it cost, and why it was chosen."""

    move: Move
    usage: Usage | None = None
    reason: str | None = None
    """A sentence for the player's log; it is not sent."""
    reasoning: str | None = None
    """What is sent with the move, for the match file: others may read it once the match is over."""


class Strategy(Protocol):
    """How to play: one function, plain or a coroutine.

    The first line of the class's docstring says in a sentence what it does. A class attribute `games` lists the games
    that it is made for, if not any; in others it must play some legal move all the same.

    Optional members:
    `instant = True`: it answers at once, and is called without a thread;
    `memory = 1`: in a match of several rounds it looks at nothing but the last round, the legal moves, the payoffs and
    its dice; `is_uniform = True`: it plays `random.choice` of the legal moves, whatever happens. Series of many games
    then ask it less often;
    `is_unaided = True`: it speaks for somebody else's agent: its moves are sent as they are, legal or not, a question
    that is repeated is asked again, and a Refusal that it raises is the answer;
    `prepare(log)`: called when its player is created; `close()`, a coroutine: called when its player ends;
    `configured(defaults, remark)`, a class method: creates it from `defaults/player.json`, with a function that shows
    its owner a sentence; `check(defaults)`: raises ConfigError before anything starts; `with_argument(defaults, text)`:
    the defaults for `NAME:text`, if the strategy's name may be followed by more;
    `learn(game)`: called with the GameRecord of each finished match; `saved()` and `restore(saved)`: what it learned as
    JSON data, to be stored for the next league.
    """

    def choose(self, observation: Observation) -> Move | Thought:
        """Choose a move; returned by itself or in a Thought."""
        ...
