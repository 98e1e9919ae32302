"""The messages of Even/Odd: CHOOSE_PARITY_CALL, and the drawn number in every result, read again from reports."""

from collections.abc import Mapping, Sequence
from typing import Any

from agent_league.errors import ErrorCode
from agent_league.games.base import BadParameters, Move, Rules, State, winning_seat
from agent_league.games.even_odd.rules import PARITIES, EvenOddRules, parity_of
from agent_league.games.game_messages import Moves
from agent_league.protocol.envelope import Message
from agent_league.protocol.v2 import ChooseParityCall, ChooseParityResponse


class EvenOddWire:
    """CHOOSE_PARITY_CALL and CHOOSE_PARITY_RESPONSE."""

    method = "choose_parity"
    call: type[Message] = ChooseParityCall
    answer: type[Message] = ChooseParityResponse
    illegal = ErrorCode.INVALID_PARITY_CHOICE

    def question(self, game_type: str, view: Any, legal: Sequence[Move], step: int, role: str) -> dict[str, Any]:
        return {}

    def move(self, answer: Message) -> Move:
        return answer.parity_choice if isinstance(answer, ChooseParityResponse) else None

    def result(self, state: State, moves: Moves, players: Sequence[str]) -> dict[str, Any]:
        number = state["number"]
        return {
            "drawn_number": number,
            "number_parity": None if number is None else parity_of(number),
            "choices": self._choices_by_player(moves, players),
        }

    def details(self, state: State, moves: Moves, players: Sequence[str]) -> dict[str, Any]:
        return {"drawn_number": state["number"], "choices": self._choices_by_player(moves, players)}

    def reason(self, state: State, moves: Moves, players: Sequence[str], winner: str | None) -> str:
        choices, number = self._choices_by_player(moves, players), state["number"]
        drawn = f"number was {number} ({parity_of(number)})"
        if winner:
            return f"{winner} chose {choices[winner]}, {drawn}"
        return f"Both chose {choices[players[0]]}, {drawn}"

    @staticmethod
    def _choices_by_player(moves: Moves, players: Sequence[str]) -> dict[str, Move]:
        chosen = {player: move for step in moves for player, move in step.items()}
        return {player: chosen[player] for player in players if player in chosen}


def parse_details(details: Mapping[str, Any], players: Sequence[str], parameters: Mapping[str, Any]) -> State | None:
    """Parse the final state of the match; None unless the number and both choices are present and legal."""
    number, choices = details.get("drawn_number"), details.get("choices")
    if not isinstance(choices, dict) or not isinstance(number, int) or isinstance(number, bool):
        return None
    chosen = [choices.get(player) for player in players]
    try:
        position = EvenOddRules().new(parameters)
    except BadParameters:
        return None
    low, high = position["range"]
    if any(choice not in PARITIES for choice in chosen) or not low <= number <= high:
        return None
    return {**position, "choices": chosen, "number": number}


def find_winner(
    rules: Rules, details: Mapping[str, Any], players: Sequence[str], parameters: Mapping[str, Any]
) -> tuple[str | None] | None:
    """Return a tuple of the winner (None for a draw) by these rules; None if the details don't decide the match."""
    position = parse_details(details, players, parameters)
    try:
        if position is None or rules.actors(position):
            return None
        seat = winning_seat(rules.returns(position))
    except Exception:  # noqa: BLE001 - third-party rules may have states of another form
        return None
    return (None if seat is None else players[seat],)
