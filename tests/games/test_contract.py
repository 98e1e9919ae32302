"""Trying a stranger's game out: one that breaks down is named, with the function and the line, before anybody plays."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from agent_league.games import contract
from agent_league.games.base import CHANCE, Move, State
from agent_league.games.contract import BrokenGame, describe_breakdown, try_random_games
from agent_league.games.even_odd import EVEN_ODD
from agent_league.games.even_odd.rules import EvenOddRules
from agent_league.games.game_messages import PlainWire
from agent_league.games.registry import Game, game_types, load_game
from tests.games.sticks import STICKS, SticksRules


class Failing(SticksRules):
    def apply(self, state: State, moves: Mapping[int, Move]) -> State:
        return _table(state["left"]) if state["left"] < 4 else super().apply(state, moves)


def _table(left: int) -> State:
    raise KeyError(left)


class Setting(SticksRules):
    def new(self, config: Mapping[str, Any]) -> State:
        return {**super().new(config), "seen": {1}}


class Sighted(SticksRules):
    def view(self, state: State, seat: int | None) -> Any:
        return {1, 2}


class Lonely(SticksRules):
    def returns(self, state: State) -> Any:
        return 1.0


class Stuck(SticksRules):
    def legal(self, state: State, seat: int) -> Sequence[Any]:
        return []


class Tupled(SticksRules):
    def legal(self, state: State, seat: int) -> Sequence[Any]:
        return [(1, 2)]


class Crowded(SticksRules):
    def actors(self, state: State) -> tuple[int, ...]:
        return (2,)


class Weightless(EvenOddRules):
    def legal(self, state: State, seat: int) -> Sequence[Any]:
        return [1, 2] if seat == CHANCE else super().legal(state, seat)


class Careless(SticksRules):
    def apply(self, state: State, moves: Mapping[int, Move]) -> State:
        state["left"] -= moves[state["turn"]]
        return {**state, "turn": 1 - state["turn"]}


class Endless(SticksRules):
    def apply(self, state: State, moves: Mapping[int, Move]) -> State:
        return {**state, "turn": 1 - state["turn"]}


class Half:
    def new(self, config: Mapping[str, Any]) -> State:
        return {}


class Mumbling(PlainWire):
    def details(self, state: State, moves: Any, players: Sequence[str]) -> dict[str, Any]:
        raise ValueError("no words")


BROKEN: Mapping[str, tuple[Any, str]] = {
    "a function that raises": (Failing(), r"failed in apply: KeyError\(\d\) \(test_contract.py:\d+\)"),
    "a state that is no JSON": (
        Setting(),
        r"new gave a state that JSON can't hold, .*: set \(test_contract.py:\d+\)",
    ),
    "a view that is no JSON": (Sighted(), r"view gave a view that JSON can't hold, {1, 2}"),
    "one return": (
        Lonely(),
        r"returns gave 1.0; expected two finite numbers, one for each seat \(test_contract.py:\d+\)",
    ),
    "no move": (Stuck(), r"legal gave \[\] for seat 0; expected a list with at least one move"),
    "a move that comes back changed": (Tupled(), r"legal gave the move \(1, 2\), which a player can't give back"),
    "a seat that isn't there": (Crowded(), r"actors gave \(2,\); expected \(\), \(0,\)"),
    "chances without weights": (Weightless(), r"legal gave \[1, 2\] for chance; expected pairs of an outcome and"),
    "the old state changed": (Careless(), r"apply changed the state that it was given"),
    "no end": (Endless(), r"a game of random moves isn't over after 300 of them"),
    "functions that are missing": (Half(), r"Half has no actors, legal, apply, view, returns"),
}


@pytest.mark.parametrize("parameters", [{}, {"repeat": 3}], ids=["once", "repeated"])
@pytest.mark.parametrize("fault", BROKEN)
def test_a_game_that_breaks_down_is_named_with_its_function(
    fault: str, parameters: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contract, "STEPS", 300)
    rules, sentence = BROKEN[fault]
    with pytest.raises(BrokenGame) as found:
        try_random_games(Game("theirs", rules, parameters=parameters))
    assert re.match(rf"the rules of 'theirs' .*{sentence}.*; check_game of agent_league", str(found.value))


def test_words_that_fail_are_named_too() -> None:
    with pytest.raises(
        BrokenGame, match=r"'sticks' failed in details: ValueError\('no words'\) \(test_contract.py:\d+\)"
    ):
        try_random_games(replace(STICKS, wire=Mumbling()))


@pytest.mark.parametrize("game", [STICKS, STICKS.with_parameters({"repeat": 1000})], ids=["once", "1000 times"])
def test_a_game_in_order_is_taken_however_long_its_matches_are(game: Game, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contract, "STEPS", 300)
    try_random_games(game)


def test_what_takes_long_is_looked_at_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contract, "SECONDS", 0)
    try_random_games(Game("theirs", Endless()))


@pytest.mark.parametrize("name", game_types())
def test_games_of_ours_would_pass_and_are_trusted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    game = load_game(name)
    monkeypatch.setattr(contract, "OWN_PACKAGE", "no module")
    try_random_games(game)
    monkeypatch.undo()
    monkeypatch.setattr(contract, "GameChecks", None)  # nobody calls it
    try_random_games(game)


def test_an_error_from_elsewhere_is_explained_by_the_state_at_hand() -> None:
    game = Game("theirs", Lonely())
    over = {"left": 0, "most": 3, "turn": 0}
    unpacked = ExceptionGroup("tasks", [TypeError("cannot unpack non-iterable float object")])
    assert "'theirs' are wrong: returns gave 1.0; expected" in describe_breakdown(game, unpacked, over)
    assert describe_breakdown(EVEN_ODD, OSError("full")) == "a match of 'even_odd' broke down: OSError('full')"
