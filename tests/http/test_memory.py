"""The memory carrier."""

import asyncio

import pytest

from agent_league.errors import PeerTimeout, PeerUnreachable
from agent_league.http.memory import MemoryNetwork
from agent_league.testing.virtual_time import in_virtual_time

HERE = "http://localhost:8101/mcp"


async def echo(frame: bytes, _: str | None) -> bytes | None:
    return frame or None


async def test_a_frame_goes_there_and_its_answer_comes_back() -> None:
    network = MemoryNetwork()
    network.attach(HERE, echo)
    assert await network.exchange(HERE, b"frame", 1) == (200, b"frame")


async def test_the_bearer_s_token_goes_beside_the_frame() -> None:
    seen: list[str | None] = []

    async def note(_: bytes, bearer: str | None) -> bytes | None:
        seen.append(bearer)
        return None

    network = MemoryNetwork()
    network.attach(HERE, note)
    await network.exchange(HERE, b"frame", 1, "tok-1")
    await network.exchange(HERE, b"frame", 1)
    assert seen == ["tok-1", None]


async def test_silence_is_answered_as_over_http() -> None:
    network = MemoryNetwork()
    network.attach(HERE, echo)
    assert await network.exchange(HERE, b"", 1) == (202, b"")


async def test_nobody_at_an_endpoint_is_unreachable() -> None:
    network = MemoryNetwork()
    network.attach(HERE, echo)
    network.detach(HERE)
    network.detach("http://never/there")
    with pytest.raises(PeerUnreachable, match="8101"):
        await network.exchange(HERE, b"frame", 1)


@in_virtual_time
async def test_a_call_is_cut_at_its_limit_to_the_second() -> None:
    async def slow(_: bytes, __: str | None) -> bytes | None:
        await asyncio.sleep(31)
        return b"late"

    network = MemoryNetwork()
    network.attach(HERE, slow)
    with pytest.raises(PeerTimeout, match="within 30 s"):
        await network.exchange(HERE, b"frame", 30)
    assert asyncio.get_running_loop().time() == 30
    assert await network.exchange(HERE, b"frame", 32) == (200, b"late")


async def test_closing_it_ends_nothing() -> None:
    network = MemoryNetwork()
    network.attach(HERE, echo)
    await network.close()
    assert await network.exchange(HERE, b"frame", 1) == (200, b"frame")
