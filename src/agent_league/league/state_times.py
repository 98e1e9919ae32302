"""When a league admits, plays and rests: registration opened and closed, pauses, quiet hours, freeze, called rounds.

Reads no clock: the timekeeper asks for the steps that are due and has them taken. What a plan says is worked out by
`agenda.py`, and what was done by then is kept by `league_times.py`.
"""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from itertools import takewhile

from agent_league.config.times import TimesConfig
from agent_league.errors import ErrorCode, Refusal
from agent_league.league.agenda import StepKind, TimedFacts, TimedStep, count_rounds_from, list_steps
from agent_league.league.changed_times import (
    check_changed_times,
    describe_changed_times,
    format_times,
    list_changed_times,
)
from agent_league.league.league_times import TimeMark
from agent_league.league.projected_rounds import LastRounds, find_last_rounds
from agent_league.league.resume import FOLLOWED_SETTINGS
from agent_league.league.state_agents import LeagueAgents
from agent_league.league.state_record import LeaguePhase, LeagueSetup
from agent_league.model.events import (
    FreezeChanged,
    PauseChanged,
    QuietHoursChanged,
    RegistrationChanged,
    RoundCalled,
    StartDelayed,
    TimesChanged,
)
from agent_league.model.time_plan import RelativeFreeze


class LeagueTiming(LeagueAgents):
    """The times of a league, and the organiser's orders that go before them."""

    def __init__(self, setup: LeagueSetup) -> None:
        super().__init__(setup)
        self._last_rounds: tuple[tuple[int, int], LastRounds] | None = None

    def set_registration_open(self, *, is_open: bool) -> bool:
        """Open or close registration for new players; returns False if it was so already.

        Raises a Refusal once nobody may enter any more.
        """
        if not self.takes_late_players:
            self._require_phase(LeaguePhase.REGISTRATION)
        was_open = self._season_row.registration_open and self.times.has_opened
        if is_open:
            self.times.set_mark(TimeMark.OPENED, self.times.get_mark(TimeMark.OPENED) or "by the organiser")
        if is_open == was_open:
            return False
        self._update_season_row(registration_open=is_open)
        self.emit(RegistrationChanged(is_open))
        return True

    def open_at_its_time(self, now: datetime, *, closes_at_once: bool) -> None:
        """Open registration, as its time has come; one that the organiser has closed stays so.

        If it closes at once, as that time has come, too, nobody is told.
        """
        self.times.set_mark(TimeMark.OPENED, now.isoformat())
        if self._season_row.registration_open and not closes_at_once:
            self.emit(RegistrationChanged(is_open=True))

    def close_at_its_time(self, planned: datetime, *, stays_open: bool) -> None:
        """Close registration, as its time has come; the organiser may open it again.

        It stays open, and its time is over, if the league was to start by now and waits for players.
        """
        self.times.set_mark(TimeMark.CLOSED, planned.isoformat())
        if self._season_row.registration_open and not stays_open:
            self._update_season_row(registration_open=False)
            self.emit(RegistrationChanged(is_open=False))

    def reopen_registration(self) -> None:
        """Open registration that its time has closed: the time was moved, or too few came."""
        self.times.set_mark(TimeMark.CLOSED, None)
        if not self._season_row.registration_open:
            self._update_season_row(registration_open=True)
            self.emit(RegistrationChanged(is_open=True))

    def delay_start(self, why: str) -> None:
        """Note that the league can't start though its time has come; registration goes on if it was closed by time."""
        plan = self.times.plan
        if plan.start is None or why == self.times.start_obstacle:
            return
        if not self.times.has_mark(TimeMark.DELAYED):
            self.times.set_mark(TimeMark.DELAYED, plan.start.isoformat())
            if not self._season_row.registration_open and self.times.has_closed:
                self._update_season_row(registration_open=True)
                self.emit(RegistrationChanged(is_open=True))
        self.times.start_obstacle = why
        self.emit(StartDelayed(plan.format_moment(plan.start), why))

    def store_file_settings(self) -> None:
        """Store what follows the league file, such as times and name, if it has changed since the season was stored."""
        stored = self._season_row.settings
        told = self.config.model_dump(mode="json", include={"times", *FOLLOWED_SETTINGS})
        changed = {name: value for name, value in told.items() if stored.get(name, value) != value}
        if "times" in changed:
            self.times.set_mark(TimeMark.CHANGED, None)
        if changed:
            self._update_season_row(settings={**stored, **changed})

    def set_times(self, times: TimesConfig, now: datetime) -> str:
        """Replace the league's times; returns what is changed, as words. Raises a Refusal that changes nothing.

        They hold until the organiser changes them again, or the league file's own times are changed.
        """
        self._require_phase(LeaguePhase.REGISTRATION, LeaguePhase.RUNNING)
        before = self.config.times
        changed = list_changed_times(before, times)
        if not changed:
            raise Refusal(ErrorCode.SERVICE_UNAVAILABLE, "the times are as they were: nothing was changed")
        check_changed_times(times, changed, now, has_started=self.phase is not LeaguePhase.REGISTRATION)
        self._forget_steps(changed)
        if not self.times.has_mark(TimeMark.CHANGED):
            self.times.set_mark(TimeMark.CHANGED, format_times(before))
        self.times.plan = times.plan
        self.config = self.config.model_copy(update={"times": times})
        self._configs_by_protocol = {
            name: one.model_copy(update={"times": times}) for name, one in self._configs_by_protocol.items()
        }
        is_lasting = not times.plan.is_empty or self.config.ladder is not None
        self.roster.rules = replace(self.roster.rules, has_lasting_tokens=is_lasting)
        self._last_rounds = None
        settings = {**self._season_row.settings, "times": times.model_dump(mode="json")}
        self._update_season_row(settings=settings)
        said = describe_changed_times(times, changed)
        self.emit(TimesChanged(said))
        return said

    def _forget_steps(self, changed: Collection[str]) -> None:
        """Forget what was done at times that hold no more, so that it is done at the new ones."""
        if "registration_opens" in changed:
            self.times.set_mark(TimeMark.OPENED, None)
        if "start" in changed:
            self.times.set_mark(TimeMark.DELAYED, None)
            self.times.start_obstacle = ""
        if "freeze" in changed:
            was_frozen = self.is_frozen
            self.times.set_mark(TimeMark.FROZEN, None)
            self.times.set_mark(TimeMark.UNFROZEN, None)
            if was_frozen:
                self.emit(FreezeChanged(is_frozen=False))

    def set_paused(self, *, is_paused: bool) -> bool:
        """Pause or resume; running matches end and count. Returns False if it was so already.

        Raises a Refusal unless the league runs.
        """
        self._require_phase(LeaguePhase.RUNNING)
        if is_paused == self._season_row.paused:
            return False
        self._update_season_row(paused=is_paused)
        self.emit(PauseChanged(is_paused))
        self._emit_referee_wait()
        return True

    def set_quiet(self, until: datetime | None) -> None:
        """Begin the quiet hours that end at `until`, or end them (None)."""
        before, self.times.quiet_until = self.times.quiet_until, until
        if before != until:
            when = self.times.plan.format_moment(until) if until else ""
            self.emit(QuietHoursChanged(until is not None, when))
            self._emit_referee_wait()

    def set_frozen(self, *, is_frozen: bool, now: datetime) -> bool:
        """Forbid that agents are admitted or replaced, or allow it again; returns False if it was so already.

        Raises a Refusal after the end. What the organiser allows again isn't forbidden by the time of the freeze.
        """
        self._require_phase(LeaguePhase.REGISTRATION, LeaguePhase.RUNNING)
        if is_frozen == self.is_frozen:
            return False
        self.times.set_mark(TimeMark.FROZEN, now.isoformat() if is_frozen else None)
        self.times.set_mark(TimeMark.UNFROZEN, None if is_frozen else now.isoformat())
        self.emit(FreezeChanged(is_frozen))
        return True

    def count_rounds_from(self, now: datetime) -> None:
        """Count the rounds that have not begun by the round times from now on, unless they are counted already."""
        plan, rounds = self.times.plan, self.schedule.rounds[self.rounds_completed :]
        if plan.round_times and self.phase is LeaguePhase.RUNNING and self.times.round_count is None:
            begun = sum(1 for _ in takewhile(self.has_round_begun, rounds))
            self.times.count_rounds(count_rounds_from(plan, now, self.rounds_completed + begun + 1))

    def call_round(self, now: datetime) -> int:
        """Let the next round begin though its time has not come; returns its number. Raises a Refusal if none waits."""
        self._require_phase(LeaguePhase.RUNNING)
        waiting = next((step for step in self.list_timed_steps(now) if step.kind is StepKind.ROUND), None)
        if waiting is None:
            raise Refusal(ErrorCode.SERVICE_UNAVAILABLE, "no round waits for its time")
        self.times.called_round = waiting.round_id
        self.emit(RoundCalled(waiting.round_id))
        return waiting.round_id

    def list_timed_steps(self, now: datetime) -> list[TimedStep]:
        """List the steps that are due or to come at a time, the earliest first."""
        return list_steps(self.times.plan, self.collect_facts(), now)

    def collect_facts(self) -> TimedFacts:
        """How far the league is, as far as its times depend on it."""
        is_running = self.phase is LeaguePhase.RUNNING
        coming = self.schedule.rounds[self.rounds_completed :] if is_running else ()
        waits = bool(coming) and self.current_round == self.rounds_completed and not self.has_round_begun(coming[0])
        last = self._find_last_rounds()
        return TimedFacts(
            is_registering=self.phase is LeaguePhase.REGISTRATION,
            is_running=is_running,
            has_opened=self.times.has_opened,
            has_closed=self.times.has_closed,
            is_frozen=self.is_frozen or self.times.has_mark(TimeMark.UNFROZEN),
            round_count=self.times.round_count,
            next_round=coming[0].round_id if waits else None,
            round_ended_at=self.times.round_ended_at,
            last_round=last.last_round,
            last_stage_round=last.last_stage_round,
        )

    def _find_last_rounds(self) -> LastRounds:
        """Find the numbers of the last rounds, if a freeze is counted back from them; worked out once a round."""
        if not isinstance(self.times.plan.freeze, RelativeFreeze) or not self.schedule.rounds:
            return LastRounds()
        key = (len(self.schedule.rounds), self.rounds_completed)
        if self._last_rounds is None or self._last_rounds[0] != key:
            self._last_rounds = (key, find_last_rounds(self.format, self.tournament))
        return self._last_rounds[1]
