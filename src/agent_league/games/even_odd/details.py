"""Reads the `details` of a report on a match of Even/Odd, if they are complete and legal."""

from collections.abc import Mapping, Sequence
from typing import Any

from agent_league.games.base import BadParameters, Rules, State, winning_seat
from agent_league.games.even_odd.rules import PARITIES, EvenOddRules


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
