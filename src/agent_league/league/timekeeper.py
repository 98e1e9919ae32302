"""Takes the steps of a league that are due at a time, and lets the conductor wait for the time of a round.

What is due is decided in `agenda.py`. The clock is read again every few seconds: after a suspended machine wakes up,
or a clock is set, waits by the event loop alone would last too long or be too short.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

from agent_league.clock import Clock
from agent_league.errors import LeagueFailed, Refusal
from agent_league.league.agenda import StepKind, TimedStep, find_round_begin, find_wake_up
from agent_league.league.league_times import TimeMark
from agent_league.league.state import LeaguePhase, LeagueState
from agent_league.log import JsonLogger
from agent_league.model.events import (
    AgentRegistered,
    AgentStateChanged,
    Event,
    LeagueStarted,
    PauseChanged,
    QuietHoursChanged,
    ReachabilityChanged,
    RegistrationChanged,
    RoundCalled,
    RoundCompleted,
    RoundScheduled,
    StartedLate,
    TimesChanged,
)
from agent_league.model.schedule import LeagueRound

MAX_SLEEP_SECONDS = 30.0
"""Longest time until the clock is read again."""
MIN_SLEEP_SECONDS = 0.01
LATE_START = timedelta(minutes=1)
"""From when on a start counts as late."""
GATHERING = timedelta(minutes=1)
"""How long a delayed start waits for others after enough agents are there."""


class Timekeeper:
    """Acts on the times of one league."""

    def __init__(self, state: LeagueState, clock: Clock, log: JsonLogger, start_league: Callable[[], None]) -> None:
        self._state = state
        self._clock = clock
        self._log = log
        self._start_league = start_league
        self._enough_since: datetime | None = None
        """Since when a delayed league could start."""
        self._changed = asyncio.Event()
        self._hold_changed = asyncio.Event()
        self._round_called = asyncio.Event()
        state.add_listener(self._handle_event)

    async def run(self) -> None:
        """Take every step when it is due, for ever."""
        while True:
            self._changed.clear()
            coming = self.take_due_steps()
            if self._state.times.plan.is_empty:
                await self._changed.wait()
            else:
                await self._sleep_until(self._find_wake_up(coming), self._changed)

    def take_due_steps(self) -> Sequence[TimedStep]:
        """Take all steps that are due now; return those that were due or are to come."""
        state, now = self._state, self._clock.now()
        plan = state.times.plan
        is_moved = state.times.is_closing_moved and (plan.closes is None or now < plan.closes)
        if state.phase is LeaguePhase.REGISTRATION and is_moved:
            state.reopen_registration()
        if plan.is_empty:
            state.set_quiet(None)
            return ()
        state.count_rounds_from(now)
        steps = state.list_timed_steps(now)
        due = [step for step in steps if step.at <= now]
        for step in due:
            self._take_step(step, now, {one.kind for one in due})
        state.set_quiet(plan.find_quiet_end(now) if state.phase is LeaguePhase.RUNNING else None)
        return steps

    async def wait_for_round(self, round_: LeagueRound) -> None:
        """Wait until a round may begin: at its time, while the league is not on hold. One that has begun goes on."""
        state, scheduled = self._state, None
        self.take_due_steps()
        while not state.times.plan.is_empty:
            while state.is_on_hold:
                self._hold_changed.clear()
                await self._hold_changed.wait()
            now = self._clock.now()
            state.count_rounds_from(now)  # anew if the organiser has changed the times of rounds
            begin = self._find_begin(round_, now)
            if begin is None:
                return
            if begin != scheduled:
                scheduled = begin
                self._announce_time(round_, begin)
            self._round_called.clear()
            await self._sleep_until(begin, self._round_called)

    def _find_begin(self, round_: LeagueRound, now: datetime) -> datetime | None:
        times = self._state.times
        if self._state.has_round_begun(round_) or times.called_round == round_.round_id:
            return None
        return find_round_begin(times.plan, times.round_count, round_.round_id, now, times.round_ended_at)

    def _announce_time(self, round_: LeagueRound, begin: datetime) -> None:
        plan, count = self._state.times.plan, self._state.times.round_count
        planned = count.find_planned_time(plan, round_.round_id) if count else None
        is_late = planned is not None and planned < begin
        self._state.emit(RoundScheduled(round_.round_id, plan.format_moment(begin), is_late))

    def _take_step(self, step: TimedStep, now: datetime, due: Collection[StepKind]) -> None:
        """Take a step; what another one that is `due` undoes at once is told to nobody."""
        match step.kind:
            case StepKind.OPEN:
                self._state.open_at_its_time(now, closes_at_once=self._will_close(due))
            case StepKind.CLOSE:
                self._state.close_at_its_time(step.at, stays_open=not self._will_close(due))
            case StepKind.START:
                self._start_when_possible(step.at, now)
            case StepKind.FREEZE:
                self._state.set_frozen(is_frozen=True, now=now)
            case StepKind.ROUND | StepKind.QUIET_END:
                pass  # the conductor waits for rounds, and quiet hours are looked at each time

    def _will_close(self, due: Collection[StepKind]) -> bool:
        """Whether the steps that are due close registration; a start that has to wait opens it again."""
        is_first_start = StepKind.START in due and not self._state.times.has_mark(TimeMark.DELAYED)
        return StepKind.CLOSE in due and not (is_first_start and self._state.find_start_obstacle() is not None)

    def _start_when_possible(self, planned: datetime, now: datetime) -> None:
        """Start the league, or say why it can't; a delayed start gives others a minute to come, too."""
        state = self._state
        problem = state.find_start_obstacle()
        is_delayed = state.times.has_mark(TimeMark.DELAYED)
        if problem is None and is_delayed:
            self._enough_since = min(self._enough_since or now, now)
            if now - self._enough_since < GATHERING:
                return
        if problem is None:
            try:
                self._start_league()
            except (Refusal, LeagueFailed) as error:
                problem = str(error)
        if problem is not None:
            self._enough_since = None
            self._log.warning("start_delayed", why=problem)
            state.delay_start(problem)
        elif now - planned > LATE_START and not is_delayed:
            state.emit(StartedLate(state.times.plan.format_moment(planned), int((now - planned).total_seconds())))

    def _find_wake_up(self, coming: Sequence[TimedStep]) -> datetime | None:
        now = self._clock.now()
        wake_up = find_wake_up(self._state.times.plan, coming, now)
        moments = [wake_up, self._enough_since + GATHERING if self._enough_since else None]
        return min((at for at in moments if at and at > now), default=None)

    async def _sleep_until(self, moment: datetime | None, changed: asyncio.Event) -> None:
        """Sleep until a moment by the clock, or until `changed` is set; ends early if the clock is set back."""
        last = self._clock.now()
        while moment is None or last < moment:
            left = MAX_SLEEP_SECONDS if moment is None else (moment - last).total_seconds()
            seconds = max(min(left, MAX_SLEEP_SECONDS), MIN_SLEEP_SECONDS)
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await changed.wait()
                    return
            if (now := self._clock.now()) < last:
                return
            last = now

    def _handle_event(self, event: Event) -> None:
        match event:
            case RoundCompleted():
                self._state.times.round_ended_at = self._clock.now()
                self._changed.set()
            case RoundCalled():
                self._round_called.set()
            case TimesChanged():
                self._enough_since = None
                self._round_called.set()
                self._hold_changed.set()
                self._changed.set()
            case PauseChanged() | QuietHoursChanged():
                self._hold_changed.set()
                self._changed.set()
            case (
                AgentRegistered()
                | ReachabilityChanged()
                | RegistrationChanged()
                | AgentStateChanged()
                | LeagueStarted()
            ):
                self._changed.set()
            case _:
                pass
