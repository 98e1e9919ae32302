"""Structured concurrency: work that runs beside other work, and never outlives its owner."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from agent_league.log import JsonLogger

Work = Coroutine[Any, Any, Any]


@asynccontextmanager
async def run_beside(*works: Work) -> AsyncIterator[list[asyncio.Task[Any]]]:
    """Run works beside the body of the context; leaving it cancels them and waits for them.

    The first exception of any ends all, the body too, and is raised as itself rather than in a group.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(work) for work in works]
            yield tasks
            for task in tasks:
                task.cancel()
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from None


async def run_until_first(*works: Work) -> None:
    """Run works until one ends, and cancel the others; raises the first exception of any."""
    async with run_beside(*works) as tasks:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)


async def run_all(*works: Work) -> None:
    """Run works until all have ended; raises the first exception of any, which cancels the others."""
    async with run_beside(*works) as tasks:
        await asyncio.wait(tasks)


class BackgroundTasks:
    """Tasks that run beside their owner's main work until `close`.

    Unlike in a TaskGroup they may start before that work does, and a task that fails ends no other: an agent goes on
    whatever a stranger's answer does to one of them. The error is in the log, or in asyncio's own without one.
    """

    def __init__(self, log: JsonLogger | None = None) -> None:
        self._log = log
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Work) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._end_task)
        return task

    def _end_task(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if self._log and not task.cancelled() and (error := task.exception()):
            self._log.error("task_failed", error=repr(error))

    async def close(self) -> None:
        """Cancel all tasks and wait for them."""
        running = [task for task in self._tasks if not task.done()]
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)
