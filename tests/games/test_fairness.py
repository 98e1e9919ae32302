"""A player's own check of the draw."""

from pathlib import Path
from typing import Any

import pytest

from agent_league.games.draw import compute_commitment, draw_outcome
from agent_league.games.fairness import find_draw_problem
from agent_league.games.registry import load_game
from agent_league.testing.virtual_time import in_virtual_time
from tests.referee.hall import hall

SEED = "5eed"
PLAYERS = ("P01", "P02")
NUMBERS = [(number, 1) for number in range(1, 11)]
NUMBER = draw_outcome(SEED, 1, NUMBERS)
RIGHT, WRONG = ("even", "odd") if NUMBER % 2 == 0 else ("odd", "even")
RESULT: dict[str, Any] = {
    "status": "WIN",
    "winner_player_id": "P01",
    "drawn_number": NUMBER,
    "number_parity": RIGHT,
    "choices": {"P01": RIGHT, "P02": WRONG},
    "reason": "...",
}


def problem(result: dict[str, Any] | None = None, **other: Any) -> str | None:
    usual: dict[str, Any] = {
        "game_type": "even_odd",
        "parameters": {"min_number": 1, "max_number": 10},
        "players": PLAYERS,
        "promised": compute_commitment(SEED),
        "seed": SEED,
        "result": {**RESULT, **(result or {})},
    }
    return find_draw_problem(**{**usual, **other})


def test_an_honest_result_has_no_problem() -> None:
    assert problem() is None
    assert problem(parameters=None) is None
    assert problem({"choices": {"P01": RIGHT, "P02": RIGHT}, "winner_player_id": None, "status": "DRAW"}) is None


@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        ({"drawn_number": NUMBER + 2}, f"drawn_number is {NUMBER + 2}, but seed and choices give {NUMBER}"),
        ({"drawn_number": None}, "drawn_number is None"),
        ({"drawn_number": float(NUMBER)}, "drawn_number is"),
        ({"number_parity": WRONG}, "number_parity is"),
        ({"winner_player_id": "P02"}, "winner_player_id is 'P02', but seed and choices give 'P01'"),
        ({"winner_player_id": None}, "winner_player_id is None"),
        ({"choices": {"P01": WRONG, "P02": RIGHT}}, "winner_player_id is 'P01', but seed and choices give 'P02'"),
        ({"choices": {"P01": RIGHT}}, "choices have None for P02"),
        ({"choices": {"P01": RIGHT, "P02": [WRONG, WRONG]}}, "more moves than the match has steps"),
        ({"choices": {"P01": RIGHT, "P02": []}}, "choices lack a move of P02"),
        ({"choices": {**RESULT["choices"], "P03": "even"}}, "choices is"),
        ({"choices": None}, "choices have None for P01"),
        ({"choices": "even"}, "choices have None for P01"),
        ({"choices": {"P01": {"x": 1}, "P02": 7}}, "which the rules don't allow"),
    ],
)
def test_a_result_that_does_not_follow_from_seed_and_choices_is_named(result: dict[str, Any], sentence: str) -> None:
    assert sentence in (problem(result) or "")


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        ({"seed": "another"}, "the revealed seed's hash is"),
        ({"seed": None}, "promised and not revealed"),
        ({"promised": compute_commitment("another")}, "was promised"),
        ({"parameters": {"min_number": 100, "max_number": 109}}, "drawn_number is"),
        ({"parameters": {"min_number": "one"}}, "min_number and max_number must be integers"),
        ({"parameters": {"min_number": True, "max_number": 10}}, "min_number and max_number must be integers"),
        ({"players": ("P02", "P03")}, "choices have None for P03"),
    ],
)
def test_a_broken_promise_is_named(other: dict[str, Any], sentence: str) -> None:
    assert sentence in (problem(**other) or "")


def test_where_nothing_was_promised_there_is_no_problem() -> None:
    assert problem({"drawn_number": 99}, promised=None) is None


def test_after_a_technical_loss_the_seed_alone_is_checked() -> None:
    lost: dict[str, Any] = {"status": "TECHNICAL_LOSS", "drawn_number": None, "number_parity": None, "choices": {}}
    assert problem(lost) is None
    assert "was promised" in (problem(lost, promised=compute_commitment("another")) or "")


def test_of_a_game_that_is_not_installed_the_seed_alone_is_checked() -> None:
    assert problem(game_type="chess") is None
    assert "was promised" in (problem(game_type="chess", promised=compute_commitment("another")) or "")


def test_rules_that_break_down_are_a_problem_and_no_exception(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise KeyError("sticks")

    monkeypatch.setattr(type(load_game("even_odd").rules), "legal", broken)
    assert "the rules of even_odd broke down on this result: KeyError('sticks')" in (problem() or "")


@in_virtual_time
async def test_what_a_referee_tells_its_players_stands_the_check(home: Path) -> None:
    async with hall(home) as match:
        match.pair()
        await match.play()
        (invitation,) = match.players["P02"].received_params("handle_game_invitation")
        (told,) = match.players["P02"].received_params("notify_match_result")
    assert problem(promised=invitation["draw_commitment"], seed=told["draw_seed"], result=told["game_result"]) is None
    worse = {**told["game_result"], "drawn_number": told["game_result"]["drawn_number"] % 10 + 1}
    assert problem(promised=invitation["draw_commitment"], seed=told["draw_seed"], result=worse)
