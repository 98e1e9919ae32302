"""What is known of a number that is or was drawn, in a sentence."""

from typing import Any

from agent_league.games.pictures import made


def show(view: Any, seat: int | None) -> str:
    low, high = map(int, view["range"])
    if view["number"] is None:
        return f"A number from {low} to {high} will be drawn."
    return f"The number was {int(view['number'])}. {made(view['choices'], seat)}"
