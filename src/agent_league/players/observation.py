"""What a strategy sees: the situation of one move, and the player's memory. No wire, no clock."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from random import Random
from typing import Any, Protocol

Move = Any


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


@dataclass(frozen=True, slots=True)
class Observation:
    """The situation in which a move is wanted."""

    game_type: str
    match_id: str
    player_id: str
    opponent_id: str | None
    legal_moves: tuple[Move, ...]
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

    @property
    def of_this_game(self) -> list[GameRecord]:
        """Our earlier matches in this game; a habit in another one tells nothing here."""
        return [game for game in self.history if game.game_type == self.game_type]

    @property
    def against_opponent(self) -> list[GameRecord]:
        """Our earlier matches in this game with this opponent."""
        return [game for game in self.of_this_game if game.opponent_id == self.opponent_id]

    @property
    def opponent_moves(self) -> list[Move]:
        """What this opponent played against us; what all of them did, where we never met."""
        games = self.against_opponent or self.of_this_game
        return [move for game in games for move in game.opponent_moves]

    @property
    def my_moves(self) -> list[Move]:
        return [move for game in self.of_this_game for move in game.my_moves]

    def other_than(self, move: Move) -> Move:
        """Some legal move that isn't this one."""
        others = [legal for legal in self.legal_moves if legal != move]
        return self.random.choice(others or list(self.legal_moves))


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
    `check(defaults)`, which raises a ConfigError before anything starts.
    """

    def choose(self, observation: Observation) -> Move | Thought:
        """The move to make, by itself or in a Thought."""
        ...
