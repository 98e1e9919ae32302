"""What the details of a report say of a match of Even/Odd, as far as they are whole and legal."""

from collections.abc import Mapping, Sequence
from typing import Any

from agent_league.games.base import BadParameters, Rules, State, winning_seat
from agent_league.games.even_odd.rules import PARITIES, EvenOddRules


def read_details(details: Mapping[str, Any], players: Sequence[str], parameters: Mapping[str, Any]) -> State | None:
    """The position at the end of the match; None unless the number and both choices are there and legal."""
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
    """The winner by these rules, None in it for a draw; None unless the details decide the match."""
    position = read_details(details, players, parameters)
    try:
        if position is None or rules.actors(position):
            return None
        seat = winning_seat(rules.returns(position))
    except Exception:  # noqa: BLE001 - somebody's own rules may have positions of another kind
        return None
    return (None if seat is None else players[seat],)
