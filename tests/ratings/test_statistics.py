"""Intervals and p-values, against values that can be looked up or worked out by hand."""

from collections import Counter
from fractions import Fraction
from math import comb, inf
from random import Random

import pytest

from agent_league.ratings.statistics import (
    Estimate,
    adjust_p_values,
    binomial_p_value,
    binomial_tail,
    estimate_grouped_mean,
    estimate_mean,
    estimate_rate,
    simulate_p_value,
)


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [(8, 10, 0.4902, 0.9433), (1, 10, 0.0179, 0.4042), (50, 100, 0.4038, 0.5962), (5000, 10_000, 0.4902, 0.5098)],
)
def test_a_rate_has_the_interval_of_wilson(successes: int, trials: int, low: float, high: float) -> None:
    found = estimate_rate(successes, trials)
    assert (found.value, round(found.low, 4), round(found.high, 4)) == (successes / trials, low, high)


def test_the_interval_of_an_extreme_rate_stays_within_0_and_1() -> None:
    never, always = estimate_rate(0, 10), estimate_rate(10, 10)
    assert (never.low, round(never.high, 4)) == (0.0, 0.2775)
    assert (round(always.low, 4), always.high) == (0.7225, 1.0)


def test_without_trials_nothing_is_known() -> None:
    assert estimate_rate(0, 0) == Estimate(0.0, 0.0, 1.0)


# Half of a 95% interval for n values is t(n - 1) * s / sqrt(n); the t are those of any printed table.
@pytest.mark.parametrize(
    ("number", "t"), [(2, 12.706), (3, 4.303), (4, 3.182), (5, 2.776), (10, 2.262), (30, 2.045), (100, 1.984)]
)
def test_the_mean_of_a_few_values_has_the_interval_of_student(number: int, t: float) -> None:
    values = [0.0] * (number - 1) + [1.0]
    variance = (1 / number - 1 / number**2) * number / (number - 1)
    found = estimate_mean(Counter(values))
    assert found.value == pytest.approx(1 / number)
    assert (found.high - found.value) / (variance / number) ** 0.5 == pytest.approx(t, abs=0.0006)
    assert found.value - found.low == pytest.approx(found.high - found.value)


def test_the_mean_of_many_values_has_a_normal_interval() -> None:
    found = estimate_mean({0.0: 5000, 1.0: 5000})
    assert found.value == 0.5
    assert found.high - 0.5 == pytest.approx(1.959964 * (0.25 * 10_000 / 9_999 / 10_000) ** 0.5, rel=1e-6)


def test_the_mean_of_equal_values_is_certain() -> None:
    assert estimate_mean({2.5: 10}) == Estimate(2.5, 2.5, 2.5)


def test_one_value_alone_tells_nothing_of_the_spread() -> None:
    assert estimate_mean({3.0: 1}) == Estimate(3.0, -inf, inf)
    assert estimate_mean({}) == Estimate(0.0, -inf, inf)


def exact(trials: int, chance: Fraction) -> list[Fraction]:
    """How likely each count is, by the definition."""
    return [comb(trials, count) * chance**count * (1 - chance) ** (trials - count) for count in range(trials + 1)]


@pytest.mark.parametrize("trials", [1, 2, 7, 24])
def test_a_p_value_is_the_sum_of_all_counts_that_are_no_likelier(trials: int) -> None:
    for successes in range(trials + 1):
        likely = exact(trials, Fraction(1, 2))
        expected = float(sum(one for one in likely if one <= likely[successes]))
        assert binomial_p_value(successes, trials) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("chance", [Fraction(1, 2), Fraction(1, 3), Fraction(9, 10), Fraction(1, 100)])
def test_the_probability_of_many_is_the_tail(chance: Fraction) -> None:
    for successes in range(26):
        expected = float(sum(exact(24, chance)[successes:]))
        assert binomial_tail(successes, 24, float(chance)) == pytest.approx(expected, rel=1e-9)


def test_what_is_certain_has_no_room_for_chance() -> None:
    assert binomial_tail(1, 10, 0.0) == 0.0
    assert binomial_tail(10, 10, 1.0) == binomial_tail(0, 10, 0.0) == 1.0


@pytest.mark.parametrize(
    ("successes", "trials", "expected"), [(60, 100, 0.056888), (61, 100, 0.035200), (50, 100, 1.0), (0, 10, 2 / 1024)]
)
def test_p_values_that_are_known(successes: int, trials: int, expected: float) -> None:
    assert binomial_p_value(successes, trials) == pytest.approx(expected, abs=5e-7)


def test_a_million_trials_neither_overflow_nor_lose_their_digits() -> None:
    two_deviations = 0.0455  # what a normal distribution has beyond them
    assert binomial_p_value(501_000, 1_000_000) == pytest.approx(two_deviations, abs=0.0003)
    assert binomial_p_value(600_000, 1_000_000) == 0.0


def test_several_p_values_are_corrected_together() -> None:
    assert adjust_p_values([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert adjust_p_values([0.6, 0.7]) == [1.0, 1.0]
    assert adjust_p_values([]) == []


@pytest.mark.parametrize(("successes", "trials"), [(-1, 10), (11, 10)])
def test_a_count_beyond_the_trials_is_a_mistake(successes: int, trials: int) -> None:
    with pytest.raises(ValueError, match=f"found {successes} of 10"):
        estimate_rate(successes, trials)
    with pytest.raises(ValueError, match=f"found {successes} of 10"):
        binomial_p_value(successes, trials)


def test_groups_of_several_sizes_weigh_by_their_size() -> None:
    found = estimate_grouped_mean([{0: (1, 4.0), 1: (3, 6.0), 2: (2, 2.0)}])
    assert found
    assert found.value == 2.0
    squares = (4 - 2) ** 2 + (6 - 6) ** 2 + (2 - 4) ** 2
    assert found.high - 2.0 == pytest.approx(4.303 * (squares * 3 / 2) ** 0.5 / 6, rel=1e-3)


def test_one_group_tells_nothing_of_others() -> None:
    assert estimate_grouped_mean([]) is None
    assert estimate_grouped_mean([{0: (5, 1.0), 1: (5, 2.0)}, {0: (5, 1.0)}]) is None


def test_a_simulated_p_value_is_the_share_of_values_at_least_as_large() -> None:
    dice = Random(2)
    found = [simulate_p_value(dice.random(), dice.random, 99) for _ in range(400)]
    assert sum(p_value <= 0.05 for p_value in found) <= 32
    assert sum(p_value <= 0.5 for p_value in found) == pytest.approx(200, abs=40)
    assert simulate_p_value(2.0, dice.random, 99) == 0.01
    drawn = iter(range(100))
    assert simulate_p_value(5, lambda: next(drawn), 99) == 20 / 25
    assert next(drawn) == 25
