"""What is due in a league, and when: decided from its times, its state and `now`; reads no clock and changes nothing.

A round that has missed its time by up to an hour begins at once. One that is later waits for the next round time,
as players' agents may not be running in between; there, all rounds that are due are played one after the other.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from agent_league.model.time_plan import FreezeGoal, RelativeFreeze, TimePlan

MAX_LATENESS = timedelta(hours=1)
"""How late a round may begin without waiting for the next round time; how late a start counts as in time."""


class StepKind(StrEnum):
    """What happens by itself at a time."""

    OPEN = "open"
    CLOSE = "close"
    START = "start"
    ROUND = "round"
    FREEZE = "freeze"
    QUIET_END = "quiet_end"


@dataclass(frozen=True, slots=True)
class TimedStep:
    """A step that a league takes at a time."""

    kind: StepKind
    at: datetime
    round_id: int = 0


@dataclass(frozen=True, slots=True)
class RoundCount:
    """From when on the rounds of a league are counted by its round times."""

    since: datetime
    first_round: int = 1
    """The round that is played at the first of these times."""

    def find_planned_time(self, plan: TimePlan, number: int) -> datetime | None:
        """The time of a round by the plan, whatever has happened since."""
        return plan.find_round_time(max(number - self.first_round, 0) + 1, self.since)


@dataclass(frozen=True, slots=True)
class TimedFacts:
    """How far a league is, as far as its times depend on it."""

    is_registering: bool
    """Whether it has not started."""
    is_running: bool
    has_opened: bool = False
    """Whether registration was opened, by its time or by the organiser."""
    has_closed: bool = False
    """Whether registration was closed by its time."""
    is_frozen: bool = False
    round_count: RoundCount | None = None
    """None before the start, and without round times."""
    next_round: int | None = None
    """The round that has yet to begin; None if there is none, or if one is being played."""
    round_ended_at: datetime | None = None
    """When the last round was over; None before the first, and after a restart."""
    last_round: int | None = None
    """The number of the last round, as far as it can be known."""
    last_stage_round: int | None = None
    """The number of the first round of the last stage."""


def count_rounds_from(plan: TimePlan, now: datetime, next_round: int) -> RoundCount:
    """Begin to count rounds: from now on, or from the planned start if that is just over."""
    is_in_time = plan.start is not None and timedelta(0) <= now - plan.start <= MAX_LATENESS
    return RoundCount(plan.start if is_in_time and plan.start else now, next_round)


def find_round_begin(
    plan: TimePlan, count: RoundCount | None, number: int, now: datetime, round_ended_at: datetime | None = None
) -> datetime | None:
    """When a round begins that has not begun; None: at once."""
    if not plan.round_times or count is None:
        return None
    planned = count.find_planned_time(plan, number)
    if planned is None or planned > now:
        return planned
    if round_ended_at is not None and timedelta(0) <= now - round_ended_at <= MAX_LATENESS:
        return None  # the round before was played now, so everybody is there
    recent = plan.iter_round_times(max(planned, now - MAX_LATENESS))
    coming = next(recent, None)
    return None if coming is None or coming <= now else coming


def list_steps(plan: TimePlan, facts: TimedFacts, now: datetime) -> list[TimedStep]:
    """List the steps that are due or to come, the earliest first. A step that was taken is in it no more."""
    if plan.is_empty:
        return []
    return sorted(_iter_steps(plan, facts, now), key=lambda step: step.at)


def _iter_steps(plan: TimePlan, facts: TimedFacts, now: datetime) -> Iterator[TimedStep]:
    if facts.is_registering:
        if plan.opens and not facts.has_opened:
            yield TimedStep(StepKind.OPEN, plan.opens)
        if plan.closes and not facts.has_closed:
            yield TimedStep(StepKind.CLOSE, plan.closes)
        if plan.start:
            yield TimedStep(StepKind.START, plan.start)
    if facts.is_running and facts.next_round is not None:
        begin = find_round_begin(plan, facts.round_count, facts.next_round, now, facts.round_ended_at)
        if begin:
            yield TimedStep(StepKind.ROUND, begin, facts.next_round)
    if (facts.is_registering or facts.is_running) and not facts.is_frozen and (at := find_freeze(plan, facts, now)):
        yield TimedStep(StepKind.FREEZE, at)
    if facts.is_running and (end := plan.find_quiet_end(now)):
        yield TimedStep(StepKind.QUIET_END, end)


def find_freeze(plan: TimePlan, facts: TimedFacts, now: datetime) -> datetime | None:
    """When agents are frozen; None if never, or if that can't be known yet."""
    if not isinstance(plan.freeze, RelativeFreeze):
        return plan.freeze
    number = facts.last_stage_round if plan.freeze.goal is FreezeGoal.LAST_STAGE else facts.last_round
    if number is None or facts.round_count is None:
        return None
    planned = facts.round_count.find_planned_time(plan, number)
    if planned is None:
        return None
    if facts.next_round is not None and facts.next_round <= number:
        begin = find_round_begin(plan, facts.round_count, facts.next_round, now, facts.round_ended_at)
        planned = max(planned, begin or planned)
    return planned - plan.freeze.before


def find_wake_up(plan: TimePlan, steps: Sequence[TimedStep], now: datetime) -> datetime | None:
    """The next moment at which something is due or quiet hours begin; None if there is none."""
    moments = [step.at for step in steps if step.at > now]
    if begin := plan.find_quiet_begin(now):
        moments.append(begin)
    return min(moments, default=None)
