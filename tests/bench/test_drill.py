"""The drill makes every call that it is given, over the product's HTTP and over bare sockets."""

import pytest

from bench.calls import Call
from bench.drill import Stack, measure
from bench.floor import Floor
from bench.limit import Limit
from tests.cli.command import free_ports

CALLS = [Call(700, 50, 320), Call(3000, 120_000, 0), Call(8, 0, 32)] * 20


class Miser(Floor):
    """A stack that keeps the last byte of each answer."""

    async def call(self, port: int, body: bytes, bearer: str) -> bytes:
        return (await super().call(port, body, bearer))[:-1]


@pytest.mark.parametrize("stack", [Limit, Floor])
@pytest.mark.parametrize("cores", [1, 2])
def test_a_drill_tells_the_rate_and_the_cpu_time_of_its_calls(stack: type[Stack], cores: int) -> None:
    first = free_ports(4)
    speed = measure(stack, CALLS, range(first, first + 4), cores)
    assert speed.calls_per_second > 0
    assert 0 < speed.cpu_per_call < 1


def test_a_drill_whose_answers_are_wrong_is_no_measure() -> None:
    first = free_ports(2)
    with pytest.raises(SystemExit, match=r"^bench: limit and floor .*an answer of 50 bytes was asked for, 49 came"):
        measure(Miser, CALLS[:1] * 4, range(first, first + 2), 2)
