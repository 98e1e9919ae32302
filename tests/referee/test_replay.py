"""Matches played again from their files: all their steps, and as many as a damaged file still gives."""

import copy
from collections.abc import Iterator, Mapping
from functools import reduce
from pathlib import Path
from typing import Any, cast

import pytest

from agent_league.games.base import CHANCE, winning_seat
from agent_league.games.registry import Game, load_game
from agent_league.launch.in_process import play_in_process
from agent_league.model.results import MatchResult, Outcome
from agent_league.referee.replay import MatchReplay, replay_match, to_match_content
from agent_league.storage.repositories import MatchRepository
from agent_league.testing.virtual_time import in_virtual_time
from tests.conftest import PlanMaker
from tests.games.sticks import STICKS
from tests.games.test_built_in import GAMES
from tests.referee.tampering import ODD_VALUES, leaves
from tests.referee.test_verify import matches, played
from tests.referee.test_verify_v1 import met

Content = dict[str, Any]
EVEN_ODD: Content = {
    "game_type": "even_odd",
    "game_parameters": {"min_number": 1, "max_number": 10},
    "players": {"PLAYER_A": "P01", "PLAYER_B": "P02"},
    "moves": [{"P01": "even", "P02": "odd"}],
    "transcript": [{"direction": "drawn", "step": 1, "outcome": 7}],
    "result": {"status": "WIN", "winner_player_id": "P02"},
}
TOE: Content = {
    "game_type": "tic_tac_toe",
    "players": {"PLAYER_A": "P01", "PLAYER_B": "P02"},
    "moves": [{"P01": 0}, {"P02": 4}],
    "result": {"status": "TECHNICAL_LOSS"},
}


@pytest.mark.parametrize("game_type", GAMES)
async def test_a_match_of_any_game_is_replayed_to_its_result(plan: PlanMaker, home: Path, game_type: str) -> None:
    manager, _ = await play_in_process(plan(players=2, referees=1, game=game_type, seed="5", strategies=("random",)))
    content = MatchRepository(manager.state.league_id, home).load("R1M1")
    assert content is not None
    again = replay_match(content)
    assert again.shortfall == ""
    assert again.game is not None
    assert again.steps[0].moves == {}
    drawn = [step.moves[CHANCE] for step in again.steps if CHANCE in step.moves]
    assert drawn == [line["outcome"] for line in content["transcript"] if line["direction"] == "drawn"]
    assert len(again.steps) == 1 + len(content["moves"]) + len(drawn)
    assert all(again.render_step(step) for step in again.steps)
    pair = list(content["players"].values())
    made = [{pair[seat]: move for seat, move in step.moves.items()} for step in again.steps if CHANCE not in step.moves]
    assert made[1 if again.steps[0].moves == {} else 0 :] == content["moves"]
    assert winner(again) == content["result"]["winner_player_id"]


def winner(again: MatchReplay) -> str | None:
    """Who won by the last step."""
    assert again.game is not None
    last = again.steps[-1]
    if again.is_repeated:
        assert last.totals is not None
        wins = [sum(winning_seat(paid) == seat for paid in again.round_payoffs) for seat in (0, 1)]
        seat = winning_seat(wins if again.game.parameters.get("first_to") else last.totals)
    else:
        seat = winning_seat(again.game.rules.returns(last.view))
    return None if seat is None else ("P01", "P02")[seat]


@pytest.mark.parametrize("name", matches())
@in_virtual_time
async def test_a_match_that_went_wrong_is_replayed_as_far_as_it_was_played(home: Path, name: str) -> None:
    content = await played(home, *matches()[name])
    again = replay_match(content)
    assert again.shortfall == ""
    received = content["moves"]
    is_over = content["result"]["status"] != "TECHNICAL_LOSS"
    assert len(again.steps) == 1 + len([made for made in received if made]) + is_over
    assert again.steps[-1].is_whole is (is_over or len(again.steps) == 1)


@in_virtual_time
async def test_a_match_of_players_of_v1_is_replayed(home: Path) -> None:
    content = await met(home, ("P01", "P02"))
    again = replay_match(content)
    assert again.steps[1].moves == {seat: content["moves"][0][name] for seat, name in enumerate(("P01", "P02"))}
    assert again.steps[2].view["number"] == again.steps[2].moves[CHANCE]


def test_a_step_that_one_player_missed_shows_what_the_other_did_and_where_it_stood() -> None:
    content = {**EVEN_ODD, "moves": [{"P02": "odd"}], "transcript": [], "result": {"status": "TECHNICAL_LOSS"}}
    start, last = replay_match(content).steps
    assert (last.is_whole, last.moves, last.view) == (False, {1: "odd"}, start.view)


def changed(**fields: Any) -> Content:
    return {**EVEN_ODD, **fields}


@pytest.mark.parametrize(
    ("content", "steps", "sentence"),
    [
        ({}, 0, "no game 'None' is installed"),
        (changed(game_type="chess_of_mars"), 0, "no game 'chess_of_mars' is installed"),
        (changed(game_parameters={"min_number": "x"}), 0, "min_number and max_number must be integers"),
        (changed(moves=[]), 1, "What was played in step 1 is not told."),
        (changed(moves=["even"]), 1, "What was played in step 1 is not told."),
        (changed(moves=7), 1, "What was played in step 1 is not told."),
        (changed(moves=[{"P01": "even", "P09": "odd"}]), 1, "The rules can't go on after step 0"),
        (changed(moves=[{"P01": "even", "P02": "EVEN"}]), 1, "The rules don't allow the move 'EVEN' in step 1."),
        (changed(transcript=[]), 2, "What was drawn in step 2 is not told."),
        (changed(transcript="lost"), 2, "What was drawn in step 2 is not told."),
        ({**TOE, "moves": [{"P01": 0}, {"P01": 4}]}, 2, "In step 2 somebody moved whose turn it wasn't."),
        ({**TOE, "moves": [{"P01": 0}, {"P02": [[]]}]}, 2, "The rules don't allow the move [[]] in step 2."),
        (changed(players=None), 1, "The rules can't go on after step 0"),
    ],
)
def test_a_damaged_file_gives_what_it_can_and_one_sentence(content: Content, steps: int, sentence: str) -> None:
    again = replay_match(content)
    assert len(again.steps) == steps
    assert sentence in again.shortfall


@pytest.mark.parametrize("base", [EVEN_ODD, TOE])
def test_whatever_stands_anywhere_in_a_file_a_replay_comes_of_it(base: Content) -> None:
    for path in {leaf[:depth] for leaf in leaves(base) for depth in range(1, len(leaf) + 1)}:
        for value in ODD_VALUES:
            content = copy.deepcopy(base)
            place = reduce(lambda inner, key: inner[key], path[:-1], cast("Any", content))
            place[path[-1]] = value
            again = replay_match(content)
            assert bool(again.steps) is (again.game is not None)
            assert all(again.render_step(step) for step in again.steps)


RESULTS: list[tuple[str, Mapping[str, Any], int]] = [
    ("even_odd", {"drawn_number": 4, "choices": {"P01": "even", "P02": "odd"}}, 3),
    ("even_odd", {}, 1),
    ("tic_tac_toe", {"moves": [{"P01": 0}, {"P02": 4}]}, 3),
    ("nim", {"choices": {"P01": [[0, 3]], "P02": []}}, 1),
]


@pytest.mark.parametrize(("game_type", "details", "steps"), RESULTS)
def test_what_the_league_knows_of_a_match_is_enough_for_many(
    game_type: str, details: Mapping[str, Any], steps: int
) -> None:
    result = MatchResult("R1M1", 1, ("P01", "P02"), Outcome.DRAW, None, details)
    assert len(replay_match(to_match_content(result, game_type, {})).steps) == steps


def test_a_technical_loss_may_end_before_the_game_does_and_another_result_may_not() -> None:
    moves = {"moves": [{"P01": 0}, {"P02": 4}]}
    lost, won = (
        to_match_content(MatchResult("R1M1", 1, ("P01", "P02"), outcome, "P01", moves), "tic_tac_toe", {})
        for outcome in (Outcome.TECHNICAL_LOSS, Outcome.WIN)
    )
    assert (lost["result"]["status"], lost["result"]["winner_player_id"]) == ("TECHNICAL_LOSS", "P01")
    assert len(replay_match(lost).steps) == len(replay_match(won).steps) == 3
    assert replay_match(lost).shortfall != replay_match(won).shortfall


def repeated(rounds: int, game_type: str = "prisoners_dilemma", moves: Any = None) -> Content:
    one = moves or [{"P01": "cooperate", "P02": "defect"}]
    return {**TOE, "game_type": game_type, "game_parameters": {"repeat": rounds}, "moves": one * rounds, "result": {}}


def test_rounds_are_told_with_what_they_paid() -> None:
    again = replay_match(repeated(3))
    assert again.is_repeated
    assert again.rounds == (("cooperate", "defect"),) * 3
    assert again.round_payoffs == [(0.0, 5.0)] * 3
    assert [(step.round, step.totals) for step in again.steps[1:]] == [(1, (0, 5)), (2, (0, 10)), (3, (0, 15))]
    assert again.steps[3].view["choices"] == ["cooperate", "defect"]


def test_of_a_long_match_the_rounds_ends_are_the_steps_and_the_first_of_too_many() -> None:
    again = replay_match(repeated(40, "kuhn_poker", [{"P01": "pass"}, {"P02": "pass"}]) | draws(40))
    assert len(again.steps) == 121
    ends, sentence = again.select_steps(50)
    assert (len(ends), sentence) == (41, "How each round ended.")
    assert [step.round for step in ends[1:]] == list(range(1, 41))
    assert again.select_steps(21) == (ends[:21], "How the first 20 of 40 rounds ended.")
    assert again.select_steps(121) == (again.steps, "")
    assert replay_match(TOE).select_steps(2) == (replay_match(TOE).steps[:2], "The first 1 of 2 steps.")
    assert replay_match(repeated(40), most=10).shortfall == "These are the first 10 steps."


def draws(count: int) -> Content:
    return {"transcript": [{"direction": "drawn", "outcome": ["J", "K"]}] * count}


def test_a_third_party_s_game_is_replayed_and_one_that_breaks_down_is_told() -> None:
    content = {**TOE, "game_type": "sticks", "moves": [{"P01": 1}]}
    assert len(replay_match(content, lambda _: STICKS).steps) == 2

    def lost(name: str) -> Game:
        raise ImportError("a library is missing")

    assert "a library is missing" in replay_match(content, lost).shortfall


def test_rules_that_break_down_end_the_replay_where_they_do(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = load_game("tic_tac_toe").rules
    calls: Iterator[int] = iter(range(10))

    def apply(state: Any, moves: Any) -> Any:
        if next(calls):
            raise ZeroDivisionError("no")
        return type(rules).apply(rules, state, moves)

    monkeypatch.setattr(rules, "apply", apply, raising=False)
    again = replay_match(TOE)
    assert len(again.steps) == 2
    assert again.shortfall == "The rules can't go on after step 1: ZeroDivisionError('no')."
