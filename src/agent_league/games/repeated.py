"""Repeated games: a match of `repeat` games, or until one seat has won `first_to` of them.

Every view has the moves of finished games as `rounds`: for each game the move of seat 0 and that of seat 1 (a list, if
a seat moved more or less than once). Outcomes of chance are only in the single game's own view.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agent_league.games.base import (
    CHANCE,
    REPEAT_PARAMETERS,
    Move,
    Rules,
    State,
    find_hidden_states,
    has_public_moves,
    read_whole_number,
    winning_seat,
)

MOST_GAMES = 1000
GAMES_A_WIN = 20
"""Limit of games for each win of `first_to`, if `repeat` isn't set: draws could go on for ever."""
HOW_TO_REPEAT = f"""\

A match is several such games one after another, with the same seats; each of them is a round. It ends after `repeat` \
rounds, or as soon as a seat has won `first_to` of them, whichever comes first. Where `first_to` is set, more rounds \
won win the match; else what was paid is added up, and whoever has more wins. As much is a draw.

Each view then has `game`, the view of the round being played, which is what is described above; `last`, the view of \
the round before at its end, or null (a table of `payoffs` stands in `game` alone); `rounds`, for each finished round \
the move of seat 0 and the move of seat 1 (a list of them, for a seat that moved more or less than once); `scores` and \
`wins`, what each seat was paid and how many rounds it has won so far; `repeat`, how many rounds there are at most \
(where only `first_to` was set, {GAMES_A_WIN} for each win that is wanted, and never more than {MOST_GAMES}); and \
`first_to`, which is null where it isn't set. PLAYER_A has seat 0 and PLAYER_B has seat 1.
"""


class RepeatedRules:
    """The rules of a match of several games."""

    def __init__(self, single: Rules) -> None:
        self.single = single
        self.public_moves = has_public_moves(single)

    def new(self, config: Mapping[str, Any]) -> State:
        limits = {name: config[name] for name in REPEAT_PARAMETERS if config.get(name) is not None}
        first_to = read_whole_number(limits, "first_to", 1, 1, MOST_GAMES) if "first_to" in limits else None
        otherwise = 1 if first_to is None else min(MOST_GAMES, GAMES_A_WIN * first_to)
        start = self.single.new({name: value for name, value in config.items() if name not in REPEAT_PARAMETERS})
        return {
            "repeat": read_whole_number(limits, "repeat", otherwise, 1, MOST_GAMES),
            "first_to": first_to,
            "start": start,
            "game": start,
            "moves": [[], []],
            "last": None,
            "rounds": [],
            "scores": [0.0, 0.0],
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
        """Return the single game's views of the current game and of the end of the last one, and the score."""
        return state if seat is None else self.view_since(state, seat, 0)

    def view_since(self, state: State, seat: int, first: int) -> dict[str, Any]:
        """Return a seat's view with the rounds from number `first` on, counted from 0, and none before it."""
        last = None if state["last"] is None else without_payoffs(self.single.view(state["last"], seat))
        rounds = state["rounds"][first:] if first else state["rounds"]
        if not self.public_moves:
            rounds = [hide_other_move(pair, seat) for pair in rounds]
        game = self.single.view(state["game"], seat)
        return self.compose_view(game, last, rounds, state, state["scores"], state["wins"])

    def compose_view(
        self,
        game: Any,
        last: Any,
        rounds: list[Any],
        limits: Mapping[str, Any],
        scores: list[float],
        wins: list[int],
    ) -> dict[str, Any]:
        """Compose a seat's view of the match; `limits` has `repeat` and `first_to`."""
        return {
            "game": game,
            "last": last,
            "rounds": rounds,
            "repeat": limits["repeat"],
            "first_to": limits["first_to"],
            "scores": scores,
            "wins": wins,
        }

    def hidden(self, state: State, seat: int) -> Iterable[State]:
        """Yield what the single game hides, in the current game and in the last one."""
        for name in ("game", "last"):
            if state[name] is not None:
                yield from ({**state, name: other} for other in find_hidden_states(self.single, state[name], seat))

    def returns(self, state: State) -> tuple[float, float]:
        a, b = state["scores"] if state["first_to"] is None else state["wins"]
        return (float(a), float(b))


def without_payoffs(last: Any) -> Any:
    """The view of the last round without a payoff table, which is the same in every round, and long."""
    if isinstance(last, dict) and "payoffs" in last:
        last = last.copy()
        del last["payoffs"]
    return last


def hide_other_move(pair: list[Move], seat: int) -> list[Move | None]:
    """A round with the other seat's move replaced by None, for games whose moves aren't public."""
    return [pair[0], None] if seat == 0 else [None, pair[1]]


def repeat_rules(rules: Rules, parameters: Mapping[str, Any]) -> Rules:
    """Return the rules for these parameters: the single game's, or repeated ones."""
    single = rules.single if isinstance(rules, RepeatedRules) else rules
    return RepeatedRules(single) if has_rounds(parameters) else single


def count_rounds(rules: Rules, state: State) -> int:
    """Count the finished rounds of a match; 0 in a game that isn't repeated."""
    return len(state["rounds"]) if isinstance(rules, RepeatedRules) else 0


def has_rounds(parameters: Mapping[str, Any]) -> bool:
    """Whether a match under these parameters is several games, each of them a round."""
    repeat, first_to = (parameters.get(name) for name in REPEAT_PARAMETERS)
    once = repeat is None or (repeat == 1 and type(repeat) is int)
    return not once or first_to is not None


def _is_over(state: State) -> bool:
    wanted = state["first_to"]
    return len(state["rounds"]) >= state["repeat"] or (wanted is not None and max(state["wins"]) >= wanted)
