"""PettingZoo's environments over the six functions, and in a league."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from agent_league.errors import ConfigError
from agent_league.games.base import CHANCE, BadParameters, Rules, State
from agent_league.games.pettingzoo import SOURCE, read_manual
from agent_league.games.pettingzoo import rules as adapter
from agent_league.games.pettingzoo.rules import PettingZooRules
from agent_league.games.registry import load_game
from agent_league.launch.in_process import play_in_process
from agent_league.referee.verify import verify_match
from agent_league.testing.game_contract import check_game
from tests.conftest import PlanMaker
from tests.games.cut_short import cut_short, needs_pettingzoo

pytestmark = needs_pettingzoo

TRIED = (
    "chess",
    "connect_four",
    "go",
    "hanabi",
    "knights_archers_zombies",
    "leduc_holdem",
    "rps",
    "texas_holdem",
    "texas_holdem_no_limit",
    "tictactoe",
)


def seeded(rules: Rules, seed: int = 0) -> State:
    """The state once the seed is drawn."""
    state = rules.new({})
    for digit in seed.to_bytes(adapter.DIGITS):
        state = rules.apply(state, {CHANCE: digit})
    return state


def after(rules: Rules, state: State, *moves: int) -> State:
    for move in moves:
        (seat,) = rules.actors(state)
        assert move in rules.legal(state, seat)
        state = rules.apply(state, {seat: move})
    return state


@pytest.mark.parametrize("name", TRIED)
def test_ten_environments_keep_the_contract(name: str) -> None:
    check_game(cut_short(SOURCE.load(name), 12), range(2))


@pytest.mark.parametrize("name", ["leduc_holdem", "rps", "texas_holdem", "tictactoe"])
def test_an_environment_is_played_to_its_end_by_the_contract(name: str) -> None:
    check_game(load_game(f"pettingzoo:{name}"), range(2))


def test_the_names_are_those_that_two_can_play_here() -> None:
    assert set(TRIED) <= set(SOURCE.names())


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("ches", r"PettingZoo has no environment 'ches' \(names like it: chess"),
        ("zzz", r"PettingZoo has no environment 'zzz'; `league games pettingzoo` lists them"),
        ("cooperative_pong", "it shows 403200 numbers at a time, more than the 20000 that fit a message"),
        ("warlords", "pettingzoo:warlords can't be played in a league: it can't be made here: "),
    ],
)
def test_what_two_cannot_play_is_refused_with_a_sentence(name: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        SOURCE.load(name)


@pytest.mark.parametrize(
    ("name", "parameters", "sentence"),
    [
        ("go", {"size": 9}, r"there is no parameter 'size' \(there are: board_size, komi, repeat, first_to\)"),
        ("go", {"render_mode": "human"}, "there is no parameter 'render_mode'"),
        ("go", {"board_size": "9"}, "board_size must be a whole number, found '9'"),
        ("rps", {"num_actions": 4}, "PettingZoo makes no rps of these: The number of actions must be an odd number"),
        ("texas_holdem", {"num_players": 3}, "PettingZoo makes no texas_holdem of these: it has 3 agents, and a match"),
    ],
)
def test_bad_parameters_are_named(name: str, parameters: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadParameters, match=sentence):
        load_game(f"pettingzoo:{name}").with_parameters(parameters)


def test_good_parameters_are_passed_on() -> None:
    game = load_game("pettingzoo:rps").with_parameters({"num_actions": 5, "max_cycles": 2})
    state = game.rules.new(game.parameters)
    for _ in range(adapter.DIGITS):
        state = game.rules.apply(state, {CHANCE: 0})
    assert game.rules.legal(state, 0) == [0, 1, 2, 3, 4]
    assert game.rules.actors(after(game.rules, state, 0, 1, 0, 1)) == ()


def test_the_referee_draws_the_seed_before_anybody_sees_anything() -> None:
    rules = SOURCE.load("leduc_holdem").rules
    state = rules.new({})
    assert rules.actors(state) == (CHANCE,)
    assert rules.legal(state, CHANCE) == [(digit, 1) for digit in range(256)]
    assert rules.view(state, 0) == {"observation": None}
    state = seeded(rules, 7)
    assert state == {"parameters": {}, "seed": [0, 0, 0, 7], "actions": []}
    assert list(rules.view(state, 0)) == ["observation"]


def test_the_rewards_of_a_whole_match_are_added_up() -> None:
    rules = SOURCE.load("rps").rules
    rock, scissors = 0, 2
    state = after(rules, seeded(rules), *[rock, scissors] * 15)
    assert rules.actors(state) == ()
    assert rules.returns(state) == (15.0, -15.0)


def test_who_makes_a_row_of_three_wins() -> None:
    rules = SOURCE.load("tictactoe").rules
    state = after(rules, seeded(rules), 0, 3, 1, 4)
    assert rules.actors(state) == (0,)
    assert rules.legal(state, 0) == [2, 5, 6, 7, 8]
    state = after(rules, state, 2)
    assert rules.actors(state) == ()
    assert rules.returns(state) == (1.0, -1.0)
    assert [rules.legal(state, seat) for seat in (0, 1)] == [[], []]


def test_a_choice_is_not_seen_before_the_other_one_is_made() -> None:
    rules = SOURCE.load("rps").rules
    views = [rules.view(after(rules, seeded(rules), choice), 1) for choice in (0, 1, 2)]
    assert views == [views[0]] * 3
    assert rules.view(after(rules, seeded(rules), 2, 1), 1) == {"observation": 2}


def test_a_view_does_not_change_with_the_card_of_the_other() -> None:
    rules = SOURCE.load("leduc_holdem").rules
    other_cards: dict[str, set[str]] = {}
    for seed in range(0, 80, 2):
        state = seeded(rules, seed)
        if rules.actors(state) == (0,):  # what was put in tells who begins
            other_cards.setdefault(json.dumps(rules.view(state, 0)), set()).add(json.dumps(rules.view(state, 1)))
    assert len(other_cards) == 3
    assert all(len(seen) > 1 for seen in other_cards.values())


@pytest.mark.parametrize("name", ["leduc_holdem", "connect_four"])
def test_an_earlier_state_is_as_it_was(name: str) -> None:
    rules, dice = PettingZooRules(name), Random(1)
    states = [seeded(rules, 2)]
    told = []
    while actors := rules.actors(states[-1]):
        legal = rules.legal(states[-1], actors[0])
        told.append((actors, legal, rules.view(states[-1], 0), rules.view(states[-1], 1)))
        states.append(rules.apply(states[-1], {actors[0]: dice.choice(legal)}))
    for state, (actors, legal, *views) in reversed(list(zip(states, told, strict=False))):
        assert rules.actors(state) == actors
        assert rules.legal(state, actors[0]) == legal
        assert [rules.view(state, seat) for seat in (0, 1)] == views


def test_environments_are_led_on_and_only_so_many_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def make(name: str, parameters: dict[str, Any]) -> Any:
        made.append(name)
        return adapter.load_library().make("aec", adapter.list_env_ids()[name], **parameters)

    monkeypatch.setattr(adapter, "MAX_RUNS", 3)
    monkeypatch.setattr(adapter, "make_environment", make)
    rules = PettingZooRules("tictactoe")
    state = seeded(rules)
    made.clear()
    after(rules, state, 0, 1, 2, 3, 4)
    assert len(made) == 1
    for seed in range(1, 10):
        rules.actors(seeded(rules, seed))
    assert len(made) == 10
    assert len(rules._runs) <= 3


async def test_a_league_is_played_and_every_match_can_be_verified(home: Path, plan: PlanMaker) -> None:
    await play_in_process(plan(players=3, referees=1, seed="7", game="pettingzoo:leduc_holdem"))
    files = sorted((home / "data/matches").glob("*/*.json"))
    assert len(files) == 3
    for file in files:
        record = json.loads(file.read_text())
        assert set(record["result"]["terminations"].values()) == {"normal"}
        assert all(finding.ok for finding in verify_match(record))


def test_each_seat_is_told_its_agent_what_is_rewarded_and_what_the_library_says() -> None:
    game = load_game("pettingzoo:tictactoe")
    assert game.goals[0] == (
        "In PettingZoo's words you are player_1. You win if your rewards add up to more than your opponent's. The "
        "rewards: Winner: +1, Loser: -1. If the game ends in a draw, both players will receive a reward of 0."
    )
    assert "you are player_2. " in game.goals[1]
    assert "The first player to place 3 of their marks" in game.how_to_play
    assert "Of its actions it says: Each action from 0 to 8 represents placing" in game.how_to_play
    assert not set("|<") & set(game.goals[0])
    assert "<a " not in game.how_to_play


def test_an_environment_without_a_manual_has_a_goal_all_the_same() -> None:
    class Bare:
        @property
        def unwrapped(self) -> object:
            return object()

    assert read_manual(Bare()) == ("", "")
