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
CANCEL_ATTEMPTS = 100
_CURRENT_PROCESS: "ContextVar[SimulatedProcess | None]" = ContextVar("owner", default=None)


class SimulatedProcess:
    """One run of an agent, from its start until it is killed."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.has_ended = False
        self.main_task: asyncio.Task[Any] | None = None
        self.tasks: WeakSet[asyncio.Task[Any]] = WeakSet()
        self._context = copy_context()
        self._context.run(_CURRENT_PROCESS.set, self)

    def start_task(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Start a task that belongs to this process."""
        return asyncio.get_running_loop().create_task(work, context=self._context.copy())

    def run_within(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function within this process: tasks and timers that it creates belong to the process."""
        return self._context.copy().run(function, *args)

    def kill(self) -> None:
        """End the process at once; nothing of it runs any more."""
        self.has_ended = True
        loop = asyncio.get_running_loop()
        assert isinstance(loop, KillableEventLoop)
        loop.stop_process(self)


class KillableEventLoop(VirtualTimeLoop):
    """Virtual-time loop that runs no callback or timer of a killed process."""

    def __init__(self) -> None:
        super().__init__()
        self._parked_handles: list[asyncio.Handle] = []
        self._is_cleaning_up = False
        self._dead_tasks: list[asyncio.Task[Any]] = []
        self.set_task_factory(_create_owned_task)  # type: ignore[arg-type]  # the stubs want more than is called

    def stop_process(self, life: SimulatedProcess) -> None:
        """Park all pending callbacks of a process and cancel its timers."""
        self._dead_tasks += life.tasks  # a task without a reference would be closed, and its `finally` would run
        for place, handle in enumerate(self._ready):  # type: ignore[attr-defined]
            if _owning_process(handle) is life:
                self._parked_handles.append(handle)
                self._ready[place] = asyncio.Handle(_do_nothing, (), self)  # type: ignore[attr-defined]
        for timer in self._scheduled:  # type: ignore[attr-defined]
            if _owning_process(timer) is life:
                timer.cancel()

    async def finish_dead_tasks(self) -> None:
        """Cancel the tasks of killed processes, after the simulation, when their effects no longer matter."""
        self._is_cleaning_up = True
        self._ready.extend(self._parked_handles)  # type: ignore[attr-defined]
        await cancel_all(self._dead_tasks)

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        (self._parked_handles if self._is_from_dead_process(handle) else self._ready).append(handle)  # type: ignore[attr-defined]
        return handle

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        timer = super().call_at(when, callback, *args, context=context)
        if self._is_from_dead_process(timer):
            timer.cancel()
        return timer

    def _is_from_dead_process(self, handle: asyncio.Handle) -> bool:
        life = _owning_process(handle)
        return life is not None and life.has_ended and not self._is_cleaning_up


async def cancel_all(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel tasks until they are done, repeatedly for those that wait again while being cancelled."""
    for _ in range(CANCEL_ATTEMPTS):
        left = [task for task in tasks if not task.done()]
        if not left:
            return
        for task in left:
            task.cancel()
        await asyncio.wait(left, timeout=1)


def _do_nothing() -> None:
    """Replaces a parked callback."""


def _owning_process(handle: asyncio.Handle) -> SimulatedProcess | None:
    context: Context = handle._context  # type: ignore[attr-defined]  # noqa: SLF001 - there is no public accessor
    return context.get(_CURRENT_PROCESS)


def _create_owned_task(
    loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any], context: Context | None = None
) -> asyncio.Task[Any]:
    task = asyncio.Task(work, loop=loop, context=context)
    life = _CURRENT_PROCESS.get() if context is None else context.get(_CURRENT_PROCESS)
    if life is not None:
        life.tasks.add(task)
    return task
