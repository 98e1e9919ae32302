"""Alpha-rank and Nash averaging, on games whose answer is known."""

import json
from math import exp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_league.ratings.equilibrium import (
    Equilibrium,
    compute_win_matrix,
    rank_by_alpha_rank,
    rank_by_nash_averaging,
)
from agent_league.ratings.results import Floats, ResultTable
from agent_league.ratings.tables import ResultRow
from tests.ratings.simulated import name_players

ROCK_PAPER_SCISSORS = np.array([[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]])
WELL = np.array([[0.0, -1, 1, -1], [1, 0, -1, 1], [-1, 1, 0, -1], [1, -1, 1, 0]])
"""Rock, paper, scissors and a well that swallows rock and scissors: rock is never better than the well."""


def shares(found: Equilibrium) -> list[float]:
    """The shares in the order of the players."""
    return [row.share for row in sorted(found.shares, key=lambda row: row.player_id)]


def nash(advantage: Floats | list[list[float]]) -> Equilibrium:
    matrix = np.asarray(advantage, dtype=np.float64)
    return rank_by_nash_averaging(name_players(len(matrix)), (1 + matrix) / 2)


def alpha_rank(advantage: Floats | list[list[float]], **settings: float) -> Equilibrium:
    matrix = np.asarray(advantage, dtype=np.float64)
    return rank_by_alpha_rank(name_players(len(matrix)), (1 + matrix) / 2, **settings)  # type: ignore[arg-type]


def repeat_player(advantage: Floats, player: int) -> Floats:
    order = [*range(len(advantage)), player]
    return advantage[np.ix_(order, order)]


def bordered(advantage: Floats, against: float) -> Floats:
    """Add a player that gets `against` from everybody."""
    size = len(advantage)
    wider = np.zeros((size + 1, size + 1))
    wider[:size, :size] = advantage
    wider[size, :size], wider[:size, size] = against, -against
    return wider


@pytest.mark.parametrize("rank", [nash, alpha_rank])
def test_rock_paper_and_scissors_share_evenly_and_who_loses_to_all_gets_nothing(rank: object) -> None:
    assert callable(rank)
    assert shares(rank(ROCK_PAPER_SCISSORS)) == pytest.approx([1 / 3] * 3)
    found = rank(bordered(ROCK_PAPER_SCISSORS, -0.5))
    assert shares(found) == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0])
    assert found.shares[-1].player_id == "P04"
    assert found.shares[-1].score == pytest.approx(0.25)
    assert shares(rank(bordered(ROCK_PAPER_SCISSORS, 0.5))) == pytest.approx([0, 0, 0, 1])
    assert shares(rank(np.zeros((5, 5)))) == pytest.approx([0.2] * 5)
    assert shares(rank(np.zeros((1, 1)))) == [1.0]
    json.dumps(found.to_json(), allow_nan=False)


def test_copies_share_in_nash_averaging_and_change_nothing_else() -> None:
    once = nash(ROCK_PAPER_SCISSORS)
    twice = nash(repeat_player(ROCK_PAPER_SCISSORS, 0))
    assert shares(twice) == pytest.approx([1 / 6, 1 / 3, 1 / 3, 1 / 6])
    thrice = nash(repeat_player(repeat_player(ROCK_PAPER_SCISSORS, 0), 0))
    assert shares(thrice) == pytest.approx([1 / 9, 1 / 3, 1 / 3, 1 / 9, 1 / 9])
    assert once.gap < 1e-12
    assert thrice.gap < 1e-12


@pytest.mark.parametrize(
    ("advantage", "expected"),
    [
        # Three that go in circles weigh as the link that they are not part of.
        ([[0, 0.2, -0.5], [-0.2, 0, 0.3], [0.5, -0.3, 0]], [0.3, 0.5, 0.2]),
        (WELL, [0, 1 / 3, 1 / 3, 1 / 3]),
        # The third beats the first three times as high as the second beats it: the first gets a quarter at most.
        ([[0, 0, -0.9], [0, 0, 0.3], [0.9, -0.3, 0]], [0.25, 0.75, 0]),
        # The same with one more that is even with both: what is left goes to it by the greatest entropy.
        (
            [[0, 0, 0, -0.9], [0, 0, 0, 0.3], [0, 0, 0, 0], [0.9, -0.3, 0, 0]],
            [1 / (4 + 3**0.75), 3 / (4 + 3**0.75), 3**0.75 / (4 + 3**0.75), 0],
        ),
        # Two separate circles.
        (np.kron(np.eye(2), ROCK_PAPER_SCISSORS), [1 / 6] * 6),
        ([[0, 1], [-1, 0]], [1, 0]),
        ([[0, 1e-6], [-1e-6, 0]], [1, 0]),
    ],
)
def test_nash_averaging_of_small_games_is_what_can_be_worked_out(
    advantage: list[list[float]], expected: list[float]
) -> None:
    found = nash(advantage)
    assert shares(found) == pytest.approx(expected, abs=1e-7)
    assert found.gap < 1e-9


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 7), st.data())
def test_nobody_scores_more_than_half_against_the_nash_mix_and_no_other_mix_is_more_even(
    players: int, data: st.DataObject
) -> None:
    values = data.draw(st.lists(st.integers(-3, 3), min_size=players * players, max_size=players * players))
    upper = np.triu(np.array(values, dtype=np.float64).reshape(players, players), 1) / 6
    found = nash(upper - upper.T)
    mix = np.array(shares(found))
    assert mix.sum() == pytest.approx(1)
    assert (mix >= 0).all()
    assert found.gap < 1e-9
    # Entropy is concave: a mix is the most even one if moving towards no other equilibrium adds entropy.
    order = data.draw(st.permutations(range(players)))
    other = np.zeros(players)
    other[order] = shares(nash(repeat_player((upper - upper.T)[np.ix_(order, order)], 0)))[:-1]
    other[order[0]] *= 2
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.where(other != mix, (mix - other) * np.log(mix), 0.0)
    assert np.nansum(slope) <= 1e-6


def test_alpha_rank_of_two_players_is_known_for_every_strength_of_selection() -> None:
    for alpha in (0.0, 0.1, 3.0):
        first, second = shares(alpha_rank([[0, 0.02], [-0.02, 0]], alpha=alpha, population=30))
        assert first / second == pytest.approx(exp(29 * alpha * 0.02))
    assert shares(alpha_rank([[0, 0.9], [-0.9, 0]], alpha=1e6)) == [1.0, 0.0]


def test_alpha_rank_in_its_limit_is_that_of_strong_selection() -> None:
    """With a single set of players that the population doesn't leave any more."""
    biased = np.array([[0, -0.5, 1.0], [0.5, 0, -0.1], [-1.0, 0.1, 0]])
    assert shares(alpha_rank(biased)) == pytest.approx([1 / 3] * 3)
    for advantage in (biased, WELL, bordered(WELL, -0.2)):
        assert shares(alpha_rank(advantage)) == pytest.approx(shares(alpha_rank(advantage, alpha=1e4)), abs=1e-9)
    assert shares(alpha_rank([[0, 0, 1], [0, 0, 1], [-1, -1, 0]])) == pytest.approx([0.5, 0.5, 0])


def test_alpha_rank_is_the_stationary_distribution_of_its_chain() -> None:
    chance = np.random.default_rng(6)
    upper = np.triu(chance.uniform(-0.1, 0.1, (7, 7)), 1)
    advantage = upper - upper.T
    alpha, population = 0.7, 12
    chain = np.zeros((7, 7))
    for present in range(7):
        for new in range(7):
            gain = alpha * (advantage[new, present] - advantage[present, new]) / 2
            if new != present:
                chain[present, new] = (1 - exp(-gain)) / (1 - exp(-population * gain)) / 6
        chain[present, present] = 1 - chain[present].sum()
    found = np.array(shares(alpha_rank(advantage, alpha=alpha, population=population)))
    assert np.allclose(found @ chain, found, atol=1e-13)


def test_the_win_matrix_weighs_games_equally_and_takes_strangers_as_even() -> None:
    rows = [
        ResultRow("A", "B", 1.0, 30, game="x"),
        ResultRow("B", "A", 1.0, 10, game="x"),
        ResultRow("B", "A", 0.5, 1, game="y"),
        ResultRow("C", "A", 0.0, 2, game="y"),
    ]
    matrix = compute_win_matrix(ResultTable.from_rows(rows))
    assert matrix.tolist() == [[0.5, 0.625, 1.0], [0.375, 0.5, 0.5], [0.0, 0.5, 0.5]]
    best = rank_by_nash_averaging(["A", "B", "C"], matrix).shares[0]
    assert best.player_id == "A"
    assert [best.share, best.score] == pytest.approx([1.0, 0.5])


@pytest.mark.parametrize("wins", [np.zeros((2, 3)), np.zeros((0, 0)), np.full((2, 2), np.nan)])
def test_a_matrix_of_other_form_is_refused(wins: Floats) -> None:
    for rank in (rank_by_nash_averaging, rank_by_alpha_rank):
        with pytest.raises(ValueError, match="win matrix"):
            rank(name_players(len(wins)), wins)
