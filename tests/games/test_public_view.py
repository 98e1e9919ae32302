"""What everybody may see of a game in play: in every game nothing that one of its players doesn't see."""

import random
from collections.abc import Iterator
from typing import Any

import pytest

from agent_league.games.base import CHANCE, Rules, State, find_hidden_states
from agent_league.games.public_view import build_public_view
from agent_league.games.registry import Game, game_types, load_game
from agent_league.games.view import build_scene

GAMES = [name for name in game_types() if ":" not in name]
SECRETIVE = "kuhn_poker"


def play(game: Game, seed: int) -> Iterator[State]:
    """Every state of a game that is played at random."""
    rules, dice = game.rules, random.Random(seed)
    state = rules.new(game.parameters)
    yield state
    while actors := rules.actors(state):
        drawn = {seat: dice.choice([*rules.legal(state, seat)]) for seat in actors}
        state = rules.apply(state, {CHANCE: drawn[CHANCE][0]} if CHANCE in drawn else drawn)
        yield state


def find_indistinguishable(rules: Rules, state: State) -> list[State]:
    return [other for seat in (0, 1) for other in find_hidden_states(rules, state, seat)]


@pytest.mark.parametrize("parameters", [{}, {"repeat": 3}])
@pytest.mark.parametrize("name", GAMES)
def test_who_can_t_tell_two_states_apart_can_t_by_the_public_view_either(name: str, parameters: dict[str, Any]) -> None:
    game = load_game(name).with_parameters(parameters)
    for seed in range(20):
        for state in play(game, seed):
            seen = build_public_view(game.rules, state)
            for other in find_indistinguishable(game.rules, state):
                assert build_public_view(game.rules, other) == seen


@pytest.mark.parametrize("name", ["tic_tac_toe", "connect_four", "nim"])
def test_a_game_that_hides_nothing_is_shown_whole(name: str) -> None:
    game = load_game(name)
    for state in play(game, 1):
        assert build_public_view(game.rules, state) == game.rules.view(state, None)


def test_cards_stay_face_down_until_both_see_them() -> None:
    game = load_game(SECRETIVE)
    endings = set()
    for seed in range(60):
        *_, before, last = play(game, seed)
        assert build_public_view(game.rules, before)["cards"] is None
        shown = build_public_view(game.rules, last)
        is_open = last["betting"][-2:] != ["bet", "pass"]
        assert shown["cards"] == (last["cards"] if is_open else None)
        assert shown["betting"] == last["betting"]
        scene = build_scene(SECRETIVE, shown, None)
        assert scene is not None
        endings.add(is_open)
    assert endings == {True, False}, "or this test shows nothing"


def test_choices_are_not_shown_before_both_know_them() -> None:
    game = load_game("even_odd")
    _, chosen, drawn = play(game, 1)
    assert chosen["choices"]
    assert build_public_view(game.rules, chosen) is None
    assert build_public_view(game.rules, drawn) == drawn


class Whispers:
    """Rules in which each seat sees its own number, and which don't say which states it can't tell apart."""

    def new(self, config: Any) -> State:
        return {"numbers": [1, 1]}

    def actors(self, state: State) -> tuple[int, ...]:
        return (0,)

    def legal(self, state: State, seat: int) -> list[int]:
        return [1, 2]

    def apply(self, state: State, moves: Any) -> State:
        return state

    def view(self, state: State, seat: int | None) -> Any:
        return state if seat is None else {"mine": state["numbers"][seat]}

    def returns(self, state: State) -> tuple[float, float]:
        return (0.0, 0.0)


def test_rules_that_do_not_say_what_they_hide_are_not_shown() -> None:
    rules = Whispers()
    assert build_public_view(rules, {"numbers": [1, 1]}) is None, "both see a 1, and neither knows of the other's"


class Hands(Whispers):
    """The same with hands of two cards, of which only one differs in the state that is named."""

    def view(self, state: State, seat: int | None) -> Any:
        return state if seat is None else {"mine": state["hands"][seat], "turn": state["turn"]}

    def hidden(self, state: State, seat: int) -> Iterator[State]:
        yield {**state, "hands": [["K", "A"], ["K", "Q"]]}


def test_a_hand_is_left_out_whole_if_one_of_its_cards_could_be_another() -> None:
    state = {"hands": [["K", "J"], ["K", "Q"]], "turn": 4}
    assert build_public_view(Hands(), state) == {"hands": None, "turn": 4}
