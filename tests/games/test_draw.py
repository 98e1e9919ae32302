"""The draw: uniform, repeatable, and open to everybody's check."""

import hashlib
from collections import Counter
from typing import Any

import pytest

from agent_league.games.draw import compute_commitment, create_match_seed, draw_outcome

NUMBERS: list[tuple[Any, float]] = [(number, 1) for number in range(1, 11)]


def chi_square(drawn: Counter[int], expected: dict[int, float]) -> float:
    return sum((drawn[number] - wanted) ** 2 / wanted for number, wanted in expected.items())


@pytest.mark.parametrize("league_seed", ["7", "8", "another"])
def test_draws_are_uniform_over_the_matches_of_a_league(league_seed: str) -> None:
    seeds = [create_match_seed(league_seed, "league", f"R{number}M1") for number in range(10_000)]
    drawn = Counter(draw_outcome(seed, 1, NUMBERS) for seed in seeds)
    assert set(drawn) == set(range(1, 11))
    assert chi_square(drawn, dict.fromkeys(range(1, 11), 1000.0)) < 33.7  # 9 degrees of freedom, p = 0.0001


def test_draws_are_uniform_over_the_steps_of_a_match() -> None:
    drawn = Counter(draw_outcome("5eed", step, NUMBERS) for step in range(10_000))
    assert chi_square(drawn, dict.fromkeys(range(1, 11), 1000.0)) < 33.7


def test_an_outcome_comes_as_often_as_its_weight_says() -> None:
    weighted: list[tuple[Any, float]] = [(1, 1), (2, 2.5), (3, 6.5)]
    drawn = Counter(draw_outcome("5eed", step, weighted) for step in range(10_000))
    assert chi_square(drawn, {1: 1000, 2: 2500, 3: 6500}) < 18.4  # 2 degrees of freedom, p = 0.0001


@pytest.mark.parametrize("outcomes", [[("only", 1)], [("only", 0.001)]])
def test_a_single_outcome_is_always_drawn(outcomes: list[tuple[Any, float]]) -> None:
    assert {draw_outcome("5eed", step, outcomes) for step in range(100)} == {"only"}


def test_anybody_can_work_out_the_draw_from_the_revealed_seed() -> None:
    """The rule of the module's docstring, written anew."""
    seed = create_match_seed("7", "league_2025_even_odd", "R1M1")
    for step in range(50):
        fraction = int(hashlib.sha256(f"{seed}:{step}".encode()).hexdigest()[:16], 16) / 2**64
        assert draw_outcome(seed, step, NUMBERS) == 1 + int(fraction * 10)


def test_the_commitment_is_the_hash_of_the_seed() -> None:
    assert compute_commitment("5eed") == hashlib.sha256(b"5eed").hexdigest()


def test_a_match_seed_follows_from_league_seed_league_and_match_alone() -> None:
    seed = create_match_seed("7", "league_2025_even_odd", "R1M1")
    assert seed == create_match_seed("7", "league_2025_even_odd", "R1M1")
    others = {
        create_match_seed("8", "league_2025_even_odd", "R1M1"),
        create_match_seed("7", "league_2026_even_odd", "R1M1"),
        create_match_seed("7", "league_2025_even_odd", "R1M2"),
    }
    assert len(others | {seed}) == 4


def test_without_a_league_seed_match_seeds_are_long_and_new_each_time() -> None:
    seeds = {create_match_seed(None, "league", "R1M1") for _ in range(100)}
    assert len(seeds) == 100
    assert all(len(seed) == 64 for seed in seeds)
