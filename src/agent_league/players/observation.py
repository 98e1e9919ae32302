"""What a strategy sees: the situation of one move, and the player's memory. No wire, no clock."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from random import Random
from typing import Any, Protocol, overload

from agent_league.games.base import Rules

Move = Any
RECALLED = 200
"""So many of the latest moves tell a habit; older ones may be another."""


@dataclass(frozen=True, slots=True)
class GameRecord:
    """One finished match, as the player remembers it."""

    match_id: str
    game_type: str
    opponent_id: str
    outcome: str
    """WIN, DRAW, LOSS or TECHNICAL_LOSS, from the player's side."""
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
    rules: Rules | None = None
    """The rules, where the game is installed here; None: nothing is known of it but the legal moves."""

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
        shown = self.view.get("rounds") if isinstance(self.view, Mapping) else None
        pairs = shown if isinstance(shown, list) else []
        return [(pair[self.seat], pair[1 - self.seat]) for pair in pairs if isinstance(pair, list) and len(pair) == 2]

    @property
    def opponent_moves(self) -> list[Move]:
        """The latest that this opponent played against us, in this match too; what all did, where we never met."""
        now = [theirs for _, theirs in self.rounds[-RECALLED:]]
        memory = self.memory
        met = memory.played(self.game_type, self.opponent_id) if self.opponent_id else NOTHING_PLAYED
        known = met if met.games or now else memory.played(self.game_type)
        return (known.theirs[-RECALLED:] + now)[-RECALLED:]

    @property
    def my_moves(self) -> list[Move]:
        """The latest that we played in this game, in this match too."""
        now = [mine for mine, _ in self.rounds[-RECALLED:]]
        return (self.memory.played(self.game_type).mine[-RECALLED:] + now)[-RECALLED:]

    @property
    def payoffs(self) -> list[tuple[Move, Move, float, float]]:
        """What each pair of moves pays, where the view tells it: our move, theirs, our payoff, theirs."""
        return _payoffs(self.view, self.seat)

    def best_reply(self, expected: Move) -> Move:
        """What pays best against a move that we expect; where nobody says what pays, something else than that move."""
        known = [(own, ours) for own, other, ours, _ in self.payoffs if other == expected]
        paid = [(own, value) for own, value in known if own in self.legal_moves]
        if not paid:
            return self.other_than(expected)
        most = max(value for _, value in paid)
        return self.random.choice([own for own, value in paid if value == most])

    def other_than(self, move: Move) -> Move:
        """Some legal move that isn't this one."""
        others = [legal for legal in self.legal_moves if legal != move]
        return self.random.choice(others or list(self.legal_moves))


def _payoffs(view: Any, seat: int) -> list[tuple[Move, Move, float, float]]:
    """The table of a view, which in a repeated game is that of the single game."""
    if not isinstance(view, Mapping):
        return []
    table = view.get("payoffs")
    if not isinstance(table, list):
        return _payoffs(view.get("game"), seat)
    rows = [row for row in table if isinstance(row, list) and len(row) == 4]
    return [(row[seat], row[1 - seat], row[2 + seat], row[3 - seat]) for row in rows]


def counted(moves: Iterable[Move]) -> list[tuple[Move, int]]:
    """Moves and how often they occur, the most frequent first; a move may be anything that JSON can hold."""
    moves = list(moves)
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
    """A move, and what it has cost to find it."""

    move: Move
    usage: Usage | None = None


class Strategy(Protocol):
    """An idea of how to play: one function, plain or a coroutine.

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
