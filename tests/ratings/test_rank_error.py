"""The expected error of a rank, and whether results are luck."""

import json
from collections.abc import Sequence
from itertools import combinations
from random import Random

import numpy as np
import pytest

from agent_league.ratings.bradley_terry import fit_ratings
from agent_league.ratings.luck import check_luck
from agent_league.ratings.rank_error import (
    PlayTournament,
    estimate_rank_error,
    estimate_rating_spread,
    group_by_points,
)
from agent_league.ratings.results import ResultTable
from agent_league.ratings.sequential_test import expected_score
from agent_league.ratings.tables import ResultRow
from tests.ratings.simulated import simulate_results


def round_robin(cycles: int) -> PlayTournament:
    def play(strengths: Sequence[float], chance: Random) -> list[list[int]]:
        points = [0] * len(strengths)
        for one, other in list(combinations(range(len(strengths)), 2)) * cycles:
            first_wins = chance.random() < expected_score(strengths[one] - strengths[other])
            points[one if first_wins else other] += 1
        return group_by_points(points)

    return play


def test_a_rank_by_luck_is_off_as_if_drawn_by_lot() -> None:
    found = estimate_rank_error(9, 0, round_robin(2), samples=150, seed=1)
    assert found.by_lot == pytest.approx(80 / 27)
    # A shared rank is nearer to the middle, so ties make the error a little smaller than by lot.
    assert found.places.low < found.by_lot * 0.97 < found.places.high + 0.05
    assert found.describe() == (
        f"In this format a rank is off by {found.places.value:.1f} places on average;"
        " drawn by lot it would be 3.0 of 9."
    )


def test_more_rounds_and_wider_strengths_make_ranks_better() -> None:
    errors = [
        estimate_rank_error(8, spread, round_robin(cycles), samples=40).places.value
        for spread, cycles in ((0, 1), (150, 1), (150, 6), (600, 6))
    ]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.5
    assert errors[0] > 2


def test_a_tournament_that_ranks_by_strength_makes_no_error_and_one_that_ranks_nobody_the_middle() -> None:
    def rank_by_strength(strengths: Sequence[float], chance: Random) -> list[list[int]]:
        return group_by_points(strengths)

    def rank_nobody(strengths: Sequence[float], chance: Random) -> list[list[int]]:
        return [list(range(len(strengths)))]

    assert estimate_rank_error(7, 100, rank_by_strength, samples=10).places.value == 0
    assert estimate_rank_error(5, 100, rank_nobody, samples=10).places.value == pytest.approx((2 + 1 + 0 + 1 + 2) / 5)


def test_the_same_seed_gives_the_same_error_and_nonsense_is_refused() -> None:
    one, again, other = (estimate_rank_error(5, 100, round_robin(1), samples=20, seed=seed) for seed in (1, 1, 2))
    assert one == again != other
    json.dumps(one.to_json(), allow_nan=False)
    with pytest.raises(ValueError, match="every player once"):
        estimate_rank_error(3, 0, lambda strengths, chance: [[0, 1]])
    with pytest.raises(ValueError, match="at least 0"):
        estimate_rank_error(3, -1, round_robin(1))


def test_the_spread_of_true_ratings_is_that_of_fitted_ones_without_their_errors() -> None:
    chance = np.random.default_rng(3)
    spreads = [
        [estimate_rating_spread(fit_ratings(simulate_results(chance, chance.normal(0, elo, 25), 1))) for _ in range(8)]
        for elo in (0, 200)
    ]
    assert sum(spreads[0]) / 8 < 50  # the fitted ones are 70 apart
    assert 170 < sum(spreads[1]) / 8 < 230
    assert estimate_rating_spread(fit_ratings(ResultTable.from_rows([], ["A", "B"]))) == 0


def test_coin_flips_are_taken_for_skill_no_more_often_than_the_level() -> None:
    chance = np.random.default_rng(5)
    found = [check_luck(simulate_results(chance, [0.0] * 6, 2, draws=0.3), samples=99) for _ in range(100)]
    assert sum(not one.is_luck for one in found) <= 10
    assert 0.8 < sum(one.spread for one in found) / 100 < 1.2
    seated = [
        check_luck(simulate_results(chance, [0.0] * 6, 3, seat_elo=300), seats_differ=[""], samples=99)
        for _ in range(60)
    ]
    assert sum(not one.is_luck for one in seated) <= 7


def test_skill_is_told_from_luck_and_technical_losses_are_neither() -> None:
    skill = check_luck(simulate_results(np.random.default_rng(1), np.linspace(-200, 200, 8), 6))
    assert not skill.is_luck
    assert skill.describe().startswith("Points are spread more widely than by luck (p = 0.01)")
    rows = [ResultRow("A", "B", 0.5, 6), *(ResultRow("A", "B", score, 5) for score in (1.0, 0.0))]
    rows.append(ResultRow("A", "B", 1.0, 40, is_technical=True))
    luck = check_luck(ResultTable.from_rows(rows))
    assert (luck.is_luck, luck.spread) == (True, 0)
    error = estimate_rank_error(4, 0, round_robin(1), samples=5)
    assert luck.describe(error) == (
        f"These points can't be told from coin flips (p = 1): ranks may be luck so far. {error.describe()}"
    )
    json.dumps(luck.to_json(), allow_nan=False)


def test_a_player_that_sits_first_more_often_has_luck_by_its_seat_and_no_skill() -> None:
    rows = [
        ResultRow(*pair, score, count) for pair in combinations("ABCD", 2) for score, count in ((1.0, 15), (0.0, 5))
    ]
    results = ResultTable.from_rows(rows)
    assert not check_luck(results).is_luck
    assert check_luck(results, seats_differ=[""]).is_luck


def test_without_a_decided_match_nothing_is_known() -> None:
    for rows in ([], [ResultRow("A", "B", 0.5, 9)]):
        assert check_luck(ResultTable.from_rows(rows, ["A", "B"])).p_value == 1
