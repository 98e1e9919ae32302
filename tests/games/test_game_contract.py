"""The shipped contract: every registered game keeps it, and each promise, once broken, is found."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from agent_league.errors import ConfigError
from agent_league.games.base import CHANCE, Move, State
from agent_league.games.even_odd import EVEN_ODD
from agent_league.games.even_odd.rules import EvenOddRules
from agent_league.games.even_odd.wire import EvenOddWire
from agent_league.games.registry import Game, game_types, load_game
from agent_league.games.wire import PlainWire
from agent_league.protocol.envelope import Message
from agent_league.protocol.v2 import ChooseParityResponse
from agent_league.testing.game_contract import check_game
from tests.games.nim import NIM, NimRules


@pytest.mark.parametrize("game_type", game_types())
def test_every_registered_game_keeps_the_contract(game_type: str) -> None:
    check_game(load_game(game_type))


def test_even_odd_is_a_registered_game() -> None:
    assert "even_odd" in game_types()


def test_a_game_without_words_of_its_own_keeps_the_contract() -> None:
    check_game(NIM)


def test_a_game_that_is_not_installed_is_named_with_those_that_are() -> None:
    with pytest.raises(ConfigError, match=r"no game 'chess' is installed \(there are: .*even_odd"):
        load_game("chess")


class Moody(NimRules):
    """Takes a stick of its own now and then."""

    _dice = Random(1)

    def apply(self, state: State, moves: Mapping[int, Move]) -> State:
        after = super().apply(state, moves)
        return {**after, "left": after["left"] - self._dice.randint(0, min(1, after["left"]))}


class Careless(NimRules):
    """Writes into the old state."""

    def apply(self, state: State, moves: Mapping[int, Move]) -> State:
        state["left"] -= moves[state["turn"]]
        return {**state, "turn": 1 - state["turn"]}


class Stubborn(NimRules):
    """Offers a move that it then refuses."""

    def apply(self, state: State, moves: Mapping[int, Move]) -> State:
        if moves[state["turn"]] == 3:
            raise ValueError("three is too many")
        return super().apply(state, moves)


class Tupled(NimRules):
    """Keeps a tuple in its state, of which JSON makes a list."""

    def new(self, config: Mapping[str, Any]) -> State:
        return {**super().new(config), "seats": (0, 1)}


class Stuck(NimRules):
    """Asks a seat that can do nothing."""

    def legal(self, state: State, seat: int) -> Sequence[Any]:
        return [move for move in super().legal(state, seat) if move < state["left"]]


class Crowded(NimRules):
    """Asks for somebody who isn't there."""

    def actors(self, state: State) -> tuple[int, ...]:
        return (2,) if state["left"] == 1 else super().actors(state)


class Endless(NimRules):
    """Puts the sticks back."""

    def apply(self, state: State, moves: Mapping[int, Move]) -> State:
        after = super().apply(state, moves)
        return after if after["left"] else {**after, "left": state["left"]}


class Speechless(NimRules):
    """Has a move that can't be said."""

    def legal(self, state: State, seat: int) -> Sequence[Any]:
        return [*super().legal(state, seat), None]


class Infinite(NimRules):
    """Pays without measure."""

    def returns(self, state: State) -> tuple[float, float]:
        return (float("inf"), -1.0)


class Alone(NimRules):
    """Pays one seat only."""

    def returns(self, state: State) -> tuple[float, float]:
        return (1.0,)  # type: ignore[return-value]


class Hiding(NimRules):
    """Doesn't show how many sticks there are."""

    def view(self, state: State, seat: int | None) -> Any:
        return state if seat is None else {"most": state["most"]}


class Gossiping(EvenOddRules):
    """Shows the choices before the draw."""

    def view(self, state: State, seat: int | None) -> Any:
        return state


class Hinting(EvenOddRules):
    """Shows seat 0 what seat 1 chose, and nothing else."""

    def view(self, state: State, seat: int | None) -> Any:
        shown = super().view(state, seat)
        return {**shown, "hint": state["choices"] and state["choices"][1]} if seat == 0 else shown


class Weightless(EvenOddRules):
    """Has an outcome that can't come."""

    def legal(self, state: State, seat: int) -> Sequence[Any]:
        legal = super().legal(state, seat)
        return [(outcome, weight - 1) for outcome, weight in legal] if seat == CHANCE else legal


class Mumbling(PlainWire):
    """Reads another move than was said."""

    def move(self, answer: Message) -> Move:
        return str(super().move(answer))


class Forgetful(PlainWire):
    """Doesn't say which moves there are."""

    def question(self, game_type: str, view: Any, legal: Sequence[Move], step: int, role: str) -> dict[str, Any]:
        asked = super().question(game_type, view, legal, step, role)
        return {"move_request": {**asked["move_request"], "valid_options": list(legal)[:1]}}


class Private(PlainWire):
    """Asks with a method that no player has."""

    method = "take_sticks"


class Contrary(PlainWire):
    """Reads the answer as if it belonged to another game."""

    answer: type[Message] = ChooseParityResponse


class Silent(PlainWire):
    """Gives no reason."""

    def reason(self, *_: Any) -> str:
        return ""


class Objective(PlainWire):
    """Has a result that JSON can't hold."""

    def details(self, *_: Any) -> dict[str, Any]:
        return {"rules": NimRules()}


BROKEN: dict[str, tuple[Game, str]] = {
    "chance inside the rules": (replace(NIM, rules=Moody()), "seed 0 gave two games"),
    "apply changes the old state": (replace(NIM, rules=Careless()), "apply changed the old state"),
    "a legal move is refused": (replace(NIM, rules=Stubborn()), "the legal moves .* are refused .*three is too many"),
    "a state is not JSON": (replace(NIM, rules=Tupled()), "a state doesn't come back from JSON"),
    "an actor without a move": (replace(NIM, rules=Stuck()), "acts but has no legal move"),
    "an unknown actor": (replace(NIM, rules=Crowded()), r"actors must be .* found \(2,\)"),
    "no end": (replace(NIM, rules=Endless()), "not over after 1000 steps"),
    "None as a move": (replace(NIM, rules=Speechless()), "None can't be a move"),
    "an infinite return": (replace(NIM, rules=Infinite()), "a finite number for each seat"),
    "one return for two seats": (replace(NIM, rules=Alone()), "a finite number for each seat"),
    "moves that a seat can't know": (replace(NIM, rules=Hiding()), "it can't know which"),
    "choices shown before the draw": (replace(EVEN_ODD, rules=Gossiping()), "sees what seat 1 chose"),
    "a hint before the draw": (replace(EVEN_ODD, rules=Hinting()), "seat 0 sees what seat 1 chose"),
    "a draw without weight": (replace(EVEN_ODD, rules=Weightless()), "weights above 0"),
    "an answer misread": (replace(NIM, wire=Mumbling()), "the answer 1 is read as '1'"),
    "options left out": (replace(NIM, wire=Forgetful()), r"asked for one of \[1, 2, 3\], a player hears \[1\]"),
    "a method of nobody's": (replace(NIM, wire=Private()), "not 'take_sticks'"),
    "no reason": (replace(NIM, wire=Silent()), "a reason must be a sentence"),
    "a result that is not JSON": (replace(NIM, wire=Objective()), "a result doesn't come back from JSON"),
    "words of another game": (replace(NIM, wire=EvenOddWire()), "a player hears .'even', 'odd'."),
    "words that refuse a legal move": (replace(NIM, wire=Contrary()), "the answer 1 is refused: E003"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_promise_is_found_and_said(fault: str) -> None:
    game, sentence = BROKEN[fault]
    with pytest.raises(AssertionError) as found:
        check_game(game)
    assert re.match(rf"{game.game_type}: .*{sentence}", str(found.value), re.DOTALL)


def test_a_game_that_shows_choices_before_chance_may_say_so() -> None:
    check_game(replace(EVEN_ODD, rules=Gossiping()), secret_until_drawn=False)
