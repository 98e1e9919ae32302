"""A server's lease as the server itself counts it, by its own monotonic clock: no longer than the database does.

Nothing may be called or written in the name of a league once it has ended. A process that was paused finds its lease
ended before it has asked anybody, and so does one whose whole machine was asleep.
"""

import asyncio
import time
from collections.abc import Callable
from typing import NoReturn

SAFE_PART = 0.95
"""Part of a lease that counts, so that clocks may differ in speed."""


def read_clock() -> float:
    """Seconds by a clock that nobody sets and that, on systems that have one, goes on while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


class ServerLease:
    """Until when this process owns its leagues."""

    def __init__(self, monotonic: Callable[[], float] = read_clock) -> None:
        self._monotonic = monotonic
        self._ends_at = 0.0

    @property
    def is_held(self) -> bool:
        return self._monotonic() < self._ends_at

    @property
    def seconds_left(self) -> float:
        return max(0.0, self._ends_at - self._monotonic())

    def begin_request(self) -> float:
        """Note the time before the database is asked; `extend` counts from it."""
        return self._monotonic()

    def extend(self, asked_at: float, seconds: float) -> None:
        """Count a lease that the database has granted after `asked_at`."""
        self._ends_at = asked_at + seconds * SAFE_PART

    def renew(self, asked_at: float, seconds: float) -> None:
        """The same for a lease that is held; one that has ended stays so."""
        if self.is_held:
            self.extend(asked_at, seconds)

    def end(self) -> None:
        """Hold nothing any more."""
        self._ends_at = 0.0


class UnlimitedLease(ServerLease):
    """The lease of a server that shares its store with no other."""

    @property
    def is_held(self) -> bool:
        return True


async def wait_for_cancellation() -> NoReturn:
    """Wait for ever: for work of a league that is no longer ours, which will be cancelled."""
    await asyncio.get_running_loop().create_future()
    raise AssertionError("a future that nobody sets")
