"""The rules, as a player comes by them: only where somebody asks for them, and never where it would hold up others."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from agent_league.games.draw import compute_commitment
from agent_league.games.even_odd import EVEN_ODD
from agent_league.games.registry import load_game
from agent_league.games.view import render_view
from agent_league.players import sensors
from agent_league.players.observation import Move, Observation
from agent_league.players.result_check import ResultChecker
from agent_league.protocol import v2
from tests.games.toys import Toys, toys
from tests.players.chair import Fixed, chair, game_over, invitation, move_call

__all__ = ["toys"]
SEED = "5eed" * 16


@pytest.fixture(autouse=True)
def nothing_looked_up() -> None:
    sensors._load_rules.cache_clear()


class Curious:
    """Asks for the rules, twice."""

    def __init__(self) -> None:
        self.found: list[Any] = []

    def choose(self, observation: Observation) -> Move:
        self.found += [observation.rules, observation.rules]
        return observation.legal_moves[0]


def toy_invitation() -> dict[str, Any]:
    return {**invitation(draw_commitment=compute_commitment(SEED)), "game_type": "toys:even_odd"}


def toy_call(step: int = 0) -> dict[str, Any]:
    return {**move_call(["even", "odd"], step), "game_type": "toys:even_odd"}


def toy_result(**fields: Any) -> dict[str, Any]:
    over = game_over(choices={"P01": ["even"], "P02": ["odd"]})
    return {**over, "game_type": "toys:even_odd", "draw_seed": SEED, **fields}


async def test_a_strategy_that_asks_for_no_rules_loads_no_game_of_a_source_in_a_whole_match(
    home: Path, toys: Toys
) -> None:
    strategy = Fixed("even")
    async with chair(home, strategy, game_types=("*",)) as seat:
        await seat.call("handle_game_invitation", toy_invitation())
        await seat.call("make_move", toy_call())
        await seat.call("notify_match_result", toy_result())
        assert len((await seat.state())["matches"]) == 1
        assert "toys" in repr(strategy.seen[0])
    assert toys.in_main_thread == []


async def test_one_that_asks_gets_them_in_its_own_thread_and_only_the_first_time_takes_long(
    home: Path, toys: Toys
) -> None:
    strategy = Curious()
    async with chair(home, strategy, game_types=("*",)) as seat:
        for step in range(2):
            await seat.call("make_move", toy_call(step))
    assert strategy.found == [EVEN_ODD.rules] * 4
    assert toys.in_main_thread == [False]


async def test_rules_that_nobody_has_are_none(home: Path) -> None:
    strategy = Curious()
    async with chair(home, strategy, game_types=("*",)) as seat:
        await seat.call("make_move", {**move_call([1]), "game_type": "chess_boxing"})
    assert strategy.found == [None, None]


def test_an_observation_may_be_given_its_rules_or_have_them_taken_away_and_finds_its_dice_once() -> None:
    known = Observation("nim", "R1M1", "P01", "P02", [1], rules=load_game("nim").rules)
    assert known.rules is load_game("nim").rules
    seen = sensors.LazyObservation("nim", "R1M1", "P01", "P02", [1])
    found = iter([EVEN_ODD.rules])
    dice = iter([Random(1)])
    del seen.random, seen.rules
    seen.create_dice, seen.load_rules = lambda: next(dice), lambda: next(found)
    assert seen.random is seen.random
    assert seen.random.random() == Random(1).random()
    assert seen.rules is seen.rules is EVEN_ODD.rules
    seen.rules = None
    assert seen.rules is None
    with pytest.raises(AttributeError, match="'colour'"):
        _ = seen.colour


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({}, None),
        ({"draw_seed": "bad5eed"}, "the revealed seed's hash"),
        ({"draw_seed": None}, "promised and not revealed"),
    ],
)
def test_of_a_game_of_a_source_a_player_checks_the_seed_alone(
    toys: Toys, fields: dict[str, Any], found: str | None
) -> None:
    scrutiny = ResultChecker()
    scrutiny.record_invitation(v2.GameInvitation.model_validate(toy_invitation()))
    problem = scrutiny.find_problem(v2.GameOver.model_validate(toy_result(**fields)), "P01")
    assert problem is None if found is None else problem and found in problem
    assert toys.in_main_thread == []


def test_a_picture_of_a_sources_game_is_not_worth_loading_it(toys: Toys) -> None:
    assert render_view("toys:even_odd", {"left": 3}, 0) == "left: 3"
    assert toys.in_main_thread == []
