"""Virtual time: an event loop whose clock jumps to the next timer instead of waiting for it.

Thirty seconds of silence pass in no time, and every wait has its exact length. For code that waits on nothing outside
the loop: no sockets, no threads.
"""

import asyncio
import functools
import selectors
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

START = datetime(2025, 1, 15, 10, 0, 0, tzinfo=UTC)


class DeadlockError(AssertionError):
    """Everybody waits, and nothing is left that could wake anybody."""


class _JumpingSelector(selectors.SelectSelector):
    """Where the loop would sleep, time passes at once."""

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
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.elapsed


class VirtualClock:
    """The time of day on a virtual loop; `skew` says by how many seconds this clock is wrong."""

    def __init__(self, skew: float = 0) -> None:
        self.skew = skew

    def now(self) -> datetime:
        return START + timedelta(seconds=asyncio.get_running_loop().time() + self.skew)


def run_in_virtual_time(main: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine to its end on a virtual loop."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main)


def in_virtual_time(test: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """A test function that runs on a virtual loop."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        return run_in_virtual_time(test(*args, **kwargs))

    return run
