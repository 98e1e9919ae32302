"""Virtual time: an event loop whose clock jumps to the next timer instead of waiting for it.

A timeout of thirty seconds passes at once, and every wait has its exact length. Only for code that waits on nothing
outside the loop: no sockets, no threads.
"""

import asyncio
import functools
import selectors
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

VIRTUAL_START = datetime(2025, 1, 15, 10, 0, 0, tzinfo=UTC)


class DeadlockError(AssertionError):
    """All tasks wait and no timer is left that could wake one."""


class _VirtualTimeSelector(selectors.SelectSelector):
    """Advances the virtual time instead of sleeping."""

    def __init__(self) -> None:
        super().__init__()
        self.elapsed = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise DeadlockError(f"nothing will ever happen again (after {self.elapsed:g} s of virtual time)")
        self.elapsed += timeout
        return []


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An event loop on virtual time, which starts at 0."""

    def __init__(self) -> None:
        self._jumping_selector = _VirtualTimeSelector()
        super().__init__(self._jumping_selector)

    def time(self) -> float:
        return self._jumping_selector.elapsed


class VirtualClock:
    """Wall clock on a virtual loop; `skew` is its error in seconds."""

    def __init__(self, skew: float = 0) -> None:
        self.skew = skew

    def now(self) -> datetime:
        return VIRTUAL_START + timedelta(seconds=asyncio.get_running_loop().time() + self.skew)


def run_in_virtual_time(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to completion on a virtual loop."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main)


def in_virtual_time(test: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Decorate an async test function so that it runs on a virtual loop."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        return run_in_virtual_time(test(*args, **kwargs))

    return run
