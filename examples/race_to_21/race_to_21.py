"""By turns the players add 1, 2 or 3 to a sum that begins at 0, and whoever makes it 21 wins."""

from typing import Any

from agent_league.games.registry import Game


class RaceRules:
    perfect_information = True

    def new(self, config: Any) -> Any:
        return {"sum": 0, "turn": 0}

    def actors(self, state: Any) -> tuple[int, ...]:
        return (state["turn"],) if state["sum"] < 21 else ()

    def legal(self, state: Any, seat: int) -> list[int]:
        return [number for number in (1, 2, 3) if state["sum"] + number <= 21]

    def apply(self, state: Any, moves: Any) -> Any:
        return {"sum": state["sum"] + moves[state["turn"]], "turn": 1 - state["turn"]}

    def view(self, state: Any, seat: int | None) -> Any:
        return state

    def returns(self, state: Any) -> tuple[float, float]:
        return (-1.0, 1.0) if state["turn"] == 0 else (1.0, -1.0)


RACE_TO_21 = Game("race_to_21", RaceRules(), title="Race to 21", how_to_play=__doc__)
