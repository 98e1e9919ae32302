"""Positions that are made once: how many there are, who shares them, and what is not stored."""

from typing import Any

import pytest

from agent_league.games.positions import MAX_BYTES, Position, PositionGraph, find_positions
from agent_league.games.registry import load_game
from agent_league.games.tic_tac_toe.rules import TicTacToeRules


def visit_all(graph: PositionGraph) -> set[int]:
    """Visit every position there is, and return the ids of those that are met."""
    seen: dict[int, Position] = {}
    waiting = [graph.start]
    while waiting:
        position = waiting.pop()
        if id(position) not in seen:
            seen[id(position)] = position
            waiting += [graph.find_next(position, place) for place in range(len(position.after))]
    return set(seen)


@pytest.mark.parametrize(("game_type", "count"), [("tic_tac_toe", 5478), ("kuhn_poker", 55), ("even_odd", 45)])
def test_each_position_is_made_once(game_type: str, count: int) -> None:
    game = load_game(game_type)
    graph = find_positions(game.rules, game.rules.new(game.parameters))
    assert graph is not None
    assert len(visit_all(graph)) == len(graph._positions) == count


def test_equal_games_share_their_positions_and_others_do_not() -> None:
    rules = load_game("nim").rules
    first, again, other = (
        find_positions(rules, rules.new({"heaps": heaps})) for heaps in ([3, 4, 5], [3, 4, 5], [1, 2, 3])
    )
    assert first is again
    assert other is not first


class WideRules(TicTacToeRules):
    """Tic-tac-toe with a picture of ten thousand numbers for every view."""

    perfect_information = False

    def view(self, state: Any, seat: int | None) -> Any:
        return {**state, "picture": [0] * 10_000}


def test_a_game_of_large_views_does_not_fill_the_memory() -> None:
    graph = PositionGraph(WideRules(), WideRules().new({}))
    waiting = [graph.start]
    for _ in range(1_000):
        position = waiting.pop(0)
        waiting += [graph.find_next(position, place) for place in range(len(position.after))][:3]
    stored = sum(position.count_view_bytes() for position in graph._positions.values())
    assert MAX_BYTES <= stored < 1.01 * MAX_BYTES
