"""A match as a pure state machine, driven by joins, moves, draws and failures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from agent_league.games.base import CHANCE, Move, State, allows, in_words, is_long, winning_seat
from agent_league.games.game_messages import PlainWire
from agent_league.games.registry import Game
from agent_league.model.results import VOID_REASON, MatchState, Outcome, Termination
from agent_league.protocol.v2.game import GameResult

ROLES = ("PLAYER_A", "PLAYER_B")
SHOWN_MOVES = 50


class IllegalMove(Exception):
    """A move that the rules don't allow in this position."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Outcome, winner and reason of a finished match."""

    outcome: Outcome
    winner: str | None
    reason: str


@dataclass(slots=True)
class Match:
    """One match; `players` has the player ids by seat."""

    match_id: str
    players: tuple[str, str]
    game: Game
    state: MatchState = MatchState.WAITING_FOR_PLAYERS
    joined: set[str] = field(default_factory=set)
    terminations: dict[str, Termination] = field(default_factory=dict)
    moves: list[dict[str, Move]] = field(default_factory=list)
    """The received moves by player, one entry a step; the last may lack a player who failed."""
    step: int = 0
    position: State = None

    def __post_init__(self) -> None:
        self.position = self.game.rules.new(self.game.parameters)

    def opponent(self, player_id: str) -> str:
        return self.players[1] if player_id == self.players[0] else self.players[0]

    def role(self, player_id: str) -> str:
        return ROLES[self.players.index(player_id)]

    def join(self, player_id: str) -> None:
        self.joined.add(player_id)
        if len(self.joined) == len(self.players):
            self._enter_next()

    def fail(self, player_id: str, how: Termination) -> None:
        """Record how a player failed, which finishes the match."""
        self.terminations[player_id] = how
        self.state = MatchState.FINISHED

    def rest_in_plain_words(self) -> None:
        """Use the plain wire if the game's own can't describe this match; called before a match is aborted."""
        try:
            told = self.game.result(self.position, self.moves, self.players)
            GameResult.model_validate({"status": str(Outcome.TECHNICAL_LOSS), **told})
            orjson.dumps((told, {**self.game.wire.details(self.position, self.moves, self.players)}))
        except Exception:  # noqa: BLE001 - a third party's rules and wire may raise anything
            self.game = replace(self.game, wire=PlainWire(), payoffs=False)

    def to_move(self) -> tuple[str, ...]:
        """Return the players who have to move now."""
        if self.state is not MatchState.COLLECTING_CHOICES:
            return ()
        return tuple(self.players[seat] for seat in self.game.rules.actors(self.position))

    def options(self, player_id: str) -> Sequence[Move]:
        """Return a player's legal moves; may be a range that is too long to iterate over."""
        return self.game.rules.legal(self.position, self.players.index(player_id))

    def view(self, player_id: str) -> Any:
        return self.game.rules.view(self.position, self.players.index(player_id))

    def allows(self, player_id: str, move: Move) -> bool:
        """Whether the rules allow this player this move now: same value, same type."""
        return allows(self.options(player_id), move)

    def check(self, player_id: str, move: Move) -> None:
        """Raise IllegalMove, with the legal moves in its message, unless the move is legal."""
        if self.allows(player_id, move):
            return
        options = self.options(player_id)
        if is_long(options):
            raise IllegalMove(f"expected one of {in_words(options)}")
        raise IllegalMove(f"expected one of {list(options[:SHOWN_MOVES])!r:.200}")

    def play(self, moves: Mapping[str, Move]) -> None:
        """Apply the moves of this step, by player; fewer than were asked for if a player failed."""
        self.moves.append(dict(moves))
        if self.state is MatchState.COLLECTING_CHOICES:
            self._apply({self.players.index(player_id): move for player_id, move in moves.items()})

    def chances(self) -> list[tuple[Any, float]]:
        return list(self.game.rules.legal(self.position, CHANCE))

    def drawn(self, outcome: Any) -> None:
        self._apply({CHANCE: outcome})

    def verdict(self) -> Verdict:
        """Decide who won and why; the match must be finished."""
        if self.terminations:
            failed = [player for player in self.players if player in self.terminations]
            if all(self.terminations.get(player) is Termination.VOID for player in self.players):
                return Verdict(Outcome.TECHNICAL_LOSS, None, VOID_REASON)
            winner = None if len(failed) == len(self.players) else self.opponent(failed[0])
            why = ", ".join(f"{player}: {self.terminations[player].replace('_', ' ')}" for player in failed)
            return Verdict(Outcome.TECHNICAL_LOSS, winner, f"Technical loss ({why})")
        seat = winning_seat(self.game.rules.returns(self.position))
        winner = None if seat is None else self.players[seat]
        reason = self.game.wire.reason(self.position, self.moves, self.players, winner)
        return Verdict(Outcome.WIN if winner else Outcome.DRAW, winner, reason)

    def _apply(self, moves: Mapping[int, Move]) -> None:
        self.position = self.game.rules.apply(self.position, moves)
        self.step += 1
        self._enter_next()

    def _enter_next(self) -> None:
        actors = self.game.rules.actors(self.position)
        if not actors:
            self.state = MatchState.FINISHED
        elif actors == (CHANCE,):
            self.state = MatchState.DRAWING_NUMBER
        else:
            self.state = MatchState.COLLECTING_CHOICES
