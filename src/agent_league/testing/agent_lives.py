"""Lives: what an agent does between its start and its end, and an event loop that lets nobody act after death.

A life ends as a killed process does: between two steps, without a farewell. No `finally` of its tasks runs, no timer
of it fires; what it had in memory is out of reach. Whatever a life starts belongs to it.
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
    """One life of an agent."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.ended = False
        self.main: asyncio.Task[Any] | None = None
        self.tasks: WeakSet[asyncio.Task[Any]] = WeakSet()
        self._context = copy_context()
        self._context.run(_OWNER.set, self)

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Begins something that this life does."""
        return asyncio.get_running_loop().create_task(work, context=self._context.copy())

    def within(self, function: Callable[..., Any], *args: Any) -> Any:
        """Calls a function as this life."""
        return self._context.copy().run(function, *args)

    def end(self) -> None:
        """The life is over at this very moment."""
        self.ended = True
        loop = asyncio.get_running_loop()
        assert isinstance(loop, MortalLoop)
        loop.forget(self)


class MortalLoop(VirtualTimeLoop):
    """A loop on virtual time that drops what the dead still wanted to do."""

    def __init__(self) -> None:
        super().__init__()
        self._parked: list[asyncio.Handle] = []
        self._is_over = False
        self._remains: list[asyncio.Task[Any]] = []
        self.set_task_factory(_owned_task)  # type: ignore[arg-type]  # the stubs want more than is called

    def forget(self, life: Life) -> None:
        """Stops everything that a life has waiting."""
        self._remains += life.tasks  # a task that nobody holds is closed, and its `finally` runs
        for place, handle in enumerate(self._ready):  # type: ignore[attr-defined]
            if _owner(handle) is life:
                self._parked.append(handle)
                self._ready[place] = asyncio.Handle(_nothing, (), self)  # type: ignore[attr-defined]
        for timer in self._scheduled:  # type: ignore[attr-defined]
            if _owner(timer) is life:
                timer.cancel()

    async def bury(self) -> None:
        """Lets the dead end what they had begun, once it doesn't matter any more what they do."""
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
    """Cancels tasks until they are done, also those that wait again on their way out."""
    for _ in range(ATTEMPTS):
        left = [task for task in tasks if not task.done()]
        if not left:
            return
        for task in left:
            task.cancel()
        await asyncio.wait(left, timeout=1)


def _nothing() -> None:
    """What the dead do."""


def _owner(handle: asyncio.Handle) -> Life | None:
    context: Context = handle._context  # type: ignore[attr-defined]  # noqa: SLF001 - a handle doesn't say otherwise
    return context.get(_OWNER)


def _owned_task(
    loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any], context: Context | None = None
) -> asyncio.Task[Any]:
    task = asyncio.Task(work, loop=loop, context=context)
    life = _OWNER.get() if context is None else context.get(_OWNER)
    if life is not None:
        life.tasks.add(task)
    return task
