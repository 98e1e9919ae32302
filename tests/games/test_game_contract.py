"""The shipped contract: every registered game keeps it, and each promise, once broken, is found."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from random import Random
from typing import Any

import pytest

from agent_league.errors import ConfigError
from agent_league.games.base import CHANCE, BadParameters, Move, State
from agent_league.games.even_odd import EVEN_ODD
from agent_league.games.even_odd.rules import EvenOddRules
from agent_league.games.even_odd.wire import EvenOddWire
from agent_league.games.game_messages import PlainWire
from agent_league.games.kuhn_poker import KUHN_POKER
from agent_league.games.kuhn_poker.rules import KuhnPokerRules
from agent_league.games.registry import Game, game_types, load_game
from agent_league.protocol.envelope import Message
from agent_league.protocol.v2 import ChooseParityResponse
from agent_league.testing.game_contract import check_game
from tests.games.sticks import STICKS, SticksRules

BUILT_IN = {
    "connect_four",
    "even_odd",
    "kuhn_poker",
    "nim",
    "odds_and_evens",
    "prisoners_dilemma",
    "rock_paper_scissors",
    "tic_tac_toe",
}


@pytest.mark.parametrize(
    "parameters", [{}, {"repeat": 1, "first_to": None}, {"repeat": 3, "first_to": 2}], ids=["usual", "once", "repeated"]
)
@pytest.mark.parametrize("game_type", game_types())
def test_every_registered_game_keeps_the_contract(game_type: str, parameters: dict[str, Any]) -> None:
    check_game(load_game(game_type).with_parameters(parameters), range(8))


def test_the_built_in_games_are_registered() -> None:
    assert set(game_types()) >= BUILT_IN


def test_a_game_without_words_of_its_own_keeps_the_contract() -> None:
    check_game(STICKS)


class Boundless(SticksRules):
    """Has more moves than anybody could list."""

    def legal(self, state: State, seat: int) -> Sequence[Any]:
        return range(1, 10**15)

    def apply(self, state: State, moves: Mapping[int, Move]) -> State:
        return {**state, "left": 0 if state["left"] < 5 else state["left"] - 2, "turn": 1 - state["turn"]}


@pytest.mark.parametrize("moves", [range(1, 1001), range(1000, 0, -1), range(1, 1000, 2), range(0, 1001, 2)], ids=str)
def test_a_long_range_is_heard_whatever_its_steps(moves: range, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Boundless, "legal", lambda *_: moves)
    check_game(replace(STICKS, rules=Boundless()), range(2))


def test_moves_that_are_too_many_to_list_are_never_gone_through() -> None:
    check_game(replace(STICKS, rules=Boundless()))
    check_game(STICKS.with_parameters({"sticks": 10**6, "most": 10**6, "repeat": 2}), range(3))


def test_a_game_that_is_not_installed_is_named_with_those_that_are() -> None:
    with pytest.raises(ConfigError, match=r"no game 'chess' is installed \(there are: .*even_odd"):
        load_game("chess")


class Moody(SticksRules):
    """Takes a stick of its own now and then."""

    _dice = Random(1)

    def apply(self, state: State, moves: Mapping[int, Move]) -> State:
        after = super().apply(state, moves)
        return {**after, "left": after["left"] - self._dice.randint(0, min(1, after["left"]))}


class Careless(SticksRules):
    """Writes into the old state."""

    def apply(self, state: State, moves: Mapping[int, Move]) -> State:
        state["left"] -= moves[state["turn"]]
        return {**state, "turn": 1 - state["turn"]}


class Stubborn(SticksRules):
    """Offers a move that it then refuses."""

    def apply(self, state: State, moves: Mapping[int, Move]) -> State:
        if moves[state["turn"]] == 3:
            raise ValueError("three is too many")
        return super().apply(state, moves)


class Tupled(SticksRules):
    """Keeps a tuple in its state, of which JSON makes a list."""

    def new(self, config: Mapping[str, Any]) -> State:
        return {**super().new(config), "seats": (0, 1)}


class Stuck(SticksRules):
    """Asks a seat that can do nothing."""

    def legal(self, state: State, seat: int) -> Sequence[Any]:
        return [move for move in super().legal(state, seat) if move < state["left"]]


class Crowded(SticksRules):
    """Asks for somebody who isn't there."""

    def actors(self, state: State) -> tuple[int, ...]:
        return (2,) if state["left"] == 1 else super().actors(state)


class Endless(SticksRules):
    """Puts the sticks back."""

    def apply(self, state: State, moves: Mapping[int, Move]) -> State:
        after = super().apply(state, moves)
        return after if after["left"] else {**after, "left": state["left"]}


class Speechless(SticksRules):
    """Has a move that can't be said."""

    def legal(self, state: State, seat: int) -> Sequence[Any]:
        return [*super().legal(state, seat), None]


class Lonely(SticksRules):
    """Pays nobody in particular."""

    def returns(self, state: State) -> Any:
        return 1.0


class Infinite(SticksRules):
    """Pays without measure."""

    def returns(self, state: State) -> tuple[float, float]:
        return (float("inf"), -1.0)


class Alone(SticksRules):
    """Pays one seat only."""

    def returns(self, state: State) -> tuple[float, float]:
        return (1.0,)  # type: ignore[return-value]


class Hiding(SticksRules):
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


class Frank(Hiding):
    """Claims to hide nothing."""

    perfect_information = True


class AtOnce(EvenOddRules):
    """Claims to hide nothing, though both choose at once."""

    perfect_information = True


class Leaking(KuhnPokerRules):
    """Shows seat 1 the other card."""

    def view(self, state: State, seat: int | None) -> Any:
        shown = super().view(state, seat)
        return {**shown, "other_card": state["cards"] and state["cards"][0]} if seat == 1 else shown


class Boasting(KuhnPokerRules):
    """Shows all cards at the end, folded ones too."""

    def view(self, state: State, seat: int | None) -> Any:
        shown = super().view(state, seat)
        over = not self.actors(state)
        return shown if seat is None or not over else {**shown, "other_card": state["cards"][1 - seat]}


class Helpful(KuhnPokerRules):
    """Doesn't let anybody bet against a king."""

    def legal(self, state: State, seat: int) -> Sequence[Any]:
        return ("pass",) if seat != CHANCE and state["cards"][1 - seat] == "K" else super().legal(state, seat)


class Hasty(KuhnPokerRules):
    """Doesn't ask a seat that holds a jack a second time."""

    def actors(self, state: State) -> tuple[int, ...]:
        return () if state["betting"] == ["pass", "bet"] and state["cards"][0] == "J" else super().actors(state)


class Overpaid(KuhnPokerRules):
    """Pays more for a king, even where nobody shows it."""

    def returns(self, state: State) -> tuple[float, float]:
        a, b = super().returns(state)
        return (a, b) if "K" not in state["cards"] else (2 * a, 2 * b)


class Idle(KuhnPokerRules):
    """Says that it hides something, and never what."""

    def hidden(self, state: State, seat: int) -> Iterable[State]:
        return ()


class Vain(KuhnPokerRules):
    """Says that it hides what it is."""

    def hidden(self, state: State, seat: int) -> Iterable[State]:
        return (dict(state),)


class Phase(StrEnum):
    FIRST = "first"
    LATER = "later"


class Sentimental(SticksRules):
    """Knows its own words again only as long as they are its own."""

    def new(self, config: Mapping[str, Any]) -> State:
        return {**super().new(config), "phase": Phase.FIRST}

    def apply(self, state: State, moves: Mapping[int, Move]) -> State:
        return {**super().apply(state, moves), "phase": Phase.LATER}


class Counting(Sentimental):
    def legal(self, state: State, seat: int) -> Sequence[Any]:
        return super().legal(state, seat)[: 2 if state["phase"] is Phase.LATER else 3]


class Looking(Sentimental):
    def view(self, state: State, seat: int | None) -> Any:
        return {**state, "first": state["phase"] is Phase.FIRST}


class Taking(Sentimental):
    def apply(self, state: State, moves: Mapping[int, Move]) -> State:
        return {**super().apply(state, moves), "first": state["phase"] is Phase.FIRST}


class Asking(Sentimental):
    def actors(self, state: State) -> tuple[int, ...]:
        return (0,) if state["phase"] is Phase.FIRST else super().actors(state)

    def new(self, config: Mapping[str, Any]) -> State:
        return {**super().new(config), "turn": 1}

    def apply(self, state: State, moves: Mapping[int, Move]) -> State:
        return super().apply({**state, "turn": next(iter(moves))}, moves)


class Paying(Sentimental):
    def returns(self, state: State) -> tuple[float, float]:
        return (1.0, 0.0) if state["phase"] is Phase.LATER else (0.0, 1.0)


class Trusting(SticksRules):
    """Takes whatever is written for a parameter."""

    def new(self, config: Mapping[str, Any]) -> State:
        return {"left": 2 * config["sticks"] // 2, "most": 3, "turn": 0}


class Greedy(SticksRules):
    """Takes numbers that JSON doesn't have."""

    def new(self, config: Mapping[str, Any]) -> State:
        most = config["most"] if isinstance(config["most"], int | float) else 3
        return {**super().new({**config, "most": 3}), "most": most}


class Curt(SticksRules):
    """Refuses without a word."""

    def new(self, config: Mapping[str, Any]) -> State:
        try:
            return super().new(config)
        except BadParameters:
            raise BadParameters from None


class Confused(SticksRules):
    """Looks for what isn't there."""

    def view(self, state: State, seat: int | None) -> Any:
        return state["heap"]


class Telling(PlainWire):
    """Tells all cards in the result."""

    def result(self, state: State, moves: Any, players: Sequence[str]) -> dict[str, Any]:
        return {**super().result(state, moves, players), "cards": state["cards"]}


class Explaining(PlainWire):
    """Tells the winning card as the reason."""

    def reason(self, state: State, moves: Any, players: Sequence[str], winner: str | None) -> str:
        return f"{winner} won with {state['cards'][players.index(winner)]}" if winner else "draw"


class Mumbling(PlainWire):
    """Reads another move than was said."""

    def move(self, answer: Message) -> Move:
        return str(super().move(answer))


class Forgetful(PlainWire):
    """Doesn't say which moves there are."""

    def question(self, game_type: str, view: Any, legal: Sequence[Move], step: int, role: str) -> dict[str, Any]:
        asked = super().question(game_type, view, legal, step, role)
        return {"move_request": {**asked["move_request"], "valid_options": list(legal)[:1]}}


class Halving(PlainWire):
    """Tells of every second number only."""

    def question(self, game_type: str, view: Any, legal: Sequence[Move], step: int, role: str) -> dict[str, Any]:
        return super().question(game_type, view, legal[1::2], step, role)


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
        return {"rules": SticksRules()}


BROKEN: dict[str, tuple[Game, str]] = {
    "chance inside the rules": (replace(STICKS, rules=Moody()), "seed 0 gave two games"),
    "apply changes the old state": (replace(STICKS, rules=Careless()), "apply changed the state that it was given"),
    "a legal move is refused": (
        replace(STICKS, rules=Stubborn()),
        "the legal moves .* are refused .*three is too many",
    ),
    "a state is not JSON": (replace(STICKS, rules=Tupled()), "new gave a state that doesn't come back from JSON"),
    "an actor without a move": (
        replace(STICKS, rules=Stuck()),
        r"legal gave \[\] for seat .; expected a list with at least one move",
    ),
    "an unknown actor": (replace(STICKS, rules=Crowded()), r"actors gave \(2,\); expected"),
    "no end": (replace(STICKS, rules=Endless()), "a game of random moves isn't over after 1000 of them"),
    "None as a move": (replace(STICKS, rules=Speechless()), "legal gave the move None, which a player can't give back"),
    "an infinite return": (replace(STICKS, rules=Infinite()), r"returns gave .*inf.*; expected two finite numbers"),
    "one return for two seats": (replace(STICKS, rules=Alone()), "returns gave .*; expected two finite numbers, one"),
    "a number for returns": (replace(STICKS, rules=Lonely()), "returns gave 1.0; expected two finite numbers, one"),
    "moves that a seat can't know": (replace(STICKS, rules=Hiding()), "it can't know which"),
    "choices shown before the draw": (replace(EVEN_ODD, rules=Gossiping()), "sees what seat 1 chose"),
    "a hint before the draw": (replace(EVEN_ODD, rules=Hinting()), "seat 0 sees what seat 1 chose"),
    "a draw without weight": (
        replace(EVEN_ODD, rules=Weightless()),
        "pairs of an outcome and its weight, above 0",
    ),
    "an answer misread": (replace(STICKS, wire=Mumbling()), "the answer 1 is read as '1'"),
    "options left out": (replace(STICKS, wire=Forgetful()), r"asked for one of \[1, 2, 3\], a player hears \[1\]"),
    "half of a long range": (
        replace(STICKS, rules=Boundless(), wire=Halving()),
        r"asked for one of range\(1, 1000000000000000\), a player hears range\(2, ",
    ),
    "a method of nobody's": (replace(STICKS, wire=Private()), "not 'take_sticks'"),
    "no reason": (replace(STICKS, wire=Silent()), "a reason must be a sentence"),
    "a result that is not JSON": (replace(STICKS, wire=Objective()), "details gave details that JSON can't hold"),
    "words of another game": (replace(STICKS, wire=EvenOddWire()), "a player hears .'even', 'odd'."),
    "perfect information with a secret": (replace(STICKS, rules=Frank()), "perfect information, but seat 0 sees"),
    "perfect information at once": (replace(EVEN_ODD, rules=AtOnce()), "perfect information, but both choose at once"),
    "a hidden card shown": (replace(KUHN_POKER, rules=Leaking()), "seat 1 can tell .* by its view"),
    "a folded card shown": (replace(KUHN_POKER, rules=Boasting()), "seat . can tell .* by its view"),
    "a folded card shown in the next game": (
        replace(KUHN_POKER, rules=Boasting(), parameters={"repeat": 3}),
        "seat . can tell .* by its view",
    ),
    "moves that tell a hidden card": (replace(KUHN_POKER, rules=Helpful()), "seat . can tell .* by its legal moves"),
    "a turn that tells a hidden card": (replace(KUHN_POKER, rules=Hasty()), "seat 1 can tell .* by who acts"),
    "a payment that tells a hidden card": (replace(KUHN_POKER, rules=Overpaid()), "can tell .* by the re(sult|turns)"),
    "a result that tells a hidden card": (replace(KUHN_POKER, wire=Telling()), "seat 0 can tell .* by the result"),
    "a reason that tells a hidden card": (replace(KUHN_POKER, wire=Explaining()), "can tell .* by the reason"),
    "nothing hidden": (replace(KUHN_POKER, rules=Idle()), "`hidden` names no other state"),
    "hidden behind itself": (replace(KUHN_POKER, rules=Vain()), "`hidden` names the state itself"),
    "moves that JSON changes": (replace(STICKS, rules=Counting()), "a round trip .* changes the legal moves"),
    "views that JSON changes": (replace(STICKS, rules=Looking()), "a round trip .* changes the views"),
    "a step that JSON changes": (replace(STICKS, rules=Taking()), "a round trip .* changes what comes of {0: .}"),
    "turns that JSON changes": (replace(STICKS, rules=Asking()), "a round trip .* changes who acts"),
    "returns that JSON changes": (replace(STICKS, rules=Paying()), "a round trip .* changes the returns"),
    "a parameter that breaks the rules": (
        replace(STICKS, rules=Trusting()),
        "sticks = None must make a game or raise BadParameters, found TypeError",
    ),
    "a parameter that is not JSON": (
        replace(STICKS, rules=Greedy()),
        "new gave with most = nan a state that doesn't come back",
    ),
    "parameters refused without a word": (replace(STICKS, rules=Curt()), "BadParameters of sticks = None says nothing"),
    "rules that break down": (
        replace(STICKS, rules=Confused()),
        r"the rules of 'sticks' failed in \w+: KeyError.* \(test_game_contract.py:\d+\)",
    ),
    "words that refuse a legal move": (replace(STICKS, wire=Contrary()), "the answer 1 is refused: E003"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_promise_is_found_and_said(fault: str) -> None:
    game, sentence = BROKEN[fault]
    with pytest.raises(AssertionError) as found:
        check_game(game)
    assert re.match(rf"{game.game_type}: .*{sentence}", str(found.value), re.DOTALL)


def test_rules_in_place_of_a_game_are_told_how_to_become_one() -> None:
    with pytest.raises(
        AssertionError, match=r"expected a Game, such as Game\('my_game', MyRules\(\)\); found <.*Sticks"
    ):
        check_game(SticksRules())  # type: ignore[arg-type] # what a stranger may write


def test_a_game_that_shows_choices_before_chance_may_say_so() -> None:
    check_game(replace(EVEN_ODD, rules=Gossiping()), secret_until_drawn=False)
