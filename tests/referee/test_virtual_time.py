"""Virtual time, on which the tests of limits and waits rest."""

import asyncio

import pytest

from agent_league.testing.virtual_time import DeadlockError, VirtualClock, in_virtual_time, run_in_virtual_time


@in_virtual_time
async def test_a_wait_has_its_exact_length_and_takes_no_time() -> None:
    loop = asyncio.get_running_loop()
    assert (loop.time(), VirtualClock().now().isoformat()) == (0, "2025-01-15T10:00:00+00:00")
    await asyncio.sleep(86_400)
    assert (loop.time(), VirtualClock().now().isoformat()) == (86_400, "2025-01-16T10:00:00+00:00")


@in_virtual_time
async def test_timers_come_in_order_and_a_deadline_cuts() -> None:
    seen: list[str] = []

    async def after(seconds: float, name: str) -> None:
        await asyncio.sleep(seconds)
        seen.append(name)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(25):
            await asyncio.gather(after(20, "second"), after(10, "first"), after(30, "never"))
    assert seen == ["first", "second"]
    assert asyncio.get_running_loop().time() == 25


def test_where_nothing_can_happen_any_more_it_is_said_rather_than_waited_for() -> None:
    async def forlorn() -> None:
        await asyncio.sleep(3)
        await asyncio.Event().wait()

    with pytest.raises(DeadlockError, match="after 3 s of virtual time"):
        run_in_virtual_time(forlorn())
