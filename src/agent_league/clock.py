"""Time: what o'clock it is, how the protocol writes it, and how people are told how long something took.

Waiting is the event loop's business (`asyncio`), so that a loop with virtual time needs nothing from here but
another `Clock`.
"""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from math import floor
from typing import Protocol

ISO_UTC = re.compile(r"[\dW-]+T[\d:.,]+(Z|\+00:00)", re.ASCII)
"""Date, T, time of day, UTC; whether there is such a date and time is another question."""


class Clock(Protocol):
    """Tells the time of day."""

    def now(self) -> datetime:
        """The current moment, in UTC."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)


def format_utc(moment: datetime) -> str:
    """The only form in which we send a moment: `2025-01-15T10:30:00Z`."""
    return format_second(floor(moment.timestamp()))


@lru_cache(maxsize=64)
def format_second(second: int) -> str:
    """The same for a whole second since 1970; many messages leave within one."""
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@lru_cache(maxsize=1024)
def parse_utc(text: str) -> datetime | None:
    """The moment that a peer wrote, or None where it isn't ISO-8601 in UTC."""
    if not ISO_UTC.fullmatch(text):
        return None
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def later(moment: datetime, seconds: float) -> str:
    """The written form of a moment some seconds after another."""
    return format_utc(moment + timedelta(seconds=seconds))


def duration(seconds: float) -> str:
    """A length of time as people say it, to two digits or so: `3.5 ms`, `45 s`, `3 min`, `2 h 5 min`."""
    if 0 < seconds < 0.9995:
        return f"{_brief(1000 * seconds)} ms"
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{_brief(seconds) if seconds > 0 else 0} s"
    minutes = round(whole / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _brief(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0") if value < 10 else f"{value:.0f}"
