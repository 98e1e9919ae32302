"""Chance under a seed repeats, and is chance again afterwards."""

import secrets
from collections.abc import Callable
from random import Random

import pytest

from agent_league.protocol.tokens import SigningKey
from agent_league.testing.simulation import repeatable_chance

Draw = Callable[[], object]
DRAWS: list[Draw] = [
    lambda: Random().random(),
    lambda: secrets.token_hex(16),
    lambda: secrets.token_urlsafe(16),
    lambda: SigningKey.generate().private_jwk,
]


@pytest.mark.parametrize("draw", DRAWS)
def test_the_same_seed_brings_the_same_numbers(draw: Draw) -> None:
    found = []
    for seed in ("one", "one", "another"):
        with repeatable_chance(seed):
            found.append([draw(), draw()])
    assert found[0] == found[1]
    assert found[0] != found[2]
    assert found[0][0] != found[0][1]


@pytest.mark.parametrize("draw", DRAWS)
def test_chance_is_chance_again_afterwards(draw: Draw) -> None:
    with repeatable_chance("one"):
        inside = draw()
    assert len({inside, draw(), draw()}) == 3


def test_a_seed_of_ones_own_stays_what_it_is() -> None:
    expected = Random(7).random()
    with repeatable_chance("one"):
        assert Random(7).random() == expected
