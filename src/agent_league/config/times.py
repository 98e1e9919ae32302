"""`times` of a league file: the forms in which dates, times of day and a freeze are written, and their checks.

What the times mean is in `model/time_plan.py`.
"""

import re
from datetime import UTC, date, datetime, timedelta
from difflib import get_close_matches
from functools import lru_cache
from typing import Annotated, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from pydantic import AfterValidator, Field, model_validator

from agent_league.config.base import ConfigModel
from agent_league.model.time_plan import (
    ALL_DAYS,
    DAY_MINUTES,
    DAY_NAMES,
    FreezeGoal,
    Holidays,
    QuietHours,
    RelativeFreeze,
    RoundTime,
    TimePlan,
    format_minute,
)
from agent_league.text import quote

_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)", re.ASCII)
_RELATIVE_FREEZE = re.compile(
    r"(\d{1,4})\s*(min(?:utes?)?|h(?:ours?)?|d(?:ays?)?|w(?:eeks?)?) before (?:the )?(final|last round|last stage)",
    re.ASCII | re.IGNORECASE,
)
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
DATE_FORM = '"2026-10-27 18:00", or with an offset "2026-10-27T18:00:00+01:00"'
ROUND_FORM = '"18:00", "mon wed 18:00" or "mon-fri 18:00"'
QUIET_FORM = '"22:00-07:00" or "sat sun 00:00-24:00"'
HOLIDAYS_FORM = '"2026-12-24" or "2026-12-24..2027-01-06"'
FREEZE_FORM = f'"24h before final", "2 days before last stage", or a date such as {DATE_FORM}'


def _check_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        near = get_close_matches(name, available_timezones(), n=1, cutoff=0.7)
        meant = f"; did you mean {near[0]}?" if near else ""
        raise ValueError(f"Input should be a time zone such as Europe/Berlin{meant}") from None
    return name


def _check_date(text: str) -> str:
    parse_date(text)
    return text


def parse_date(text: str, zone: ZoneInfo | None = None) -> datetime:
    """Parse a date with a time of day; without an offset it is in `zone`. Raises ValueError."""
    try:
        if ":" not in text:  # a day alone begins at midnight for some, and ends there for others
            raise ValueError
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(f"Input should be a date with a time of day, such as {DATE_FORM}") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=zone or UTC)).astimezone(UTC)


def parse_days(words: str) -> frozenset[int]:
    """Parse days of the week such as `mon wed`, `mon, wed` or `fri-sun`; none means all. Raises ValueError."""
    days: set[int] = set()
    for word in words.replace(",", " ").lower().split():
        first, _, last = word.partition("-")
        begin, end = _parse_day(first), _parse_day(last or first)
        days |= {(begin + number) % 7 for number in range((end - begin) % 7 + 1)}
    return frozenset(days) or ALL_DAYS


def _parse_day(word: str) -> int:
    found = [number for number, name in enumerate(DAY_NAMES) if len(word) >= 2 and name.startswith(word)]
    if not found:
        raise ValueError(f"Input should name days as mon, tue, wed, thu, fri, sat or sun, and has {quote(word)}")
    return found[0]


def _parse_clock(text: str) -> int | None:
    """Minutes after midnight; None if it is no time of day."""
    found = _CLOCK.fullmatch(text)
    return int(found[1]) * 60 + int(found[2]) if found else None


def parse_round_time(text: str) -> RoundTime:
    """Parse a time of day, on all days or on those before it. Raises ValueError."""
    days, _, clock = text.strip().rpartition(" ")
    minute = _parse_clock(clock)
    if minute is None:
        raise ValueError(f"Input should be a time of day such as {ROUND_FORM}")
    return RoundTime(parse_days(days), minute)


def parse_quiet_hours(text: str) -> QuietHours:
    """Parse hours such as `22:00-07:00`, with days before them or without. Raises ValueError."""
    days, _, hours = text.strip().rpartition(" ")
    first, _, last = hours.partition("-")
    begin, end = _parse_clock(first), DAY_MINUTES if last == "24:00" else _parse_clock(last)
    if begin is None or end is None or begin == end:
        raise ValueError(f"Input should be hours of the day such as {QUIET_FORM}")
    return QuietHours(parse_days(days), begin, end)


def parse_holidays(text: str) -> Holidays:
    """Parse one day, or the first and the last of several. Raises ValueError."""
    first, _, last = (part.strip() for part in text.partition(".."))
    try:
        free = Holidays(date.fromisoformat(first), date.fromisoformat(last or first))
    except ValueError:
        raise ValueError(f"Input should be days such as {HOLIDAYS_FORM}") from None
    if free.last < free.first:
        raise ValueError("Input should be the first and the last day, and the last is before the first")
    return free


def parse_freeze(text: str, zone: ZoneInfo | None = None) -> datetime | RelativeFreeze:
    """Parse the time of a freeze: a date, or how long before the end. Raises ValueError."""
    if found := _RELATIVE_FREEZE.fullmatch(text.strip()):
        number, unit, goal = found.groups()
        before = timedelta(**{_UNITS[unit[0].lower()]: int(number)})
        return RelativeFreeze(before, FreezeGoal.LAST_STAGE if "stage" in goal.lower() else FreezeGoal.FINAL)
    try:
        return parse_date(text, zone)
    except ValueError:
        raise ValueError(f"Input should be {FREEZE_FORM}") from None


def _check_round_time(text: str) -> str:
    parse_round_time(text)
    return text


def _check_quiet_hours(text: str) -> str:
    parse_quiet_hours(text)
    return text


def _check_holidays(text: str) -> str:
    parse_holidays(text)
    return text


def _check_freeze(text: str) -> str:
    parse_freeze(text)
    return text


DateText = Annotated[str, AfterValidator(_check_date)]


class TimesConfig(ConfigModel):
    """When a league's steps are due. Local times are in `time_zone`; dates may have an offset of their own."""

    time_zone: Annotated[str, AfterValidator(_check_zone)] = "UTC"
    """The zone of all times without an offset, by its IANA name, such as `Europe/Berlin`; see docs/weeks.md."""
    registration_opens: DateText | None = None
    """From when on new players may register; None: at once."""
    registration_closes: DateText | None = None
    """Until when new players may register; None: until the start."""
    start: DateText | None = None
    """When the league starts, with those who are there; None: once the expected agents have registered, or on
    `league admin start`."""
    rounds: tuple[Annotated[str, AfterValidator(_check_round_time)], ...] = ()
    """Times at which rounds begin: `"18:00"`, `"mon wed 18:00"`, `"mon-fri 18:00"`; none: one round after the other."""
    rounds_each_time: Annotated[int, Field(ge=1, le=1000)] = 1
    """Rounds that are played at each of these times."""
    quiet_hours: tuple[Annotated[str, AfterValidator(_check_quiet_hours)], ...] = ()
    """Hours in which no match begins: `"22:00-07:00"`, `"sat sun 00:00-24:00"`; matches in play end."""
    holidays: tuple[Annotated[str, AfterValidator(_check_holidays)], ...] = ()
    """Days without rounds and matches: `"2026-12-24..2027-01-06"`."""
    freeze: Annotated[str, AfterValidator(_check_freeze)] | None = None
    """From when on no player is admitted or replaced: a date, `"24h before final"` or `"2 days before last stage"`."""

    @property
    def plan(self) -> TimePlan:
        """These times as a calendar."""
        return _parse_plan(self)

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        plan = _parse_plan(self)
        if plan.closes and plan.opens and plan.closes <= plan.opens:
            raise ValueError("registration_closes should be after registration_opens")
        if plan.start and plan.opens and plan.start <= plan.opens:
            raise ValueError("start should be after registration_opens")
        if plan.start and plan.closes and plan.start < plan.closes:
            raise ValueError("start should not be before registration_closes")
        if isinstance(plan.freeze, datetime):
            last = max((moment for moment in (plan.opens, plan.closes) if moment), default=None)
            if last and plan.freeze < last:
                raise ValueError("freeze should not be before registration closes: nobody is admitted after it")
        elif plan.freeze and not plan.round_times:
            raise ValueError("freeze counts back from a round, so rounds should say when rounds are played")
        if self.quiet_hours and plan.is_always_quiet:
            raise ValueError("quiet_hours should leave some time in which matches are played")
        if quiet := plan.find_quiet_round():
            raise ValueError(f"rounds should not begin in quiet_hours, and {format_minute(quiet.minute)} does")
        if self.rounds and next(plan.iter_round_times(plan.start or datetime(2026, 1, 1, tzinfo=UTC)), None) is None:
            raise ValueError("holidays should leave some day on which a round is played")
        return self


@lru_cache(maxsize=256)
def _parse_text_plan(
    zone_name: str, dates: tuple[str | None, ...], lists: tuple[tuple[str, ...], ...], each_time: int
) -> TimePlan:
    zone = ZoneInfo(zone_name)
    opens, closes, start = (parse_date(text, zone) if text else None for text in dates[:3])
    rounds, quiet, holidays = lists
    return TimePlan(
        zone=zone,
        zone_name=zone_name,
        opens=opens,
        closes=closes,
        start=start,
        freeze=parse_freeze(dates[3], zone) if dates[3] else None,
        round_times=tuple(map(parse_round_time, rounds)),
        rounds_each_time=each_time,
        quiet_hours=tuple(map(parse_quiet_hours, quiet)),
        holidays=tuple(map(parse_holidays, holidays)),
    )


def _parse_plan(times: TimesConfig) -> TimePlan:
    dates = (times.registration_opens, times.registration_closes, times.start, times.freeze)
    return _parse_text_plan(
        times.time_zone, dates, (times.rounds, times.quiet_hours, times.holidays), times.rounds_each_time
    )
