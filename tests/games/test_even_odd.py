"""Even/Odd: the seeds' truth table, the range of the registry, and the words of a result."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from agent_league.config import ConfigLoader
from agent_league.games.base import CHANCE, BadParameters
from agent_league.games.even_odd import EVEN_ODD
from agent_league.games.even_odd.rules import parity_of
from agent_league.games.registry import Game, load_game
from agent_league.model.results import MatchState, Outcome
from agent_league.referee.match import IllegalMove, Match

RULES = EVEN_ODD.rules


def played(a: str, b: str, number: int) -> Any:
    state = RULES.apply(RULES.new({}), {0: a, 1: b})
    return RULES.apply(state, {CHANCE: number})


@pytest.mark.parametrize(
    ("a", "b", "number", "returns"),
    [
        ("even", "odd", 8, (1, -1)),
        ("even", "odd", 7, (-1, 1)),
        ("odd", "even", 8, (-1, 1)),
        ("odd", "even", 7, (1, -1)),
        ("even", "even", 8, (0, 0)),
        ("even", "even", 7, (0, 0)),
        ("odd", "odd", 8, (0, 0)),
        ("odd", "odd", 7, (0, 0)),
    ],
)
def test_the_one_who_was_right_wins_and_equal_choices_draw(
    a: str, b: str, number: int, returns: tuple[int, int]
) -> None:
    assert RULES.returns(played(a, b, number)) == returns


@pytest.mark.parametrize("number", [*range(-2, 12), 98, 99])
def test_even_numbers_are_even(number: int) -> None:
    assert parity_of(number) == ("even" if number in {-2, 0, 2, 4, 6, 8, 10, 98} else "odd")


def test_both_choose_at_once_then_chance_draws_then_it_is_over() -> None:
    state = RULES.new({})
    assert RULES.actors(state) == (0, 1)
    state = RULES.apply(state, {0: "even", 1: "odd"})
    assert RULES.actors(state) == (CHANCE,)
    assert RULES.actors(RULES.apply(state, {CHANCE: 4})) == ()


def registered(home: Path, parameters: dict[str, Any] | None = None) -> Game:
    """The game as a referee with this home loads it."""
    loader = ConfigLoader(home)
    if parameters is not None:
        path = loader.file_path("games/games_registry.json")
        content = json.loads(path.read_text())
        content["games"][0]["parameters"] = parameters
        path.write_text(json.dumps(content))
    return load_game("even_odd").with_parameters(loader.load_games_registry().get_parameters("even_odd"))


def outcomes(game: Game) -> list[Any]:
    return list(game.rules.legal(game.rules.new(game.parameters), CHANCE))


def test_the_shipped_registry_draws_one_to_ten_all_alike(home: Path) -> None:
    assert outcomes(registered(home)) == [(number, 1) for number in range(1, 11)]


@pytest.mark.parametrize(
    ("parameters", "first", "last"),
    [
        ({"min_number": 0, "max_number": 99}, 0, 99),
        ({"min_number": -5, "max_number": 5}, -5, 5),
        ({"min_number": 7, "max_number": 7}, 7, 7),
        ({"max_number": 3}, 1, 3),
        ({}, 1, 10),
        ({"min_number": 1, "max_number": 1_000_000}, 1, 1_000_000),
    ],
)
def test_the_range_of_the_registry_is_honoured(home: Path, parameters: dict[str, Any], first: int, last: int) -> None:
    numbers = [number for number, _ in outcomes(registered(home, parameters))]
    assert numbers == list(range(first, last + 1))


@pytest.mark.parametrize(
    "parameters",
    [
        {"min_number": 10, "max_number": 1},
        {"min_number": "1", "max_number": 10},
        {"min_number": 1.5, "max_number": 10},
        {"min_number": None, "max_number": 10},
        {"min_number": False, "max_number": 10},
        {"min_number": 1, "max_number": 1_000_001},
        {"min_number": 2**70, "max_number": 2**70 + 1},
        {"min_number": -(2**70), "max_number": -(2**70) + 1},
    ],
)
def test_a_range_that_makes_no_game_is_named(home: Path, parameters: dict[str, Any]) -> None:
    with pytest.raises(BadParameters, match=re.escape(repr(parameters["min_number"]))):
        registered(home, parameters)


@pytest.mark.parametrize("seat", [0, 1])
def test_before_the_draw_a_seat_sees_no_choice_and_afterwards_all(seat: int) -> None:
    chosen = RULES.apply(RULES.new({}), {0: "even", 1: "odd"})
    assert RULES.view(chosen, seat)["choices"] is None
    assert RULES.view(chosen, None)["choices"] == ["even", "odd"]
    assert RULES.view(RULES.apply(chosen, {CHANCE: 4}), seat) == {
        "range": [1, 10],
        "choices": ["even", "odd"],
        "number": 4,
    }


def finished(a: str, b: str, number: int) -> Match:
    match = Match("R1M1", ("P01", "P02"), EVEN_ODD)
    match.record_join("P01")
    match.record_join("P02")
    match.apply_moves({"P01": a, "P02": b})
    match.apply_draw(number)
    return match


def test_a_result_says_number_parity_and_choices_as_the_seeds_do() -> None:
    match = finished("even", "odd", 8)
    assert EVEN_ODD.wire.result(match.position, match.moves, match.players) == {
        "drawn_number": 8,
        "number_parity": "even",
        "choices": {"P01": "even", "P02": "odd"},
    }
    assert match.decide_verdict().winner == "P01"
    assert match.decide_verdict().reason == "P01 chose even, number was 8 (even)"


def test_a_draw_says_what_both_chose() -> None:
    verdict = finished("odd", "odd", 8).decide_verdict()
    assert (verdict.outcome, verdict.winner) == (Outcome.DRAW, None)
    assert verdict.reason == "Both chose odd, number was 8 (even)"


def test_a_match_goes_through_the_states_of_the_seeds() -> None:
    match = Match("R1M1", ("P01", "P02"), EVEN_ODD)
    states = [match.state]
    match.record_join("P02")
    states.append(match.state)
    match.record_join("P01")
    states.append(match.state)
    match.apply_moves({"P01": "even", "P02": "odd"})
    states.append(match.state)
    match.apply_draw(3)
    states.append(match.state)
    assert states == [
        MatchState.WAITING_FOR_PLAYERS,
        MatchState.WAITING_FOR_PLAYERS,
        MatchState.COLLECTING_CHOICES,
        MatchState.DRAWING_NUMBER,
        MatchState.FINISHED,
    ]


@pytest.mark.parametrize("move", ["Even", "ODD", " even", "odd ", "", "both", 0, 1, True, None, ["even"], {"a": 1}])
def test_only_the_exact_words_are_legal(move: Any) -> None:
    match = Match("R1M1", ("P01", "P02"), EVEN_ODD)
    match.record_join("P01")
    match.record_join("P02")
    with pytest.raises(IllegalMove, match="expected one of"):
        match.check_move("P01", move)
    match.check_move("P01", "even")
