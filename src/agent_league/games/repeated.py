"""Any game several times over: `repeat` games in all, or until one seat has won `first_to` of them.

What was played in the games before is in every view, as `rounds`: for each game the move of seat 0 and that of seat 1
(a list of them, where a seat moved more or less than once). The returns of all games are added up.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from agent_league.games.base import CHANCE, BadParameters, Move, Rules, State, winning_seat

MOST_GAMES = 1000
PARAMETERS = ("repeat", "first_to")
PUBLIC = ("rounds", "repeat", "first_to", "scores", "wins")


class Repeated:
    """The rules of a match of several games."""

    def __init__(self, single: Rules) -> None:
        self.single = single

    def new(self, config: Mapping[str, Any]) -> State:
        first_to = config.get("first_to")
        repeat = config.get("repeat", 1 if first_to is None else MOST_GAMES)
        _check("repeat", repeat)
        if first_to is not None:
            _check("first_to", first_to)
        start = self.single.new({name: value for name, value in config.items() if name not in PARAMETERS})
        return {
            "repeat": repeat,
            "first_to": first_to,
            "start": start,
            "game": start,
            "moves": [[], []],
            "last": None,
            "rounds": [],
            "scores": [0, 0],
            "wins": [0, 0],
        }

    def actors(self, state: State) -> tuple[int, ...]:
        return () if _is_over(state) else self.single.actors(state["game"])

    def legal(self, state: State, seat: int) -> Sequence[Any]:
        return self.single.legal(state["game"], seat)

    def apply(self, state: State, moves: Mapping[int, Move]) -> State:
        game = self.single.apply(state["game"], moves)
        made = state["moves"]
        if CHANCE not in moves:
            made = [[*made[seat], moves[seat]] if seat in moves else made[seat] for seat in (0, 1)]
        if self.single.actors(game):
            return {**state, "game": game, "moves": made}
        returns = self.single.returns(game)
        winner = winning_seat(returns)
        return {
            **state,
            "game": state["start"],
            "moves": [[], []],
            "last": game,
            "rounds": [*state["rounds"], [own[0] if len(own) == 1 else own for own in made]],
            "scores": [score + value for score, value in zip(state["scores"], returns, strict=True)],
            "wins": [won + (seat == winner) for seat, won in enumerate(state["wins"])],
        }

    def view(self, state: State, seat: int | None) -> Any:
        """The game at hand and the end of the last one as `single` shows them, and how the match stands."""
        if seat is None:
            return state
        last = None if state["last"] is None else self.single.view(state["last"], seat)
        own = {"game": self.single.view(state["game"], seat), "last": last}
        return own | {name: state[name] for name in PUBLIC}

    def returns(self, state: State) -> tuple[float, float]:
        a, b = state["scores"]
        return (float(a), float(b))


def repeated(rules: Rules, parameters: Mapping[str, Any]) -> Rules:
    """The rules under these parameters: as they are, or repeated."""
    single = rules.single if isinstance(rules, Repeated) else rules
    once = parameters.get("repeat", 1) == 1 and parameters.get("first_to") is None
    return single if once else Repeated(single)


def _check(name: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MOST_GAMES:
        raise BadParameters(f"{name} must be a whole number from 1 to {MOST_GAMES}, found {value!r}")


def _is_over(state: State) -> bool:
    wanted = state["first_to"]
    return len(state["rounds"]) >= state["repeat"] or (wanted is not None and max(state["wins"]) >= wanted)
