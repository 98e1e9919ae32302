"""Rock, Paper, Scissors: the table, and the first to three."""

import pytest

from agent_league.games.repeated import RepeatedRules
from agent_league.games.rock_paper_scissors import ROCK_PAPER_SCISSORS

RULES = ROCK_PAPER_SCISSORS.rules
BEATS = {"rock": "scissors", "scissors": "paper", "paper": "rock"}


@pytest.mark.parametrize("a", BEATS)
@pytest.mark.parametrize("b", BEATS)
def test_each_move_beats_one_and_loses_to_the_other(a: str, b: str) -> None:
    assert isinstance(RULES, RepeatedRules)
    single = RULES.single
    state = single.new({})
    assert (single.actors(state), set(single.legal(state, 0))) == ((0, 1), set(BEATS))
    expected = (0, 0) if a == b else (1, -1) if BEATS[a] == b else (-1, 1)
    after = single.apply(state, {0: a, 1: b})
    assert (single.actors(after), single.returns(after)) == ((), expected)
    assert [a, b, *expected] in state["payoffs"]
    assert len(state["payoffs"]) == 9


def test_who_first_wins_three_rounds_wins_and_draws_count_for_nobody() -> None:
    state = RULES.new(ROCK_PAPER_SCISSORS.parameters)
    for a, b in [("rock", "rock"), ("rock", "paper"), ("paper", "rock"), ("rock", "paper"), ("paper", "paper")]:
        state = RULES.apply(state, {0: a, 1: b})
    assert (RULES.actors(state), state["wins"]) == ((0, 1), [1, 2])
    state = RULES.apply(state, {0: "scissors", 1: "rock"})
    assert (RULES.actors(state), state["wins"], RULES.returns(state)) == ((), [1, 3], (1, 3))
