"""Any game repeated: when a match ends, who wins it, what its views tell, and what they don't."""

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

from agent_league.games.base import CHANCE, BadParameters, winning_seat
from agent_league.games.even_odd.wire import EvenOddWire
from agent_league.games.registry import Game, game_types, load_game
from agent_league.games.repeated import HOW_TO_REPEAT, RepeatedRules
from agent_league.launch.in_process import play_in_process
from agent_league.storage.repositories import MatchRepository
from tests.conftest import PlanMaker
from tests.games.sticks import SECRET

LEAGUE = "league_2025_even_odd"
ROCK, PAPER = {0: "rock", 1: "rock"}, {0: "paper", 1: "rock"}
"""A drawn round, and one that seat 0 wins."""


def states(game: Game, seed: int) -> Iterator[Any]:
    """Every state of a match of random moves."""
    dice, rules = Random(seed), game.rules
    state = rules.new(game.parameters)
    yield state
    while actors := rules.actors(state):
        legal = {seat: rules.legal(state, seat) for seat in actors}
        options = {seat: [pair[0] for pair in moves] if seat == CHANCE else moves for seat, moves in legal.items()}
        state = rules.apply(state, {seat: dice.choice(moves) for seat, moves in options.items()})
        yield state


def after(game: Game, *rounds: dict[int, str]) -> Any:
    state = game.rules.new(game.parameters)
    for moves in rounds:
        assert game.rules.actors(state) == (0, 1)
        state = game.rules.apply(state, moves)
    return state


def rock_paper_scissors(**parameters: Any) -> Game:
    return load_game("rock_paper_scissors").with_parameters({"first_to": None, **parameters})


@pytest.mark.parametrize("game_type", game_types())
def test_a_match_is_as_many_games_as_it_should_be_and_their_returns_add_up(game_type: str) -> None:
    game = load_game(game_type).with_parameters({"repeat": 4, "first_to": None})
    assert isinstance(game.rules, RepeatedRules)
    seen = list(states(game, 7))
    ends = [now["last"] for before, now in pairwise(seen) if now["rounds"] != before["rounds"]]
    paid = [game.rules.single.returns(end) for end in ends]
    last = seen[-1]
    assert len(paid) == len(last["rounds"]) == 4
    assert tuple(last["scores"]) == game.rules.returns(last) == (sum(a for a, _ in paid), sum(b for _, b in paid))
    winners = [winning_seat(returns) for returns in paid]
    assert last["wins"] == [winners.count(0), winners.count(1)]


@pytest.mark.parametrize("game_type", game_types())
def test_a_view_tells_the_game_at_hand_the_last_one_and_how_it_stands(game_type: str) -> None:
    game = load_game(game_type).with_parameters({"repeat": 3, "first_to": 3})
    assert isinstance(game.rules, RepeatedRules)
    single = game.rules.single
    for state in states(game, 3):
        for seat in (0, 1):
            view = game.rules.view(state, seat)
            assert view.pop("game") == single.view(state["game"], seat)
            last = state["last"] and single.view(state["last"], seat)
            told = last and {name: value for name, value in last.items() if name != "payoffs"}
            assert view.pop("last") == told
            assert view == {name: state[name] for name in ("rounds", "repeat", "first_to", "scores", "wins")}


@pytest.mark.parametrize("first_to", [1, 2, 5])
def test_a_match_to_so_many_wins_is_over_with_the_last_of_them(first_to: int) -> None:
    game = rock_paper_scissors(first_to=first_to)
    before = after(game, *[PAPER, ROCK] * (first_to - 1))
    assert game.rules.actors(before) == (0, 1)
    state = game.rules.apply(before, PAPER)
    assert (game.rules.actors(state), state["wins"], game.rules.returns(state)) == ((), [first_to, 0], (first_to, 0))


@pytest.mark.parametrize(("first_to", "games"), [(1, 20), (3, 60), (50, 1000), (51, 1000)])
def test_draws_alone_come_to_an_end_too(first_to: int, games: int) -> None:
    state = after(rock_paper_scissors(first_to=first_to), *[ROCK] * games)
    assert rock_paper_scissors(first_to=first_to).rules.actors(state) == ()
    assert (len(state["rounds"]), state["wins"], state["repeat"]) == (games, [0, 0], games)


def test_with_both_limits_the_one_that_comes_first_ends_the_match() -> None:
    game = rock_paper_scissors(repeat=3, first_to=2)
    assert game.rules.actors(after(game, PAPER, PAPER)) == ()
    drawn = after(game, ROCK, PAPER, ROCK)
    assert (game.rules.actors(drawn), game.rules.returns(drawn)) == ((), (1, 0))


@pytest.mark.parametrize(("first_to", "returns"), [(None, (-1, 1)), (3, (3, 2))])
def test_wins_decide_a_match_to_so_many_wins_and_what_was_paid_decides_any_other(
    first_to: int | None, returns: tuple[int, int]
) -> None:
    """Seat 0 wins one chip three times, seat 1 two chips twice."""
    game = load_game("kuhn_poker").with_parameters({"repeat": 5, "first_to": first_to})
    state = game.rules.new(game.parameters)
    for betting in (["bet", "bet"], ["bet", "pass"], ["bet", "bet"], ["bet", "pass"], ["bet", "pass"]):
        state = game.rules.apply(state, {CHANCE: ["J", "K"]})
        for seat, move in enumerate(betting):
            state = game.rules.apply(state, {seat: move})
    assert (game.rules.actors(state), state["wins"], game.rules.returns(state)) == ((), [3, 2], returns)
    winner = "P01" if first_to else "P02"
    assert f"{winner} won {max(returns)} to {min(returns)} after 5 rounds" == game.wire.reason(
        state, [], ("P01", "P02"), winner
    )


@pytest.mark.parametrize(("first_to", "winner"), [(3, (3, 0)), (None, (15, 0))])
def test_payoffs_are_what_was_paid_whatever_decides_the_match(first_to: int | None, winner: tuple[int, int]) -> None:
    game = load_game("prisoners_dilemma").with_parameters({"repeat": 3, "first_to": first_to})
    state = after(game, *[{0: "defect", 1: "cooperate"}] * 3)
    assert game.rules.returns(state) == winner
    assert game.final_payoffs(state) == (15, 0)
    assert game.result_fields(state, [], ("P01", "P02"))["payoffs"] == {"P01": 15, "P02": 0}


def test_payoffs_of_a_single_game_are_its_returns() -> None:
    game = load_game("prisoners_dilemma").with_parameters({"repeat": None})
    state = game.rules.apply(game.rules.new(game.parameters), {0: "defect", 1: "cooperate"})
    assert game.final_payoffs(state) == game.rules.returns(state) == (5, 0)


def test_the_words_say_how_many_rounds_there_are_where_only_wins_are_wanted() -> None:
    """Read out of the text: what it promises is what the state holds."""
    per_win, most = (int(number) for number in re.findall(r"(\d+) for each win.* more than (\d+)", HOW_TO_REPEAT)[0])
    for first_to in (1, 3, 49, 51):
        assert after(rock_paper_scissors(first_to=first_to))["repeat"] == min(most, per_win * first_to)


def test_rounds_tell_one_move_by_itself_and_several_as_a_list() -> None:
    game = load_game("nim").with_parameters({"heaps": [2, 1], "repeat": 2})
    state = game.rules.new(game.parameters)
    for seat, move in [(0, [0, 2]), (1, [1, 1]), (0, [0, 1]), (1, [0, 1]), (0, [1, 1])]:
        state = game.rules.apply(state, {seat: move})
    assert state["rounds"] == [[[0, 2], [1, 1]], [[[0, 1], [1, 1]], [0, 1]]]


@pytest.mark.parametrize("seat", [0, 1])
def test_a_folded_card_stays_hidden_in_the_games_that_follow(seat: int) -> None:
    game = load_game("kuhn_poker").with_parameters({"repeat": 3})
    views = []
    for other in "JK":
        state = game.rules.new(game.parameters)
        for moves in (
            {CHANCE: ["Q", other] if seat == 0 else [other, "Q"]},
            {0: "bet"},
            {1: "pass"},
            {CHANCE: ["K", "J"]},
            {0: "pass"},
        ):
            state = game.rules.apply(state, moves)
        views.append(game.rules.view(state, seat))
    assert views[0] == views[1]
    assert (views[0]["last"]["card"], views[0]["last"]["other_card"]) == ("Q", None)


@pytest.mark.parametrize("name", ["repeat", "first_to"])
@pytest.mark.parametrize("value", [0, -1, 1001, True, 1.0, 2.5, "3", [3], {}])
def test_a_limit_that_makes_no_match_is_named(name: str, value: Any) -> None:
    with pytest.raises(BadParameters, match=rf"{name} must be a whole number from 1 to 1000, found "):
        load_game("tic_tac_toe").with_parameters({name: value})


@pytest.mark.parametrize(
    ("game_type", "parameters", "repeated"),
    [
        ("tic_tac_toe", {}, False),
        ("tic_tac_toe", {"repeat": 1}, False),
        ("tic_tac_toe", {"repeat": 2}, True),
        ("tic_tac_toe", {"first_to": 1}, True),
        ("odds_and_evens", {}, True),
        ("odds_and_evens", {"repeat": 1}, False),
        ("odds_and_evens", {"repeat": None}, False),
        ("odds_and_evens", {"repeat": None, "first_to": 2}, True),
        ("rock_paper_scissors", {"first_to": None}, False),
    ],
)
def test_a_limit_may_be_set_and_a_usual_one_left_out(
    game_type: str, parameters: dict[str, Any], repeated: bool
) -> None:
    game = load_game(game_type).with_parameters(parameters)
    assert isinstance(game.rules, RepeatedRules) == repeated
    assert ("rounds" in game.rules.new(game.parameters)) == repeated
    assert game.how_to_play.count(HOW_TO_REPEAT) == repeated


def change(path: Path, **values: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


async def questions(home: Path, plan: PlanMaker, game_type: str, **parameters: Any) -> list[dict[str, Any]]:
    """What players were asked in a league of two on the memory carrier, with whom it was asked."""
    change(home / f"config/leagues/{LEAGUE}.json", game_type=game_type)
    change(home / "config/games/games_registry.json", games=[{"game_type": game_type, "parameters": parameters}])
    manager, _ = await play_in_process(plan(players=2, referees=1, seed="7", strategies=("random",)))
    assert manager.completed.is_set()
    (match_id,) = MatchRepository(LEAGUE, home).list()
    record = MatchRepository(LEAGUE, home).load(match_id) or {}
    assert set(record["result"]["terminations"].values()) == {"normal"}
    return [
        entry
        for entry in record["transcript"]
        if entry["direction"] == "sent" and entry.get("method") in ("make_move", "choose_parity")
    ]


async def test_even_odd_repeated_is_asked_for_in_the_plain_words(home: Path, plan: PlanMaker) -> None:
    assert isinstance(load_game("even_odd").wire, EvenOddWire)
    asked = await questions(home, plan, "even_odd", repeat=3)
    assert [entry["message"]["message_type"] for entry in asked] == ["GAME_MOVE_CALL"] * 6
    requests = [entry["message"]["move_request"] for entry in asked]
    assert [request["valid_options"] for request in requests] == [["even", "odd"]] * 6
    left_out = [entry["message"]["context"].get("rounds_since", 0) for entry in asked]
    assert left_out == [0, 0, 0, 0, 1, 1]
    assert [len(request["context"]["rounds"]) for request in requests] == [0, 0, 1, 1, 1, 1]


async def test_no_question_of_a_poker_match_shows_a_card_that_was_not_laid_open(home: Path, plan: PlanMaker) -> None:
    asked = await questions(home, plan, "kuhn_poker", repeat=20)
    views = [entry["message"]["move_request"]["context"] for entry in asked]
    assert len({view["game"]["card"] for view in views}) == 3
    for view in views:
        assert view["game"].keys() == {"card", "other_card", "betting", "pot"}
        assert view["game"]["other_card"] is None
        last = view["last"] or {"betting": ["pass"], "other_card": None}
        assert (last["other_card"] is not None) == (last["betting"][-2:] in (["pass", "pass"], ["bet", "bet"]))


def test_moves_that_are_not_public_stay_so_when_their_round_is_over() -> None:
    game = SECRET.with_parameters({"repeat": 2, "sticks": 2, "most": 1})
    state = game.rules.new(game.parameters)
    for seat in (0, 1):
        state = game.rules.apply(state, {seat: 1})
    assert [game.rules.view(state, seat)["rounds"] for seat in (0, 1)] == [[[1, None]], [[None, 1]]]
