"""Time of day, the protocol's timestamps, and durations as text for people.

Nothing here waits: that is left to the event loop, so that tests with virtual time only replace the `Clock`.
"""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from math import ceil, floor
from typing import Protocol

ISO_UTC = re.compile(r"[\dW-]+T[\d:.,]+(Z|\+00:00)", re.ASCII)
"""ISO-8601 in UTC by its form alone; the date may still not exist (`2025-02-30`)."""


class Clock(Protocol):
    """Source of the current time."""

    def now(self) -> datetime:
        """Return the current time, in UTC."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)


def format_utc(moment: datetime) -> str:
    """Format a time as our messages have it, cut to the second: `2025-01-15T10:30:00Z`."""
    return format_second(floor(moment.timestamp()))


@lru_cache(maxsize=64)
def format_second(second: int) -> str:
    """Format a Unix time in whole seconds; cached, as many messages are sent within one second."""
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@lru_cache(maxsize=1024)
def parse_utc(text: str) -> datetime | None:
    """Parse a peer's timestamp; None if it isn't ISO-8601 in UTC."""
    if not ISO_UTC.fullmatch(text):
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def format_utc_after(moment: datetime, seconds: float) -> str:
    """Format the time that is some seconds after another, such as a deadline."""
    return format_utc(moment + timedelta(seconds=seconds))


def format_duration(seconds: float) -> str:
    """Format a duration for people, to about two digits: `3.5 ms`, `45 s`, `3 min`, `2 h 5 min`."""
    if 0 < seconds < 0.9995:
        return f"{_format_number(1000 * seconds)} ms"
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{_format_number(seconds) if seconds > 0 else 0} s"
    minutes = round(whole / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def format_time_taken(begun: datetime, ended: datetime) -> str:
    """Format how long something took; its times may be cut to the second, and nothing takes no time at all."""
    seconds = (ended - begun).total_seconds()
    return format_duration(seconds) if seconds > 0 else "under 1 s"


def format_wait(seconds: float) -> str:
    """Format a wait for people, from seconds to days: `45 s`, `5 min`, `2 h 5 min`, `3 days 4 h`."""
    whole = max(0, ceil(seconds))
    if whole <= 60:
        return f"{whole} s"
    minutes = ceil(whole / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours = minutes // 60
    if hours < 48:
        return f"{hours} h {minutes % 60} min"
    return f"{hours // 24} days {hours % 24} h"


def format_countdown(moment: datetime, now: datetime) -> str:
    """Say how far away a moment is: `in 2 h 5 min`, or `now`."""
    left = (moment - now).total_seconds()
    return f"in {format_wait(left)}" if left > 0 else "now"


def _format_number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0") if value < 10 else f"{value:.0f}"
