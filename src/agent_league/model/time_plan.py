"""The times of a league as a calendar: its dates, the times of its rounds, its quiet hours; in one time zone.

Pure: `now` is an argument. All moments that come out are in UTC. A local time that the clock skips in spring is as
much later as the clock skips (02:30 is 03:30 then); one that comes twice in autumn is the first of the two.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from enum import StrEnum
from itertools import islice

DAY_NAMES = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
ALL_DAYS = frozenset(range(7))
DAY_MINUTES = 24 * 60
WEEK_MINUTES = 7 * DAY_MINUTES
MAX_DAYS_SEARCHED = 4000
"""Days in which a round time is looked for; more than ten years of holidays leave none."""


@dataclass(frozen=True, slots=True)
class RoundTime:
    """A time of day on some days of the week."""

    days: frozenset[int]
    """Monday is 0."""
    minute: int
    """Minutes after midnight."""


@dataclass(frozen=True, slots=True)
class QuietHours:
    """Hours in which no match begins, on the days on which they begin; they may end on the next day."""

    days: frozenset[int]
    begin: int
    """Minutes after midnight."""
    end: int
    """The same; not after `begin`: on the next day."""

    @property
    def minutes(self) -> int:
        return (self.end - self.begin) % DAY_MINUTES or DAY_MINUTES


@dataclass(frozen=True, slots=True)
class Holidays:
    """Days without rounds and matches, both included."""

    first: date
    last: date


class FreezeGoal(StrEnum):
    """What a freeze is counted back from."""

    FINAL = "final"
    LAST_STAGE = "last stage"


@dataclass(frozen=True, slots=True)
class RelativeFreeze:
    """A freeze so long before the last round, or before the first round of the last stage."""

    before: timedelta
    goal: FreezeGoal


@dataclass(frozen=True, slots=True)
class TimePlan:
    """The times of a league file, parsed."""

    zone: tzinfo = UTC
    zone_name: str = "UTC"
    opens: datetime | None = None
    closes: datetime | None = None
    start: datetime | None = None
    freeze: datetime | RelativeFreeze | None = None
    round_times: tuple[RoundTime, ...] = ()
    rounds_each_time: int = 1
    quiet_hours: tuple[QuietHours, ...] = ()
    holidays: tuple[Holidays, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether no time is set, so that nothing ever waits for one."""
        dates = (self.opens, self.closes, self.start, self.freeze)
        return not (any(dates) or self.round_times or self.quiet_hours or self.holidays)

    @property
    def round_rule(self) -> str:
        """What decides when rounds are played, as text to compare."""
        times = sorted((one.minute, *sorted(one.days)) for one in self.round_times)
        return f"{times} x{self.rounds_each_time} {self.zone_name}" if times else ""

    def iter_round_times(self, since: datetime) -> Iterator[datetime]:
        """Yield the times at which a round may begin, from `since` on; none on holidays."""
        first = since.astimezone(self.zone).date() - timedelta(days=1)
        for number in range(MAX_DAYS_SEARCHED if self.round_times else 0):
            day = first + timedelta(days=number)
            if any(one.first <= day <= one.last for one in self.holidays):
                continue
            times = {self._at(day, one.minute) for one in self.round_times if day.weekday() in one.days}
            yield from (moment for moment in sorted(times) if moment >= since)

    def find_round_time(self, number: int, since: datetime) -> datetime | None:
        """The time of round `number` (from 1) if the first is played at the first round time from `since` on."""
        return next(islice(self.iter_round_times(since), (number - 1) // self.rounds_each_time, None), None)

    def find_quiet_end(self, moment: datetime) -> datetime | None:
        """When the quiet hours or holidays end in which a moment is; None if it is in none."""
        end = moment
        while later := [until for begin, until in self._iter_quiet_spans(end, 1) if begin <= end < until]:
            end = max(later)
            if end - moment > timedelta(days=MAX_DAYS_SEARCHED):
                break
        return end if end > moment else None

    def find_quiet_begin(self, moment: datetime) -> datetime | None:
        """When the next quiet hours or holidays begin after a moment; None without any within a week."""
        return min((begin for begin, _ in self._iter_quiet_spans(moment, 8) if begin > moment), default=None)

    def _iter_quiet_spans(self, moment: datetime, days: int) -> Iterator[tuple[datetime, datetime]]:
        """Yield the beginning and end of quiet hours from the day before a moment on, and of all holidays."""
        today = moment.astimezone(self.zone).date()
        for number in range(-1, days):
            day = today + timedelta(days=number)
            for hours in self.quiet_hours:
                if day.weekday() in hours.days:
                    yield self._at(day, hours.begin), self._at(day, hours.begin + hours.minutes)
        for free in self.holidays:
            yield self._at(free.first, 0), self._at(free.last, DAY_MINUTES)

    def _at(self, day: date, minute: int) -> datetime:
        """The moment of a local time; minutes beyond a day are on the next."""
        days, rest = divmod(minute, DAY_MINUTES)
        local = datetime.combine(day + timedelta(days=days), time(rest // 60, rest % 60), self.zone)
        return local.astimezone(UTC)

    def find_quiet_round(self) -> RoundTime | None:
        """A round time that lies in quiet hours, so that no round could begin; None if none does."""
        quiet = self._mark_quiet_minutes()
        for one in self.round_times:
            if any(quiet[day * DAY_MINUTES + one.minute] for day in one.days):
                return one
        return None

    @property
    def is_always_quiet(self) -> bool:
        """Whether quiet hours leave no minute of the week."""
        return all(self._mark_quiet_minutes())

    def _mark_quiet_minutes(self) -> bytearray:
        """For each minute of the week, whether it is in quiet hours."""
        quiet = bytearray(WEEK_MINUTES)
        for hours in self.quiet_hours:
            for day in hours.days:
                for minute in range(hours.minutes):
                    quiet[(day * DAY_MINUTES + hours.begin + minute) % WEEK_MINUTES] = 1
        return quiet

    def format_moment(self, moment: datetime, now: datetime | None = None) -> str:
        """Format a moment in the league's time zone: `Wed 28 Oct 2026, 18:00`; only what differs from `now`."""
        local = moment.astimezone(self.zone)
        today = now.astimezone(self.zone) if now else None
        clock = f"{local:%H:%M}"
        if today and today.date() == local.date():
            return clock
        year = "" if today and today.year == local.year else f" {local.year}"
        return f"{local:%a} {local.day} {local:%b}{year}, {clock}"


def format_minute(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"
