"""Simulated processes: groups of tasks that can be killed like a process, and the event loop that makes that possible.

A killed process stops between two steps of the loop: no `finally` of its tasks runs, none of its timers fires. Every
task and timer that is created within a process belongs to it.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from contextvars import Context, ContextVar, copy_context
from typing import Any, TypeVarTuple
from weakref import WeakSet

from agent_league.testing.virtual_time import VirtualTimeLoop

Ts = TypeVarTuple("Ts")
ATTEMPTS = 100
_OWNER: "ContextVar[Life | None]" = ContextVar("owner", default=None)


class Life:
    """One run of an agent, from its start until it is killed."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.ended = False
        self.main: asyncio.Task[Any] | None = None
        self.tasks: WeakSet[asyncio.Task[Any]] = WeakSet()
        self._context = copy_context()
        self._context.run(_OWNER.set, self)

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Start a task that belongs to this process."""
        return asyncio.get_running_loop().create_task(work, context=self._context.copy())

    def within(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function within this process: tasks and timers that it creates belong to the process."""
        return self._context.copy().run(function, *args)

    def end(self) -> None:
        """End the process at once; nothing of it runs any more."""
        self.ended = True
        loop = asyncio.get_running_loop()
        assert isinstance(loop, MortalLoop)
        loop.forget(self)


class MortalLoop(VirtualTimeLoop):
    """Virtual-time loop that runs no callback or timer of a killed process."""

    def __init__(self) -> None:
        super().__init__()
        self._parked: list[asyncio.Handle] = []
        self._is_over = False
        self._remains: list[asyncio.Task[Any]] = []
        self.set_task_factory(_owned_task)  # type: ignore[arg-type]  # the stubs want more than is called

    def forget(self, life: Life) -> None:
        """Park all pending callbacks of a process and cancel its timers."""
        self._remains += life.tasks  # a task without a reference would be closed, and its `finally` would run
        for place, handle in enumerate(self._ready):  # type: ignore[attr-defined]
            if _owner(handle) is life:
                self._parked.append(handle)
                self._ready[place] = asyncio.Handle(_nothing, (), self)  # type: ignore[attr-defined]
        for timer in self._scheduled:  # type: ignore[attr-defined]
            if _owner(timer) is life:
                timer.cancel()

    async def bury(self) -> None:
        """Cancel the tasks of killed processes, after the simulation, when their effects no longer matter."""
        self._is_over = True
        self._ready.extend(self._parked)  # type: ignore[attr-defined]
        await end_all(self._remains)

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        (self._parked if self._is_of_the_dead(handle) else self._ready).append(handle)  # type: ignore[attr-defined]
        return handle

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        timer = super().call_at(when, callback, *args, context=context)
        if self._is_of_the_dead(timer):
            timer.cancel()
        return timer

    def _is_of_the_dead(self, handle: asyncio.Handle) -> bool:
        life = _owner(handle)
        return life is not None and life.ended and not self._is_over


async def end_all(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel tasks until they are done, repeatedly for those that wait again while being cancelled."""
    for _ in range(ATTEMPTS):
        left = [task for task in tasks if not task.done()]
        if not left:
            return
        for task in left:
            task.cancel()
        await asyncio.wait(left, timeout=1)


def _nothing() -> None:
    """Replaces a parked callback."""


def _owner(handle: asyncio.Handle) -> Life | None:
    context: Context = handle._context  # type: ignore[attr-defined]  # noqa: SLF001 - there is no public accessor
    return context.get(_OWNER)


def _owned_task(
    loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any], context: Context | None = None
) -> asyncio.Task[Any]:
    task = asyncio.Task(work, loop=loop, context=context)
    life = _OWNER.get() if context is None else context.get(_OWNER)
    if life is not None:
        life.tasks.add(task)
    return task
