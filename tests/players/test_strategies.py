"""Every strategy's contract, and what the built-in ones answer where the answer is known."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_league.errors import ConfigError
from agent_league.log import JsonLogger
from agent_league.players.decision import Decision
from agent_league.players.observation import GameRecord, Move, Observation, Strategy
from agent_league.players.strategies import load_strategy, strategy_names
from agent_league.players.strategies.pattern import Pattern

LISTED = ("random", "always_even", "always_odd", "alternating", "frequency", "pattern", "markov")
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
    return asyncio.run(Decision(strategy, log).decide(observation)).move


@pytest.mark.parametrize("name", PLAIN)
@given(fields=observations, seed=st.integers(0, 9))
def test_a_strategy_always_has_a_legal_move_and_the_same_under_the_same_seed(
    name: str, fields: dict[str, Any], seed: int
) -> None:
    """But for those that always play one parity: where a game has none, they stay with it."""
    first, second = (load_strategy(name).choose(Observation(**fields, random=Random(seed))) for _ in range(2))
    assert first == second
    assert first in fields["legal_moves"] or name in ("always_even", "always_odd")


@pytest.mark.parametrize("name", PLAIN)
@settings(max_examples=25)
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


@pytest.mark.parametrize(("name", "parity"), [("always_even", "even"), ("always_odd", "odd")])
def test_always_plays_its_parity_and_elsewhere_any_legal_move_with_a_line_in_the_log(
    tmp_path: Path, name: str, parity: str
) -> None:
    log = JsonLogger("P01", log_root=tmp_path)
    assert decided(load_strategy(name), observe(["even", "odd"]), log) == parity
    assert not log.log_file.exists()
    played = {decided(load_strategy(name), observe(legal_moves=(1, 2, 3), random=Random(n)), log) for n in range(20)}
    assert played == {1, 2, 3}
    assert "strategy_chose_illegal_move" in log.log_file.read_text()
    log.close()


def choices(name: str, observation_moves: Sequence[Move], **fields: Any) -> Counter[Move]:
    """What a strategy answers under many dice."""
    strategy = load_strategy(name)
    return Counter(
        strategy.choose(observe(observation_moves, **{"random": Random(seed), **fields})) for seed in range(200)
    )


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
    assert Pattern.expected(played) == expected
    if expected:
        assert set(choices("pattern", played)) == {"odd" if expected == "even" else "even"}


def test_alternating_goes_through_the_moves_in_turn() -> None:
    strategy = load_strategy("alternating")
    assert [strategy.choose(observe(["odd"] * games)) for games in range(5)] == ["even", "odd", "even", "odd", "even"]
    three = [strategy.choose(observe(["odd"] * games, legal_moves=("a", "b", "c"))) for games in range(4)]
    assert three == ["a", "b", "c", "a"]


def test_habits_against_others_count_only_where_two_never_met() -> None:
    def game(opponent: str, move: str, game_type: str = "even_odd") -> GameRecord:
        return GameRecord("R1M1", game_type, opponent, "DRAW", opponent_moves=(move,))

    strategy = load_strategy("frequency")
    others = [game("P03", "even"), game("P04", "even")]
    assert strategy.choose(observe(history=others)) == "odd"
    assert strategy.choose(observe(history=[*others, game("P02", "odd")])) == "even"
    assert strategy.choose(observe(history=[*others, *[game("P02", "odd", "matching_pennies")] * 5])) == "odd"


def test_against_its_victim_each_reader_of_habits_is_right() -> None:
    """A predictable opponent is predicted: played in earnest against fixed sequences."""
    cycle = ["even", "even", "odd"] * 10
    for name, least in (("pattern", 24), ("frequency", 18)):
        strategy = load_strategy(name)
        against = [strategy.choose(observe(cycle[:number])) != cycle[number] for number in range(len(cycle))]
        assert sum(against) >= least
