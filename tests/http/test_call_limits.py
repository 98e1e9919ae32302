"""Calls of one caller wait for each other, and for nobody else's."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from itertools import pairwise

import pytest

from agent_league.agent.app import AgentApp
from agent_league.http import call_limits
from agent_league.http.call_limits import (
    LARGE_BYTES,
    MAX_BATCHES,
    MAX_CALLS,
    MAX_LARGE_CALLS,
    MAX_LARGE_CALLS_TOTAL,
    CallLimits,
)
from agent_league.http.carrier import RequestRejected
from agent_league.http.limits import MAX_UNREAD_ANSWERS
from agent_league.http.server import HttpServer
from tests.http.wire import LIMIT, connected, fetch, request, until

GOOD = "a-good-token"


class Slow:
    """Answers once it is told to; knows how many wait for that."""

    def __init__(self) -> None:
        self.under_way = self.most = 0
        self.go_on = asyncio.Event()

    async def answer(self, body: bytes, bearer: str | None) -> bytes | None:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            if b"quick" not in body:
                await self.go_on.wait()
        finally:
            self.under_way -= 1
        return body


@pytest.fixture
def slow() -> Slow:
    return Slow()


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is let in because of time."""
    monkeypatch.setattr(call_limits, "WAIT_SECONDS", 3600)
    monkeypatch.setattr(call_limits, "BATCH_WAIT_SECONDS", 3600)


@pytest.fixture
async def limits(slow: Slow) -> AsyncIterator[CallLimits]:
    limits = CallLimits(lambda token: token.startswith(GOOD))
    yield limits
    assert limits._queues == {}
    assert limits._waiting_bytes == 0


def begin(
    limits: CallLimits, slow: Slow, count: int, body: bytes = b"{}", address: str = "10.0.0.1"
) -> list[asyncio.Task[bytes | None]]:
    return [asyncio.create_task(limits.answer_call(slow.answer, body, None, address)) for _ in range(count)]


async def answer_soon(
    limits: CallLimits, slow: Slow, body: bytes, bearer: str | None, address: str = "10.0.0.1"
) -> bytes | None:
    """The answer to a call that isn't kept waiting; raises TimeoutError if it is."""
    async with asyncio.timeout(LIMIT):
        return await limits.answer_call(slow.answer, body, bearer, address)


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(("body", "most"), [(b"{}", MAX_CALLS), (b" \n[{}]", MAX_BATCHES)], ids=["calls", "batches"])
async def test_so_many_calls_of_one_address_are_under_way_and_all_are_answered(
    limits: CallLimits, slow: Slow, body: bytes, most: int
) -> None:
    calls = begin(limits, slow, 200, body)
    await until(lambda: slow.under_way == most)
    slow.go_on.set()
    assert await asyncio.gather(*calls) == [body] * 200
    assert slow.most == most


@pytest.mark.usefixtures("patient")
async def test_another_address_a_good_token_and_a_single_call_beside_batches_don_t_wait(
    limits: CallLimits, slow: Slow
) -> None:
    calls = [*begin(limits, slow, 200), *begin(limits, slow, 200, b"[]")]
    await until(lambda: slow.under_way == MAX_CALLS + MAX_BATCHES)
    message = b'{"quick": 1, "params": {"auth_token" : "%b"}}' % GOOD.encode()
    assert await answer_soon(limits, slow, message, None) == message
    assert await answer_soon(limits, slow, b"quick", GOOD) == b"quick"
    assert await answer_soon(limits, slow, b"quick", None, "10.0.0.2") == b"quick"
    bad = begin(limits, slow, 1, b'{"quick": 1, "auth_token": "bad"}')
    await asyncio.sleep(0)
    assert not bad[0].done()
    slow.go_on.set()
    await asyncio.gather(*calls, *bad)


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("begins", [b"{", b"["], ids=["calls", "batches"])
async def test_few_large_calls_of_one_address_and_of_all_strangers_are_under_way(
    limits: CallLimits, slow: Slow, begins: bytes
) -> None:
    large = begins + b" " * LARGE_BYTES
    calls = begin(limits, slow, 6, large)
    await until(lambda: slow.under_way == MAX_LARGE_CALLS)
    calls += [call for number in range(8) for call in begin(limits, slow, 2, large, f"10.0.1.{number}")]
    await until(lambda: slow.under_way == MAX_LARGE_CALLS_TOTAL)
    small = begin(limits, slow, 1)  # not held up by them
    await until(lambda: slow.under_way == MAX_LARGE_CALLS_TOTAL + 1)
    with_token = asyncio.create_task(limits.answer_call(slow.answer, large, GOOD, "10.0.0.1"))
    await until(lambda: slow.under_way == MAX_LARGE_CALLS_TOTAL + 2)
    slow.go_on.set()
    assert await asyncio.gather(*calls) == [large] * 22
    await asyncio.gather(*small, with_token)
    assert slow.most == MAX_LARGE_CALLS_TOTAL + 2


async def test_between_large_calls_that_take_no_time_others_get_their_turn() -> None:
    limits, begun, seen = CallLimits(), 0, [0]

    async def answer(body: bytes, bearer: str | None) -> bytes | None:
        nonlocal begun
        begun += 1
        return None

    large = [limits.answer_call(answer, b" " * (LARGE_BYTES + 1), None, f"10.0.1.{number}") for number in range(20)]
    calls = [asyncio.create_task(call) for call in large]
    while begun < len(calls):
        await asyncio.sleep(0)
        seen.append(begun)
    assert max(later - earlier for earlier, later in pairwise(seen)) == 1
    await asyncio.gather(*calls)


@pytest.mark.usefixtures("patient")
async def test_whoever_has_a_good_token_waits_for_its_own_calls_alone(limits: CallLimits, slow: Slow) -> None:
    others = begin(limits, slow, 100)
    flood = b'{"auth_token": "%b-1"}' % GOOD.encode()
    own = begin(limits, slow, 100, flood)
    await until(lambda: slow.under_way == 2 * MAX_CALLS)
    assert await answer_soon(limits, slow, b"quick", f"{GOOD}-2") == b"quick"
    slow.go_on.set()
    await asyncio.gather(*others, *own)


async def test_calls_that_take_long_hold_up_the_next_for_a_moment_only(limits: CallLimits, slow: Slow) -> None:
    calls = begin(limits, slow, MAX_CALLS)
    assert await answer_soon(limits, slow, b"quick", None) == b"quick"
    slow.go_on.set()
    await asyncio.gather(*calls)


@pytest.mark.usefixtures("patient")
async def test_one_whole_network_of_ipv6_is_one_caller(limits: CallLimits, slow: Slow) -> None:
    calls = [begin(limits, slow, 1, address=f"2001:db8::{number:x}")[0] for number in range(100)]
    await until(lambda: slow.under_way == MAX_CALLS)
    slow.go_on.set()
    await asyncio.gather(*calls)
    assert slow.most == MAX_CALLS


@pytest.mark.usefixtures("patient")
async def test_a_call_that_is_given_up_leaves_its_place_to_the_next(limits: CallLimits, slow: Slow) -> None:
    calls = begin(limits, slow, MAX_CALLS + 10)
    await until(lambda: slow.under_way == MAX_CALLS)
    for call in (calls[0], *calls[-5:]):
        call.cancel()
    await until(lambda: calls[0].done() and slow.under_way == MAX_CALLS)
    slow.go_on.set()
    ended = await asyncio.gather(*calls, return_exceptions=True)
    assert [isinstance(one, asyncio.CancelledError) for one in ended].count(True) == 6


@pytest.mark.usefixtures("patient")
async def test_what_waits_is_bounded_too(limits: CallLimits, slow: Slow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_limits, "MAX_WAITING", 100)
    calls = begin(limits, slow, MAX_CALLS + 10, b"x" * 10)
    await until(lambda: limits._waiting_bytes == 100)
    with pytest.raises(RequestRejected, match="too many calls"):
        await limits.answer_call(slow.answer, b"x", None, "10.0.0.1")
    slow.go_on.set()
    await asyncio.gather(*calls)


@pytest.mark.usefixtures("patient")
async def test_two_hundred_connections_of_an_opponent_keep_no_referee_waiting(
    slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = AgentApp(slow.answer, dict, has_good_token=lambda token: token == GOOD)
    server = HttpServer(app, "127.0.0.1", 0, "a test")
    await server.start()
    try:
        async with asyncio.TaskGroup() as group:
            opponents = [group.create_task(fetch(server.port, request(b"{}"))) for _ in range(200)]
            await until(lambda: len(server._server_limits.connections) >= 200 and slow.under_way == MAX_CALLS)
            asked = request(b"quick", f"Authorization: Bearer {GOOD}")
            assert [(await fetch(server.port, asked)).body for _ in range(20)] == [b"quick"] * 20
            assert slow.under_way == MAX_CALLS
            monkeypatch.setattr(call_limits, "MAX_WAITING", 1)
            assert (await fetch(server.port, request(b"{}"))).status == 503
            slow.go_on.set()
        assert {(await task).body for task in opponents} == {b"{}"}
    finally:
        await server.stop()


async def test_answers_that_nobody_takes_are_bounded_together() -> None:
    async def answer(body: bytes, bearer: str | None) -> bytes | None:
        return b"x" * (MAX_UNREAD_ANSWERS // 2 if body == b"much" else 10)

    server = HttpServer(AgentApp(answer, dict), "127.0.0.1", 0, "a test")
    await server.start()
    try:
        async with AsyncExitStack() as stack:
            for _ in range(8):
                connection = await stack.enter_async_context(connected(server.port))
                connection.pause()
                await connection.send(request(b"much"))
            await until(lambda: len(server._server_limits.connections) <= 4)
            assert (await fetch(server.port, request(b"much"))).status == 200
    finally:
        await server.stop()
