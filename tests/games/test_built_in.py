"""What every built-in game tells of itself, to people and to models, and the parameters that it doesn't have."""

import re

import pytest

from agent_league.games.base import CHANCE, BadParameters
from agent_league.games.registry import load_game
from agent_league.games.repeated import RepeatedRules

GAMES = (
    "connect_four",
    "even_odd",
    "kuhn_poker",
    "nim",
    "odds_and_evens",
    "prisoners_dilemma",
    "rock_paper_scissors",
    "tic_tac_toe",
)


@pytest.mark.parametrize("game_type", GAMES)
def test_a_game_has_a_title_and_opens_its_rules_with_one_sentence(game_type: str) -> None:
    game = load_game(game_type)
    assert game.title
    summary, blank, rest = game.how_to_play.partition("\n\n")
    assert blank
    assert "\n" not in summary
    assert re.fullmatch(r"[A-Z][^.!?]*\.", summary)
    assert len(rest) > 300


@pytest.mark.parametrize("game_type", GAMES)
def test_a_game_says_to_each_seat_what_wins_for_it(game_type: str) -> None:
    game = load_game(game_type)
    assert all(goal.startswith("You ") and goal.endswith(".") for goal in game.goals)
    single = game.rules.single if isinstance(game.rules, RepeatedRules) else game.rules
    if game_type == "odds_and_evens" or single.actors(single.new({})) == (0,):
        assert game.goals[0] != game.goals[1]


@pytest.mark.parametrize("game_type", GAMES)
def test_the_rules_in_words_name_every_parameter_view_field_and_word_that_is_played(game_type: str) -> None:
    game = load_game(game_type)
    rules = game.rules.single if isinstance(game.rules, RepeatedRules) else game.rules
    state = rules.new({})
    if rules.actors(state) == (CHANCE,):
        state = rules.apply(state, {CHANCE: rules.legal(state, CHANCE)[0][0]})
    words = [move for move in rules.legal(state, 0) if isinstance(move, str)]
    told = {*rules.view(state, 0), *words, *game.parameters, *game.rules.view(game.rules.new(game.parameters), 0)}
    assert {name for name in told if name not in game.how_to_play} == set()


@pytest.mark.parametrize("game_type", [name for name in GAMES if name != "even_odd"])
def test_a_parameter_that_a_game_does_not_have_is_named(game_type: str) -> None:
    game = load_game(game_type)
    with pytest.raises(BadParameters, match=r"there is no parameter 'rounds' \(there are: .*repeat, first_to\)"):
        game.rules.new({**game.parameters, "rounds": 3})


@pytest.mark.parametrize(
    ("game_type", "open_to_all"),
    [("tic_tac_toe", True), ("connect_four", True), ("nim", True), ("kuhn_poker", False), ("even_odd", False)],
)
def test_only_games_that_hide_nothing_say_so(game_type: str, open_to_all: bool) -> None:
    assert getattr(load_game(game_type).rules, "perfect_information", False) == open_to_all
