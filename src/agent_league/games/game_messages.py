"""How a game talks: the question to a player, its answer, and the words of a result.

`PlainWire` serves every game with GAME_MOVE_CALL; a game with messages of its own brings its own `Wire`. A player that
doesn't know the game is asked in the plain words.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from agent_league.errors import ErrorCode
from agent_league.games.base import Move, State, is_long, winning_seat
from agent_league.protocol.envelope import Message
from agent_league.protocol.move_schema import schema_of
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
                **offered(legal),
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
        made = _counted(len(moves), "move")
        return f"{winner} won after {made}" if winner else f"draw after {made}"


class RepeatedWire(PlainWire):
    """The words for a match of several games: the reason tells how it stood."""

    def __init__(self, single: Wire, *, amounts: bool = False) -> None:
        """In place of `single`. With `amounts`, what was scored counts, and not only who won how many games."""
        self.single = single
        self._amounts = amounts

    def reason(self, state: State, moves: Moves, players: Sequence[str], winner: str | None) -> str:
        wins, scores = state["wins"], state["scores"]
        tells = not self._amounts and winning_seat(wins) == winning_seat(scores)
        a, b = wins if tells or state["first_to"] is not None else scores
        rounds = _counted(len(state["rounds"]), "round")
        if winner is None:
            return f"draw, {a:g} to {b:g} after {rounds}"
        own, other = (a, b) if winner == players[0] else (b, a)
        return f"{winner} won {own:g} to {other:g} after {rounds}"


def offered(legal: Sequence[Move]) -> dict[str, Any]:
    """The legal moves as a player is told them: one by one, or as a schema where they are very many numbers."""
    schema = schema_of(legal) if is_long(legal) else None
    return {"valid_options": list(legal)} if schema is None else {"move_schema": schema}


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
