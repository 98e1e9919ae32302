"""Lines from an input that nobody waits for in vain."""

import asyncio
import os
from collections.abc import Iterator

import pytest

from agent_league.gateway.typed_lines import TypedLines
from tests.conftest import BOUND


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reading, writing = os.pipe()
    yield reading, writing
    os.close(reading)


async def test_lines_come_whole_and_in_order_and_end_with_the_input(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    lines = TypedLines(reading)
    async with asyncio.timeout(BOUND):
        os.write(writing, "one\ntw\u00f6".encode())
        assert await lines.next_line() == "one"
        os.write(writing, b"\n\xff\nlast")
        assert [await lines.next_line(), await lines.next_line()] == ["tw\u00f6", "\ufffd"]
        os.close(writing)
        assert [line async for line in lines] == ["last"]
        assert await lines.next_line() is None, "however often one asks"
