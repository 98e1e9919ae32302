"""Walking through a match: each position once, and nothing that the rules don't allow."""

from collections.abc import Iterable
from typing import Any

import pytest

from agent_league.games.base import CHANCE
from agent_league.games.registry import load_game
from agent_league.games.steps import IllegalStep, apply_moves, walk_positions

TOE = load_game("tic_tac_toe")
PARITY = load_game("even_odd")


def walk(game: Any, steps: Iterable[dict[int, Any]]) -> list[Any]:
    rest = iter(steps)
    start = game.rules.new(game.parameters)
    return [state for _, state in walk_positions(game.rules, start, lambda *_: next(rest, None))]


def test_a_walk_has_each_position_and_ends_with_its_moves() -> None:
    assert [state["board"].strip(".") for state in walk(TOE, [{0: 0}, {1: 4}])] == ["X", "X...O"]


def test_a_walk_ends_with_the_match_and_counts_its_steps() -> None:
    steps = list[int]()

    def next_moves(state: Any, actors: tuple[int, ...], step: int) -> dict[int, Any]:
        steps.append(step)
        return {CHANCE: 8} if actors == (CHANCE,) else dict.fromkeys(actors, "even")

    rules = PARITY.rules
    *_, (_, last) = walk_positions(rules, rules.new(PARITY.parameters), next_moves)
    assert steps == [0, 1]
    assert rules.actors(last) == ()


@pytest.mark.parametrize(
    ("game", "steps", "wrong"),
    [
        (TOE, [{0: 0}, {1: 0}], (1, 0)),
        (TOE, [{0: 0}, {0: 1}], (0, 1)),
        (TOE, [{0: 0, 1: 1}], (1, 1)),
        (TOE, [{}], (0, None)),
        (PARITY, [{0: "even"}], (1, None)),
        (PARITY, [{0: "even", 1: "EVEN"}], (1, "EVEN")),
    ],
    ids=["taken", "out of turn", "both at once", "nobody", "one of two", "no move of the game"],
)
def test_a_move_that_the_rules_dont_allow_ends_the_walk(game: Any, steps: Any, wrong: tuple[int, Any]) -> None:
    with pytest.raises(IllegalStep) as found:
        walk(game, steps)
    assert (found.value.seat, found.value.move) == wrong


def test_moves_after_the_end_are_no_moves_of_the_match() -> None:
    steps = [{0: 0}, {1: 3}, {0: 1}, {1: 4}, {0: 2}]
    start = TOE.rules.new(TOE.parameters)
    assert TOE.rules.actors(apply_moves(TOE.rules, start, steps)) == ()
    with pytest.raises(IllegalStep, match="5 can't be played by seat 1"):
        apply_moves(TOE.rules, start, [*steps, {1: 5}])
