"""The drill makes every call that it is given, over the product's HTTP and over bare sockets."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.calls import Call
from bench.drill import Stack, measure
from bench.floor import Floor
from bench.limit import Limit
from tests.conftest import BOUND, free_ports

CALLS = [Call(700, 50, 320), Call(3000, 120_000, 0), Call(8, 0, 32)] * 20


class Miser(Floor):
    """A stack that keeps the last byte of each answer."""

    async def call(self, port: int, body: bytes, bearer: str) -> bytes:
        return (await super().call(port, body, bearer))[:-1]


class Hung(Floor):
    """A stack whose calls never end."""

    async def call(self, port: int, body: bytes, bearer: str) -> bytes:
        os.write(1, b"calling\n")
        return bytes(await asyncio.Event().wait())


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


def test_the_processes_of_a_drill_end_with_whoever_started_them() -> None:
    """The end of its output is the end of the last process that could have written to it."""
    program = (
        "import sys; from bench.drill import measure; from tests.bench.test_drill import CALLS, Hung;"
        "measure(Hung, CALLS, [int(sys.argv[1])], 1)"
    )
    command = [sys.executable, "-c", program, str(free_ports(1))]
    with subprocess.Popen(command, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == b"calling\n"
        started.kill()
        started.communicate(timeout=BOUND)
