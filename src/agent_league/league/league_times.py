"""The times of one league, and which of its steps were taken. Knows no clock; `timekeeper.py` acts.

Each step is taken once, and that it was is stored: so the organiser may undo it, and a restart doesn't repeat it.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum

from agent_league.league.agenda import RoundCount
from agent_league.model.time_plan import TimePlan

SaveMarks = Callable[[Mapping[str, str]], None]


class TimeMark(StrEnum):
    """What is remembered of a league's times; the value is the moment, or who did it."""

    OPENED = "opened"
    CLOSED = "closed"
    """With the time at which registration was to close: a league file that moves it opens registration again."""
    DELAYED = "delayed"
    """The start found too few agents; with its planned time."""
    ROUNDS = "rounds"
    """From when on rounds are counted: the moment, the first round, and the rule that held."""
    FROZEN = "frozen"
    CHANGED = "changed"
    """The organiser has changed the times; with those of the league file by then, which hold again once they change."""
    UNFROZEN = "unfrozen"
    """The organiser has ended a freeze: its time doesn't begin it again."""


class LeagueTimes:
    """When a league's steps are due, and what was done of them."""

    def __init__(self, plan: TimePlan, marks: Mapping[str, str], save_marks: SaveMarks) -> None:
        self.plan = plan
        self._marks = dict(marks)
        self._save_marks = save_marks
        self.quiet_until: datetime | None = None
        """The end of the quiet hours that it is now; None outside of them."""
        self.start_obstacle = ""
        """Why the league hasn't started though its time has come; empty before that."""
        self.called_round = 0
        """The round that the organiser has called before its time. Not stored: a round that has begun goes on."""
        self.round_ended_at: datetime | None = None
        """When the last round was over, if this manager conducted it."""

    def has_mark(self, mark: TimeMark) -> bool:
        return mark in self._marks

    def get_mark(self, mark: TimeMark) -> str | None:
        return self._marks.get(mark)

    def set_mark(self, mark: TimeMark, value: str | None) -> None:
        """Remember a step; None forgets it."""
        changed = {name: known for name, known in self._marks.items() if name != mark}
        if value is not None:
            changed[str(mark)] = value
        if changed != self._marks:
            self._marks = changed
            self._save_marks(dict(changed))

    @property
    def has_opened(self) -> bool:
        """Whether registration has been opened, by its time or by the organiser."""
        return self.plan.opens is None or self.has_mark(TimeMark.OPENED)

    @property
    def has_closed(self) -> bool:
        """Whether registration was closed at the time that holds now."""
        return self.plan.closes is not None and self.get_mark(TimeMark.CLOSED) == self.plan.closes.isoformat()

    @property
    def is_closing_moved(self) -> bool:
        """Whether registration was closed at a time that holds no more."""
        return self.has_mark(TimeMark.CLOSED) and not self.has_closed

    @property
    def round_count(self) -> RoundCount | None:
        """From when on rounds are counted; None before the start, and if the rule of the rounds has changed since."""
        since, _, rest = (self.get_mark(TimeMark.ROUNDS) or "").partition(" ")
        first, _, rule = rest.partition(" ")
        return RoundCount(datetime.fromisoformat(since), int(first)) if rule == self.plan.round_rule != "" else None

    def count_rounds(self, count: RoundCount) -> None:
        """Remember from when on rounds are counted."""
        self.set_mark(TimeMark.ROUNDS, f"{count.since.isoformat()} {count.first_round} {self.plan.round_rule}")
