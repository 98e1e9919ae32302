"""A match as a pure state machine, driven by joins, moves, draws and failures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from agent_league.games.base import CHANCE, Move, State, describe_range, is_legal_move, is_long_range, winning_seat
from agent_league.games.game_messages import PlainWire
from agent_league.games.registry import Game
from agent_league.model.results import VOID_REASON, MatchState, MatchVerdict, Outcome, Termination
from agent_league.protocol.v2.match import GameResult
from agent_league.text import MAX_PHRASE, quote

SEAT_ROLES = ("PLAYER_A", "PLAYER_B")
MAX_SHOWN_MOVES = 50


class IllegalMove(Exception):
    """A move that the rules don't allow in this position."""


@dataclass(slots=True)
class Match:
    """One match; `players` has the player ids by seat."""

    match_id: str
    players: tuple[str, str]
    game: Game
    state: MatchState = MatchState.WAITING_FOR_PLAYERS
    joined_players: set[str] = field(default_factory=set)
    terminations: dict[str, Termination] = field(default_factory=dict)
    moves: list[dict[str, Move]] = field(default_factory=list)
    """The received moves by player, one entry a step; the last may lack a player who failed."""
    legal_moves: dict[str, Sequence[Move]] = field(default_factory=dict)
    """The legal moves of each player who has to move now; may be ranges that are too long to iterate over."""
    step: int = 0
    position: State = None

    def __post_init__(self) -> None:
        self.position = self.game.rules.new(self.game.parameters)

    def opponent_of(self, player_id: str) -> str:
        return self.players[1] if player_id == self.players[0] else self.players[0]

    def role_of(self, player_id: str) -> str:
        return SEAT_ROLES[self.players.index(player_id)]

    def record_join(self, player_id: str) -> None:
        self.joined_players.add(player_id)
        if len(self.joined_players) == len(self.players):
            self._enter_position(self.position)

    def record_failure(self, player_id: str, how: Termination) -> None:
        """Record how a player failed, which finishes the match."""
        self.terminations[player_id] = how
        self.state = MatchState.FINISHED

    def fall_back_to_plain_wire(self) -> None:
        """Use the plain wire if the game's own can't describe this match; called before a match is aborted."""
        try:
            told = self.game.result_fields(self.position, self.moves, self.players)
            GameResult.model_validate({"status": str(Outcome.TECHNICAL_LOSS), **told})
            orjson.dumps((told, {**self.game.wire.details(self.position, self.moves, self.players)}))
        except Exception:  # noqa: BLE001 - a third party's rules and wire may raise anything
            self.game = replace(self.game, wire=PlainWire(), payoffs=False)

    def check_move(self, player_id: str, move: Move) -> None:
        """Raise IllegalMove, with the legal moves in its message, unless the move is one: same value, same type."""
        if not is_legal_move(self.legal_moves[player_id], move):
            raise IllegalMove(self.describe_legal_moves(player_id))

    def describe_legal_moves(self, player_id: str) -> str:
        """Say which moves are expected of a player."""
        options = self.legal_moves[player_id]
        if is_long_range(options):
            return f"expected one of {describe_range(options)}"
        return f"expected one of {quote(list(options[:MAX_SHOWN_MOVES]), MAX_PHRASE)}"

    def apply_moves(self, moves: Mapping[str, Move]) -> None:
        """Apply the moves of this step, by player; fewer than were asked for if a player failed."""
        self.moves.append(dict(moves))
        if self.state is MatchState.COLLECTING_CHOICES:
            by_seat = {self.players.index(player_id): move for player_id, move in moves.items()}
            self.step += 1
            self._enter_position(self.game.rules.apply(self.position, by_seat))

    def chance_outcomes(self) -> list[tuple[Any, float]]:
        return list(self.game.rules.legal(self.position, CHANCE))

    def apply_draw(self, outcome: Any) -> None:
        self.step += 1
        self._enter_position(self.game.rules.apply(self.position, {CHANCE: outcome}))

    def decide_verdict(self) -> MatchVerdict:
        """Decide who won and why; the match must be finished."""
        if self.terminations:
            failed = [player for player in self.players if player in self.terminations]
            if all(self.terminations.get(player) is Termination.VOID for player in self.players):
                return MatchVerdict(Outcome.TECHNICAL_LOSS, None, VOID_REASON)
            winner = None if len(failed) == len(self.players) else self.opponent_of(failed[0])
            why = ", ".join(f"{player}: {self.terminations[player].replace('_', ' ')}" for player in failed)
            return MatchVerdict(Outcome.TECHNICAL_LOSS, winner, f"Technical loss ({why})")
        seat = winning_seat(self.game.rules.returns(self.position))
        winner = None if seat is None else self.players[seat]
        reason = self.game.wire.reason(self.position, self.moves, self.players, winner)
        return MatchVerdict(Outcome.WIN if winner else Outcome.DRAW, winner, reason)

    def _enter_position(self, position: State) -> None:
        """Go on from a position: who acts there decides the state."""
        self.position, rules = position, self.game.rules
        actors = rules.actors(position)
        if not actors:
            self.state = MatchState.FINISHED
        elif actors == (CHANCE,):
            self.state = MatchState.DRAWING_NUMBER
        else:
            self.state = MatchState.COLLECTING_CHOICES
            self.legal_moves = {self.players[seat]: rules.legal(position, seat) for seat in actors}
