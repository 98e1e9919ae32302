"""Messages of a game: the question to a player, its answer, and the game's fields of a result.

`PlainWire` serves any game with GAME_MOVE_CALL; a game with messages of its own has its own `Wire`. A player that
doesn't name the game among its `game_types` is asked with GAME_MOVE_CALL.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from agent_league.errors import ErrorCode
from agent_league.games.base import Move, State, is_long_range, winning_seat
from agent_league.games.move_schema import moves_to_schema
from agent_league.protocol.envelope import Message
from agent_league.protocol.v2 import GameMoveCall, GameMoveResponse

Moves = Sequence[Mapping[str, Move]]
"""The moves of a match, step by step: player id -> move."""


class Wire(Protocol):
    """How a game's questions, answers and results are written into messages."""

    method: str
    call: type[Message]
    answer: type[Message]
    illegal: ErrorCode
    """The error code for an illegal move."""

    def question(self, game_type: str, view: Any, legal: Sequence[Move], step: int, role: str) -> dict[str, Any]:
        """Return the game's own fields of the call."""
        ...

    def move(self, answer: Message) -> Move:
        """Return the move in an answer."""
        ...

    def result(self, state: State, moves: Moves, players: Sequence[str]) -> dict[str, Any]:
        """Return the game's own fields of `game_result`; `state` isn't final if the match was aborted."""
        ...

    def details(self, state: State, moves: Moves, players: Sequence[str]) -> dict[str, Any]:
        """Return the `details` of the match report."""
        ...

    def reason(self, state: State, moves: Moves, players: Sequence[str], winner: str | None) -> str:
        """Describe in a sentence why it ended so."""
        ...


class PlainWire:
    """The messages for games without their own: GAME_MOVE_CALL and GAME_MOVE_RESPONSE."""

    method = "make_move"
    call: type[Message] = GameMoveCall
    answer: type[Message] = GameMoveResponse
    illegal = ErrorCode.INVALID_MOVE

    def question(self, game_type: str, view: Any, legal: Sequence[Move], step: int, role: str) -> dict[str, Any]:
        return {
            "move_request": {
                "move_type": game_type,
                **legal_move_fields(legal),
                "context": view,
                "step": step,
                "your_role": role,
            }
        }

    def move(self, answer: Message) -> Move:
        return answer.move_data if isinstance(answer, GameMoveResponse) else None

    def result(self, state: State, moves: Moves, players: Sequence[str]) -> dict[str, Any]:
        return {"choices": {player: [step[player] for step in moves if player in step] for player in players}}

    def details(self, state: State, moves: Moves, players: Sequence[str]) -> dict[str, Any]:
        return {"moves": [dict(step) for step in moves]}

    def reason(self, state: State, moves: Moves, players: Sequence[str], winner: str | None) -> str:
        made = _format_count(len(moves), "move")
        return f"{winner} won after {made}" if winner else f"draw after {made}"


class RepeatedWire(PlainWire):
    """The messages for a match of several games; the reason has the score."""

    def __init__(self, single: Wire, *, amounts: bool = False) -> None:
        """Replace `single`. With `amounts`, the reason gives scores, not games won, unless `first_to` is set."""
        self.single = single
        self._counts_amounts = amounts

    def reason(self, state: State, moves: Moves, players: Sequence[str], winner: str | None) -> str:
        wins, scores = state["wins"], state["scores"]
        tells = not self._counts_amounts and winning_seat(wins) == winning_seat(scores)
        a, b = wins if tells or state["first_to"] is not None else scores
        rounds = _format_count(len(state["rounds"]), "round")
        if winner is None:
            return f"draw, {a:g} to {b:g} after {rounds}"
        own, other = (a, b) if winner == players[0] else (b, a)
        return f"{winner} won {own:g} to {other:g} after {rounds}"


def legal_move_fields(legal: Sequence[Move]) -> dict[str, Any]:
    """Return the message field with the legal moves: `valid_options`, or `move_schema` for a long range."""
    schema = moves_to_schema(legal) if is_long_range(legal) else None
    return {"valid_options": list(legal)} if schema is None else {"move_schema": schema}


def _format_count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
