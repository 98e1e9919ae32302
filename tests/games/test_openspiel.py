"""OpenSpiel's games over the six functions, and in a league over HTTP."""

import json
import subprocess
import sys
from itertools import permutations
from pathlib import Path
from random import Random
from typing import Any

import pytest

from agent_league.errors import ConfigError
from agent_league.games.base import CHANCE, BadParameters, Rules, State, has_perfect_information, winning_seat
from agent_league.games.fairness import find_draw_problem
from agent_league.games.openspiel import SOURCE, UTILITIES
from agent_league.games.openspiel import rules as adapter
from agent_league.games.openspiel.rules import OpenSpielPosition, OpenSpielRules, load_game_kinds
from agent_league.games.parameter_trial import play_first_steps
from agent_league.games.registry import load_game, load_source
from agent_league.referee.verify import verify_match
from agent_league.testing.game_contract import check_game
from tests.cli.command import league, ports
from tests.conftest import BOUND
from tests.games.cut_short import cut_short, needs_openspiel

TRIED = (
    "backgammon",
    "breakthrough",
    "connect_four",
    "goofspiel",
    "hanabi",
    "kuhn_poker",
    "leduc_poker",
    "liars_dice",
    "matrix_rps",
    "nim",
    "oshi_zumo",
    "othello",
    "pig",
    "tic_tac_toe",
    "universal_poker",
)
SHOW_CHOICES = ("goofspiel",)
"""What both bid is seen before the next card is drawn."""


@needs_openspiel
@pytest.mark.parametrize("name", TRIED)
def test_fifteen_games_keep_the_contract(name: str) -> None:
    check_game(cut_short(SOURCE.load(name), 30), range(2), secret_until_drawn=name not in SHOW_CHOICES)


@needs_openspiel
@pytest.mark.parametrize("name", ["connect_four", "leduc_poker", "matrix_rps", "goofspiel"])
def test_a_game_is_played_to_its_end_by_the_contract(name: str) -> None:
    check_game(load_game(f"openspiel:{name}"), range(2), secret_until_drawn=name not in SHOW_CHOICES)


@needs_openspiel
def test_every_name_that_is_listed_makes_a_game_for_two() -> None:
    names = SOURCE.names()
    assert set(TRIED) < set(names)
    for name in names:
        game = SOURCE.load(name)
        play_first_steps(game.rules, game.parameters)
        assert isinstance(game.rules, OpenSpielRules)
        start = game.rules._find_start(())
        assert start.at.num_players() == 2
        assert "\x1b" not in str(start.at)
        assert game.game_type == f"openspiel:{name}"
        assert game.how_to_play.startswith(f"{game.title}, as the library OpenSpiel plays it: ")


@needs_openspiel
@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("kuhn_pocker", r"OpenSpiel has no game 'kuhn_pocker' \(names like it: kuhn_poker"),
        ("zzz", r"OpenSpiel has no game 'zzz'; `league games openspiel` lists them"),
        ("kuhn_poker(players=3)", "OpenSpiel has no game"),
        ("solitaire", "openspiel:solitaire can't be played in a league: it is played by 1, .* not by two"),
        ("bridge", "it is played by 4, and as it stands not by two"),
        ("oh_hell", "it is played by 3 to 7, and as it stands not by two"),
        ("pathfinding", "it is played by 1 to 10, and as it stands not by two"),
        ("negotiation", "it draws random numbers of its own"),
        ("mfg_garnet", r"it is a game of a whole population \(mean field\)"),
        ("repeated_game", "it is made out of another game"),
    ],
)
def test_what_two_cannot_play_is_refused_with_a_sentence(name: str, sentence: str) -> None:
    assert name not in SOURCE.names()
    with pytest.raises(ConfigError, match=sentence):
        SOURCE.load(name)


@needs_openspiel
@pytest.mark.parametrize(
    ("name", "parameters", "sentence"),
    [
        ("kuhn_poker", {"player": 2}, r"there is no parameter 'player' \(there are: players, repeat, first_to\)"),
        ("kuhn_poker", {"players": 3}, "players must be 2, as a match has two players; found 3"),
        ("go", {"board_size": "9"}, "board_size must be a whole number, found '9'"),
        ("go", {"board_size": True}, "board_size must be a whole number, found True"),
        ("go", {"board_size": 2**70}, "board_size must be a whole number, found 118"),
        ("go", {"komi": float("nan")}, "komi must be a number, found nan"),
        ("nim", {"pile_sizes": 3}, "pile_sizes must be a text, found 3"),
        ("nim", {"is_misere": 1}, "is_misere must be true or false, found 1"),
        ("go", {"board_size": 99}, "OpenSpiel makes no go of these: The current Go implementation supports board size"),
        ("connect_four", {"rows": 0}, "OpenSpiel makes no connect_four of these: the library breaks down with signal"),
        ("pig", {"diceoutcomes": 0}, "OpenSpiel makes no pig of these: seat -1 has no move"),
        ("universal_poker", {"numHoleCards": 0}, "OpenSpiel makes no .* of these: invalid number of hole cards: 0"),
    ],
)
def test_bad_parameters_are_named_and_end_no_process(name: str, parameters: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadParameters, match=sentence):
        load_game(f"openspiel:{name}").with_parameters(parameters)


@needs_openspiel
def test_good_parameters_are_passed_on() -> None:
    game = load_game("openspiel:connect_four").with_parameters({"rows": 3, "columns": 4, "x_in_row": 3})
    state = game.rules.new(game.parameters)
    assert state["parameters"] == {"columns": 4, "rows": 3, "x_in_row": 3}
    assert state["board"] == "....\n" * 3
    state = game.rules.apply(state, {0: "x2"})
    assert state["board"] == "....\n....\n..x.\n"
    assert game.rules.legal(state, 1) == ["o0", "o1", "o2", "o3"]
    assert load_game("openspiel:go").with_parameters({"komi": 7.5, "repeat": 2}).parameters["repeat"] == 2


@needs_openspiel
def test_a_game_in_which_nothing_is_hidden_shows_its_state() -> None:
    rules = SOURCE.load("connect_four").rules
    state = rules.new({})
    assert has_perfect_information(rules)
    assert rules.view(state, 1) is state
    assert not any(
        has_perfect_information(SOURCE.load(name).rules) for name in ("kuhn_poker", "goofspiel", "oshi_zumo")
    )


@needs_openspiel
@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker", "liars_dice"])
def test_a_view_does_not_change_with_what_the_other_was_dealt(name: str) -> None:
    rules = SOURCE.load(name).rules
    deals = _first_two_draws(rules)
    assert len(deals) > 5
    for seat in (0, 1):
        seen: dict[int, list[Any]] = {}
        for own_and_other in deals:
            state = {"parameters": {}, "actions": list(own_and_other)}
            seen.setdefault(own_and_other[seat], []).append(rules.view(state, seat))
        assert all(view == views[0] for views in seen.values() for view in views)
        assert len({json.dumps(views[0]) for views in seen.values()}) == len(seen)


def _first_two_draws(rules: Rules) -> list[tuple[int, int]]:
    found = []
    for first, _ in rules.legal(rules.new({}), CHANCE):
        state = rules.apply(rules.new({}), {CHANCE: first})
        for second, _ in rules.legal(state, CHANCE):
            found.append(tuple(rules.apply(state, {CHANCE: second})["actions"]))
    return found


@needs_openspiel
def test_a_table_of_payoffs_is_in_the_view_of_a_matrix_game() -> None:
    rules = SOURCE.load("matrix_rps").rules
    view = rules.view(rules.new({}), 1)
    assert ["Rock", "Scissors", 1.0, -1.0] in view["payoffs"]
    assert len(view["payoffs"]) == 9
    assert SOURCE.load("blotto").rules.view(SOURCE.load("blotto").rules.new({}), 0)["payoffs"] == []


@needs_openspiel
def test_no_game_is_played_again_at_every_question(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = OpenSpielRules("breakthrough")
    state = rules.new({})
    rules.actors(state)
    monkeypatch.setattr(rules, "_find_start", None)
    while actors := rules.actors(state):
        state = rules.apply(state, {actors[0]: rules.legal(state, actors[0])[-1]})
    assert len(state["actions"]) > 10


@needs_openspiel
def test_what_is_remembered_is_bounded_and_what_is_forgotten_is_played_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "MAX_POSITIONS", 3)
    rules = OpenSpielRules("breakthrough")
    states = [rules.new({})]
    legal = []
    for _ in range(10):
        (seat,) = rules.actors(states[-1])
        legal.append(rules.legal(states[-1], seat))
        states.append(rules.apply(states[-1], {seat: legal[-1][0]}))
    assert len(rules._positions) <= 3
    assert [rules.legal(state, *rules.actors(state)) for state in states[:-1]] == legal


@needs_openspiel
@pytest.mark.parametrize("actions", [[99], [0, 0], [-1], [0, 1, 5, 5]])
def test_a_state_that_no_game_leads_to_is_refused(actions: list[int]) -> None:
    with pytest.raises(ValueError, match="is no legal action of seat"):
        SOURCE.load("tic_tac_toe").rules.actors({"parameters": {}, "actions": actions, "board": ""})


class Namesakes:
    """A position with two actions of the same name."""

    def is_simultaneous_node(self) -> bool:
        return False

    def legal_actions(self) -> list[int]:
        return [3, 5]

    def action_to_string(self, seat: int, number: int) -> str:
        return "go"


def test_moves_that_are_called_the_same_are_numbers() -> None:
    assert OpenSpielPosition(Namesakes()).legal_moves(0) == {3: 3, 5: 5}


@needs_openspiel
@pytest.mark.parametrize("name", ["tic_tac_toe", "connect_four"])
def test_our_board_games_and_those_of_openspiel_are_the_same(name: str) -> None:
    ours, theirs = load_game(name), load_game(f"openspiel:{name}")
    for seed in range(30):
        dice = Random(seed)
        here, there = ours.rules.new(ours.parameters), theirs.rules.new(theirs.parameters)
        while actors := ours.rules.actors(here):
            assert theirs.rules.actors(there) == actors
            own, other = ours.rules.legal(here, actors[0]), theirs.rules.legal(there, actors[0])
            assert len(own) == len(other)
            index = dice.randrange(len(own))
            here = ours.rules.apply(here, {actors[0]: own[index]})
            there = theirs.rules.apply(there, {actors[0]: other[index]})
        assert theirs.rules.actors(there) == ()
        assert ours.rules.returns(here) == theirs.rules.returns(there)


@needs_openspiel
def test_our_kuhn_poker_and_that_of_openspiel_are_the_same() -> None:
    ours, theirs = load_game("kuhn_poker").rules, load_game("openspiel:kuhn_poker").rules
    ends = 0
    for a, b in permutations(range(3), 2):
        here = ours.apply(ours.new({}), {CHANCE: ["JQK"[a], "JQK"[b]]})
        there = {"parameters": {}, "actions": [a, b]}
        ends += _compare(ours, here, theirs, there)
    assert ends == 6 * 5


def _compare(ours: Rules, here: State, theirs: Rules, there: State) -> int:
    """Whether two games go on and end alike, whatever is played; returns in how many ways they end."""
    actors = ours.actors(here)
    assert theirs.actors(there) == actors
    if not actors:
        assert ours.returns(here) == theirs.returns(there)
        assert winning_seat(ours.returns(here)) is not None
        return 1
    own, other = ours.legal(here, actors[0]), theirs.legal(there, actors[0])
    assert [word.lower() for word in other] == list(own)
    return sum(
        _compare(ours, ours.apply(here, {actors[0]: x}), theirs, theirs.apply(there, {actors[0]: y}))
        for x, y in zip(own, other, strict=True)
    )


@needs_openspiel
@pytest.mark.parametrize("name", ["kuhn_poker", "connect_four"])
def test_a_league_over_http_is_played_and_every_match_can_be_verified(name: str, tmp_path: Path) -> None:
    chosen = ["--game", f"openspiel:{name}", "--players", 3, "--referees", 1, "--json"]
    done = league("run", *chosen, *ports(players=3, referees=1), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    files = sorted((tmp_path / "SHARED/data/matches").glob("*/*.json"))
    assert len(files) == 3
    for file in files:
        record = json.loads(file.read_text())
        assert record["game_type"] == f"openspiel:{name}"
        assert set(record["result"]["terminations"].values()) == {"normal"}
        assert all(finding.ok for finding in verify_match(record))
        assert _draw_problem(record) is None
        record["result"]["payoffs"] = dict.fromkeys(record["result"]["payoffs"], 7.0)
        assert "payoffs is" in str(_draw_problem(record))
        assert not all(finding.ok for finding in verify_match(record))


def _draw_problem(record: dict[str, Any]) -> str | None:
    """What a player finds out by itself."""
    return find_draw_problem(
        game_type=record["game_type"],
        parameters=record["game_parameters"],
        players=(record["players"]["PLAYER_A"], record["players"]["PLAYER_B"]),
        promised=record["draw"]["commitment"],
        seed=record["draw"]["seed"],
        result=record["result"],
    )


@pytest.mark.parametrize(("source", "library"), [("openspiel", "OpenSpiel"), ("pettingzoo", "PettingZoo")])
def test_a_library_that_is_missing_is_named_with_what_to_install(
    source: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    adapter.load_game_kinds.cache_clear()
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    monkeypatch.setitem(sys.modules, "pettingzoo", None)
    sentence = (
        rf"^{source}: {library} is not installed \(.*\): pip install 'agent-league\[games\]' "
        r"\(in a checkout: \.venv/bin/pip install -e '\.\[games\]'\)"
    )
    with pytest.raises(ConfigError, match=sentence):
        load_source(source).names()
    with pytest.raises(ConfigError, match=sentence):
        load_source(source).load("chess")


def test_the_libraries_are_loaded_when_a_game_is_asked_for_and_not_before() -> None:
    code = """
import sys
from agent_league.games.registry import game_types, load_game, load_source
from agent_league import cli
sys.argv = ["league", "games"]
try:
    cli.main()
except SystemExit as end:
    assert not end.code, end.code
load_source("openspiel"), load_source("pettingzoo")
loaded = {"pyspiel", "pettingzoo", "numpy", "pygame"} & set(sys.modules)
assert not loaded, loaded
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=BOUND, check=False)
    assert done.returncode == 0, done.stderr
    assert "kuhn_poker" in done.stdout


@needs_openspiel
@pytest.mark.parametrize(
    ("name", "goal"),
    [
        ("breakthrough", "what one gains the other loses. What each gets is told when the game is over."),
        ("bargaining", "both may gain, and both may lose. What each gets is told when the game is over."),
        ("tiny_hanabi", "as much as you reach together, and no match is won."),
    ],
)
def test_each_seat_is_told_which_player_it_is_and_what_wins(name: str, goal: str) -> None:
    game = load_game(f"openspiel:{name}")
    for seat in (0, 1):
        assert game.goals[seat].startswith(f"In OpenSpiel's words you are player {seat}. ")
        assert goal in game.goals[seat]


@needs_openspiel
def test_every_kind_of_utility_has_words() -> None:
    kinds = [kind for name, kind in load_game_kinds().items() if SOURCE.find_obstacle(name) is None]
    assert {kind.utility.name for kind in kinds} <= set(UTILITIES)
