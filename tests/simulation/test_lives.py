"""A life ends like a killed process: nothing of it runs any more."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import closing, suppress

import pytest

from agent_league.testing.agent_lives import KillableEventLoop, SimulatedProcess

Deed = Callable[[list[str]], Awaitable[None]]


def run(main: Callable[[], Awaitable[None]]) -> None:
    async def buried() -> None:
        await main()
        loop = asyncio.get_running_loop()
        assert isinstance(loop, KillableEventLoop)
        await loop.finish_dead_tasks()

    with closing(KillableEventLoop()) as loop:
        loop.run_until_complete(buried())


async def wait_and_tidy_up(said: list[str]) -> None:
    try:
        await asyncio.sleep(10)
    finally:
        said.append("finally")


async def set_a_timer(said: list[str]) -> None:
    asyncio.get_running_loop().call_later(1, said.append, "timer")
    await asyncio.sleep(0)


async def start_a_child(said: list[str]) -> None:
    child = asyncio.create_task(wait_and_tidy_up(said))
    await child


async def use_a_lock_and_a_group(said: list[str]) -> None:
    with suppress(asyncio.CancelledError):
        async with asyncio.TaskGroup() as group, asyncio.Lock():
            group.create_task(wait_and_tidy_up(said))
    said.append("after the group")


@pytest.mark.parametrize("deed", [wait_and_tidy_up, set_a_timer, start_a_child, use_a_lock_and_a_group])
def test_nothing_of_a_life_runs_after_its_end(deed: Deed) -> None:
    said: list[str] = []

    async def main() -> None:
        life = SimulatedProcess("mortal")
        life.start_task(deed(said))  # type: ignore[arg-type]
        await asyncio.sleep(0.5)
        life.kill()
        await asyncio.sleep(100)
        assert said == []

    run(main)


@pytest.mark.parametrize("deed", [wait_and_tidy_up, set_a_timer, start_a_child, use_a_lock_and_a_group])
def test_a_life_that_goes_on_does_what_it_began(deed: Deed) -> None:
    said: list[str] = []

    async def main() -> None:
        SimulatedProcess("mortal").start_task(deed(said))  # type: ignore[arg-type]
        await asyncio.sleep(100)
        assert said

    run(main)


def test_a_life_that_ends_itself_does_not_come_back_from_its_next_wait() -> None:
    said: list[str] = []

    async def main() -> None:
        life = SimulatedProcess("mortal")

        async def suicide() -> None:
            life.kill()
            said.append("before")
            await asyncio.sleep(0)
            said.append("after")

        life.start_task(suicide())
        await asyncio.sleep(1)
        assert said == ["before"]

    run(main)


def test_the_end_of_one_life_leaves_the_others_alone() -> None:
    said: list[str] = []

    async def main() -> None:
        first, second = SimulatedProcess("first"), SimulatedProcess("second")
        first.start_task(wait_and_tidy_up([]))
        second.start_task(wait_and_tidy_up(said))
        await asyncio.sleep(1)
        first.kill()
        await asyncio.sleep(100)
        assert said == ["finally"]

    run(main)
