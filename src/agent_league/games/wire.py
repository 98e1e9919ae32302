"""How a game talks: the question to a player, its answer, and the words of a result.

`PlainWire` serves every game with GAME_MOVE_CALL; a game with messages of its own brings its own `Wire`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from agent_league.errors import ErrorCode
from agent_league.games.base import Move, State
from agent_league.protocol.envelope import Message
from agent_league.protocol.v2 import GameMoveCall, GameMoveResponse

Moves = Sequence[Mapping[str, Move]]
"""The moves of a match, step by step: player id -> move."""


class Wire(Protocol):
    """The words of a game."""

    method: str
    call: type[Message]
    answer: type[Message]
    illegal: ErrorCode
    """What is said of a move that the rules don't allow."""

    def question(self, game_type: str, view: Any, legal: Sequence[Move], step: int, role: str) -> dict[str, Any]:
        """The fields that the call has beside those of every call."""
        ...

    def move(self, answer: Message) -> Move:
        """The move inside an answer."""
        ...

    def result(self, state: State, moves: Moves, players: Sequence[str]) -> dict[str, Any]:
        """The game's own fields of `game_result`; `state` may be one in which the match broke off."""
        ...

    def details(self, state: State, moves: Moves, players: Sequence[str]) -> dict[str, Any]:
        """The `details` of the report."""
        ...

    def reason(self, state: State, moves: Moves, players: Sequence[str], winner: str | None) -> str:
        """Why it ended so, in a sentence."""
        ...


class PlainWire:
    """The words for a game that brings none."""

    method = "make_move"
    call: type[Message] = GameMoveCall
    answer: type[Message] = GameMoveResponse
    illegal = ErrorCode.INVALID_MOVE

    def question(self, game_type: str, view: Any, legal: Sequence[Move], step: int, role: str) -> dict[str, Any]:
        return {
            "move_request": {
                "move_type": game_type,
                "valid_options": list(legal),
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
        return f"{winner} won after {len(moves)} moves" if winner else f"draw after {len(moves)} moves"
