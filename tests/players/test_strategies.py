"""Every strategy's contract, and what the built-in ones answer where the answer is known."""

import asyncio
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_league.errors import ConfigError
from agent_league.games.registry import game_types, load_game
from agent_league.lab.game_series import Series
from agent_league.log import JsonLogger
from agent_league.players.decision import StrategyRunner
from agent_league.players.observation import MAX_RECALLED_MOVES, GameRecord, Move, Observation, Strategy, Thought
from agent_league.players.strategies import load_strategy, strategy_games, strategy_names, strategy_summary
from agent_league.players.strategies.pattern import Pattern
from tests.conftest import BOUND

LISTED = (
    *("any_legal", "random", "first_legal", "last_legal", "biased", "always_even", "always_odd", "alternating"),
    *("mirror", "win_stay_lose_shift", "frequency", "pattern", "markov", "bandit", "q_learning", "minimax"),
    *("tit_for_tat", "tit_for_two_tats", "generous_tit_for_tat", "suspicious_tit_for_tat", "grudger", "pavlov"),
    *("always_cooperate", "always_defect"),
)
PLAIN = [name for name in strategy_names() if name != "llm"]
"""Those that need no settings."""
PARITIES = ("even", "odd")

moves = st.one_of(
    st.sampled_from([*PARITIES, "rock", 0, 1, 2, True, 1.5]),
    st.lists(st.integers(0, 2), max_size=2),
    st.dictionaries(st.sampled_from("xy"), st.integers(0, 2), max_size=2),
)
records = st.builds(
    GameRecord,
    match_id=st.sampled_from(["R1M1", "R2M1"]),
    game_type=st.sampled_from(["even_odd", "nim"]),
    opponent_id=st.sampled_from(["P02", "P03"]),
    outcome=st.sampled_from(["WIN", "LOSS", "DRAW", "TECHNICAL_LOSS"]),
    my_moves=st.lists(moves, max_size=4).map(tuple),
    opponent_moves=st.lists(moves, max_size=4).map(tuple),
)
observations = st.fixed_dictionaries(
    {
        "game_type": st.sampled_from(["even_odd", "nim", "never heard of"]),
        "match_id": st.just("R3M1"),
        "player_id": st.just("P01"),
        "opponent_id": st.sampled_from(["P02", "P09", None]),
        "legal_moves": st.one_of(st.just(PARITIES), st.lists(moves, min_size=1, max_size=4).map(tuple)),
        "view": st.sampled_from([None, {"left": 3}, [1, 2]]),
        "step": st.integers(0, 5),
        "history": st.lists(records, max_size=6),
    }
)


def observe(opponent_moves: Sequence[Move] = (), **fields: Any) -> Observation:
    """A question by P02, who has played like this, one move a match."""
    history = [
        GameRecord(f"R{number}M1", "even_odd", "P02", "DRAW", my_moves=("even",), opponent_moves=(move,))
        for number, move in enumerate(opponent_moves, 1)
    ]
    own: dict[str, Any] = {"history": history, "legal_moves": PARITIES, "random": Random(1)}
    return Observation("even_odd", "R9M1", "P01", "P02", **{**own, **fields})


def test_all_strategies_of_the_issue_are_installed() -> None:
    assert set(LISTED) <= set(strategy_names())


def test_an_unknown_strategy_is_named_with_those_that_there_are() -> None:
    with pytest.raises(ConfigError, match=r"no strategy 'genius' is installed \(there are: .*markov"):
        load_strategy("genius")


@pytest.mark.parametrize("name", PLAIN)
def test_each_loading_makes_a_strategy_of_its_own(name: str) -> None:
    assert load_strategy(name) is not load_strategy(name)


def decided(strategy: Strategy, observation: Observation, log: JsonLogger) -> Move:
    return asyncio.run(StrategyRunner(strategy, log).choose_move(observation)).move


@pytest.mark.parametrize("name", strategy_names())
def test_each_strategy_says_in_a_sentence_what_it_does_and_names_only_games_that_there_are(name: str) -> None:
    sentence = strategy_summary(name)
    assert re.fullmatch(r"[A-Z].{10,110}\.", sentence)
    assert set(strategy_games(name)) <= set(game_types())


def test_any_legal_is_another_name_of_random() -> None:
    assert type(load_strategy("any_legal")) is type(load_strategy("random"))


def test_strategies_know_no_move_by_going_through_a_range_however_long() -> None:
    """In a process of its own: what goes through this range doesn't come back."""
    source = (
        "from agent_league.players.observation import Observation\n"
        "from agent_league.players.strategies import load_strategy, strategy_names\n"
        "for name in strategy_names():\n"
        "    if name != 'llm':\n"
        "        for view in (None, {'rounds': [['cooperate', 7]]}, {'rounds': [[7, 'x'], ['x', 7], [7, 'x']]}):\n"
        "            asked = Observation('many', 'R1M1', 'P01', 'P02', range(2**53), view)\n"
        "            said = load_strategy(name).choose(asked)\n"
        "            assert 0 <= getattr(said, 'move', said) < 2**53, name\n"
    )
    subprocess.run([sys.executable, "-c", source], timeout=BOUND, check=True)


@pytest.mark.parametrize("name", PLAIN)
@settings(max_examples=10)
@given(fields=observations)
def test_what_a_player_decides_is_legal_whatever_its_strategy(
    tmp_path_factory: pytest.TempPathFactory, name: str, fields: dict[str, Any]
) -> None:
    log = JsonLogger("contract", log_root=tmp_path_factory.getbasetemp() / "logs")
    try:
        move = decided(load_strategy(name), Observation(**fields), log)
    finally:
        log.close()
    assert any(type(move) is type(legal) and move == legal for legal in fields["legal_moves"])


@pytest.mark.parametrize(
    ("name", "move"),
    [
        ("always_even", "even"),
        ("always_odd", "odd"),
        ("always_cooperate", "cooperate"),
        ("always_defect", "defect"),
    ],
)
def test_always_plays_its_move_and_elsewhere_any_legal_one(name: str, move: str) -> None:
    with_it = choices(name, ["even", "odd"], legal_moves=("cooperate", "even", "odd", "defect"))
    assert with_it == {move: 200}
    assert set(choices(name, [], legal_moves=(1, 2, 3))) == {1, 2, 3}


def choices(name: str, observation_moves: Sequence[Move], **fields: Any) -> Counter[Move]:
    """What a strategy answers under many dice."""
    strategy = load_strategy(name)
    return Counter(
        chosen(strategy, observe(observation_moves, **{"random": Random(seed), **fields})) for seed in range(200)
    )


def chosen(strategy: Strategy, observation: Observation) -> Move:
    """The move of what a strategy says, with its reason or without."""
    said = strategy.choose(observation)
    return said.move if isinstance(said, Thought) else said


@pytest.mark.parametrize("name", ["random", "frequency", "pattern", "markov"])
def test_without_anything_to_go_by_all_moves_are_about_equally_likely(name: str) -> None:
    counts = choices(name, [])
    assert set(counts) == set(PARITIES)
    assert 60 < counts["even"] < 140


def test_random_doesnt_care_what_the_opponent_does() -> None:
    assert 60 < choices("random", ["even"] * 50)["even"] < 140


@pytest.mark.parametrize(
    ("played", "expected"),
    [
        (["even", "even", "odd"], {"odd"}),
        (["odd"], {"even"}),
        (["even", "odd", "odd"], {"even"}),
        (["odd", "odd", "odd", "even", "even"], {"even"}),
        (["odd", "even"], {"odd", "even"}),
    ],
)
def test_frequency_plays_against_the_most_frequent_move(played: list[str], expected: set[str]) -> None:
    assert set(choices("frequency", played)) == expected


def test_frequency_among_several_moves_plays_any_other_one() -> None:
    counts = choices("frequency", ["rock", "rock", "paper"], legal_moves=("rock", "paper", "scissors"))
    assert set(counts) == {"paper", "scissors"}


@pytest.mark.parametrize(
    ("played", "expected"),
    [
        (["even", "odd", "even", "odd", "even"], {"even"}),  # after even came odd, twice
        (["even", "even", "odd", "even"], {"odd"}),  # even and odd once each: the one that came first is expected
        (["odd", "odd", "odd"], {"even"}),
        (["odd"], {"even", "odd"}),
        (["even", "odd"], {"even", "odd"}),  # nothing ever followed odd
        (["odd", "even", "odd", "even", "odd", "odd", "odd", "even", "odd"], {"odd"}),  # even 3 times, odd twice
    ],
)
def test_markov_plays_against_what_most_often_followed_the_last_move(played: list[str], expected: set[str]) -> None:
    assert set(choices("markov", played)) == expected


@pytest.mark.parametrize(
    ("played", "expected"),
    [
        ([], None),
        (["even"], None),
        (["even", "odd"], None),
        (["even", "even"], "even"),
        (["even", "odd", "even"], "odd"),
        (["even", "even", "odd", "even", "even"], "odd"),
        (["odd", "even", "even", "odd", "even"], "even"),
        # the longest run decides, not the latest: e o o was followed by e, though o was just followed by o
        (["even", "odd", "odd", "even", "odd", "odd"], "even"),
        # no run of five repeats, the last four do
        (["odd", "even", "even", "odd", "odd", "odd", "even", "even", "odd"], "odd"),
    ],
)
def test_pattern_expects_what_followed_the_longest_run_that_came_before(
    played: list[str], expected: str | None
) -> None:
    assert Pattern.predict_next_move(played) == expected
    if expected:
        assert set(choices("pattern", played)) == {"odd" if expected == "even" else "even"}


def test_alternating_goes_through_the_moves_in_turn() -> None:
    strategy = load_strategy("alternating")
    assert [chosen(strategy, observe(["odd"] * games)) for games in range(5)] == ["even", "odd", "even", "odd", "even"]
    three = [chosen(strategy, observe(["odd"] * games, legal_moves=("a", "b", "c"))) for games in range(4)]
    assert three == ["a", "b", "c", "a"]


def test_alternating_doesnt_stop_after_as_many_games_as_a_habit_is_told_by() -> None:
    strategy = load_strategy("alternating")
    assert [chosen(strategy, observe(["odd"] * games)) for games in (MAX_RECALLED_MOVES, MAX_RECALLED_MOVES + 1)] == [
        "even",
        "odd",
    ]


@pytest.mark.parametrize(
    ("name", "moves", "expected"),
    [
        ("frequency", ["rock", "rock", "paper"], "paper"),
        ("markov", ["paper", "rock", "paper", "rock", "paper"], "paper"),
        ("pattern", ["scissors", "paper", "paper", "scissors", "paper"], "scissors"),
    ],
)
@pytest.mark.parametrize("repeat", [1, 9])
def test_readers_of_habits_play_what_pays_best_against_the_move_that_they_expect(
    name: str, moves: list[str], expected: str, repeat: int
) -> None:
    game = load_game("rock_paper_scissors").with_parameters({"repeat": repeat, "first_to": None})
    state = game.rules.new(game.parameters)
    history = moves
    if repeat > 1:
        for move in moves:
            state = game.rules.apply(state, {0: "rock", 1: move})
        history = []
    asked = {"legal_moves": ("rock", "paper", "scissors"), "view": game.rules.view(state, 0)}
    assert choices(name, history, **asked) == {expected: 200}


def test_what_pays_best_is_seen_from_the_own_seat() -> None:
    view = {"payoffs": [[1, 1, -1, 1], [1, 2, 1, -1], [2, 1, 1, -1], [2, 2, -1, 1]]}
    for seat, best in ((0, 2), (1, 1)):
        assert choices("frequency", [1], view=view, seat=seat, legal_moves=(1, 2)) == {best: 200}


def test_first_legal_plays_the_first_and_last_legal_the_last_and_biased_mostly_the_first() -> None:
    legal = ("a", "b", "c")
    assert choices("first_legal", [], legal_moves=legal) == {"a": 200}
    assert choices("last_legal", [], legal_moves=legal) == {legal[-1]: 200}
    counts = choices("biased", [], legal_moves=legal)
    assert 130 < counts["a"] < 170
    assert set(counts) == set(legal)
    assert choices("biased", [], legal_moves=("a",)) == {"a": 200}


def of_rounds(*rounds: list[Move], **fields: Any) -> dict[str, Any]:
    return {"view": {"rounds": list(rounds), "game": {"payoffs": PENNIES}}, "legal_moves": (1, 2), **fields}


PENNIES = [[1, 1, -1, 1], [1, 2, 1, -1], [2, 1, 1, -1], [2, 2, -1, 1]]
"""Seat 0 wants two numbers that differ."""


def test_mirror_copies_the_opponents_last_move_where_it_can() -> None:
    assert choices("mirror", ["even", "odd"]) == {"odd": 200}
    assert choices("mirror", [], **of_rounds([1, 1], [1, 2])) == {2: 200}
    assert choices("mirror", [], **of_rounds([1, 1], [1, 2], seat=1)) == {1: 200}
    assert set(choices("mirror", ["even"], legal_moves=("a", "b"))) == {"a", "b"}
    assert set(choices("mirror", ["odd"], **of_rounds())) == {1, 2}


@pytest.mark.parametrize(("last", "expected"), [([1, 2], 1), ([1, 1], 2), ([2, 1], 2), ([2, 2], 1)])
def test_win_stay_lose_shift_repeats_what_paid_and_changes_what_didnt(last: list[Move], expected: int) -> None:
    assert choices("win_stay_lose_shift", [], **of_rounds([1, 1], last)) == {expected: 200}


def test_win_stay_lose_shift_stays_with_what_paid_just_the_average() -> None:
    game = load_game("rock_paper_scissors")
    state = game.rules.apply(game.rules.new(game.parameters), {0: "paper", 1: "paper"})
    asked = {"view": game.rules.view(state, 0), "legal_moves": game.rules.legal(state, 0)}
    assert choices("win_stay_lose_shift", [], **asked) == {"paper": 200}


@pytest.mark.parametrize(("outcome", "expected"), [("WIN", "odd"), ("DRAW", "odd"), ("LOSS", "even")])
def test_win_stay_lose_shift_goes_by_the_last_match_where_nobody_says_what_pays(outcome: str, expected: str) -> None:
    history = [GameRecord("R1M1", "even_odd", "P02", outcome, my_moves=("odd",), opponent_moves=("odd",))]
    assert choices("win_stay_lose_shift", [], history=history) == {expected: 200}


def test_win_stay_lose_shift_begins_with_anything() -> None:
    assert set(choices("win_stay_lose_shift", [])) == set(PARITIES)


@pytest.mark.parametrize(("repeat", "games"), [(15, 200), (1, 1000)])
def test_markov_beats_a_biased_player_of_odds_and_evens_in_over_60_percent(repeat: int, games: int) -> None:
    game = load_game("odds_and_evens").with_parameters({"repeat": repeat})
    series = Series(game, (load_strategy("markov"), load_strategy("biased")), "odds and evens")
    series.play(games)
    returns, faults = series.take()
    won = sum(count for (own, other), count in returns.items() if own > other)
    assert won > 0.6 * games
    assert faults == (0, 0)


def test_habits_against_others_count_only_where_two_never_met() -> None:
    def game(opponent: str, move: str, game_type: str = "even_odd") -> GameRecord:
        return GameRecord("R1M1", game_type, opponent, "DRAW", opponent_moves=(move,))

    strategy = load_strategy("frequency")
    others = [game("P03", "even"), game("P04", "even")]
    assert chosen(strategy, observe(history=others)) == "odd"
    assert chosen(strategy, observe(history=[*others, game("P02", "odd")])) == "even"
    assert chosen(strategy, observe(history=[*others, *[game("P02", "odd", "matching_pennies")] * 5])) == "odd"


@pytest.mark.parametrize(
    ("name", "played", "reason"),
    [
        ("frequency", ["odd", "even", "odd"], "expects 'odd', played 2 times of 3"),
        ("frequency", [], "no move is the most frequent"),
        ("markov", ["odd", "even", "odd"], "expects 'even', which followed 'odd' 1 times of 1"),
        ("markov", ["odd"], "nothing has followed the last move yet"),
        ("pattern", ["odd", "even", "odd"], "expects 'even', which came next when the last moves came up before"),
        ("pattern", ["odd"], "the last move never came up before"),
        ("mirror", [], "there is no last move to copy"),
        ("win_stay_lose_shift", [], "there is no move to repeat"),
        ("bandit", [], "never tried here"),
        ("q_learning", [], "never tried here"),
        ("tit_for_tat", [], "the game is no dilemma"),
        ("minimax", [], "looking ahead leads nowhere"),
    ],
)
def test_a_strategy_that_goes_by_something_says_by_what(name: str, played: list[str], reason: str) -> None:
    said = load_strategy(name).choose(observe(played))
    assert (type(said), said.reason) == (Thought, reason)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("mirror", "the opponent's last move"),
        ("win_stay_lose_shift", "'cooperate' went well against 'defect'"),
        ("pavlov", "'cooperate' went well against 'defect'"),
        ("tit_for_tat", "after cooperate against defect"),
        ("grudger", "after cooperate against defect"),
    ],
)
def test_one_that_goes_by_the_last_round_says_how_that_was(name: str, reason: str) -> None:
    asked = observe(legal_moves=("cooperate", "defect"), view={"rounds": [["cooperate", "defect"]]})
    assert load_strategy(name).choose(asked).reason == reason


def test_one_that_learned_says_what_a_move_was_worth() -> None:
    strategy: Any = load_strategy("bandit")
    for move in PARITIES:
        strategy.choose(observe())
        strategy.learn(GameRecord("R9M1", "even_odd", "P02", "WIN" if move == "odd" else "LOSS", (move,)))
    said = strategy.choose(observe())
    assert (said.move, said.reason) == ("odd", "worth 1.00 here after 1 tries")


def test_against_its_victim_each_reader_of_habits_is_right() -> None:
    """A predictable opponent is predicted: played in earnest against fixed sequences."""
    cycle = ["even", "even", "odd"] * 10
    for name, least in (("pattern", 24), ("frequency", 18)):
        strategy = load_strategy(name)
        against = [chosen(strategy, observe(cycle[:number])) != cycle[number] for number in range(len(cycle))]
        assert sum(against) >= least
