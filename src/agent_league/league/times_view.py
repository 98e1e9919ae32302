"""What comes next in a league by its times, in words and as JSON: the same on pages, at terminals and in exports."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from agent_league.clock import format_countdown, format_utc
from agent_league.league.agenda import StepKind, TimedFacts, TimedStep, list_steps
from agent_league.league.state import LeaguePhase, LeagueState
from agent_league.model.time_plan import TimePlan

FROZEN_SENTENCE = "Agents are frozen: no new one is admitted, and none is replaced"


@dataclass(frozen=True, slots=True)
class TimesView:
    """The times of a league as of a moment; empty for a league without times."""

    plan: TimePlan
    now: datetime
    steps: Sequence[TimedStep]
    """Those to come, the earliest first."""
    delay: str = ""
    """Why the league hasn't started though its time has come."""
    is_frozen: bool = False

    def list_sentences(self) -> list[str]:
        """Say why the league stands still, and what comes next, each with a countdown; without full stops."""
        frozen = [FROZEN_SENTENCE] if self.is_frozen else []
        return [*([self.delay] if self.delay else []), *map(self._describe_step, self.steps), *frozen]

    def to_json(self) -> dict[str, Any] | None:
        """The times as JSON; None for a league without any."""
        if self.plan.is_empty:
            return None
        steps = [
            {
                "kind": str(step.kind),
                "label": _label_step(step),
                "at": format_utc(step.at),
                "local": self.plan.format_moment(step.at, self.now),
                "countdown": format_countdown(step.at, self.now),
            }
            for step in self.steps
        ]
        return {
            "time_zone": self.plan.zone_name,
            "delay": self.delay,
            "is_frozen": self.is_frozen,
            "steps": steps,
        }

    def _describe_step(self, step: TimedStep) -> str:
        when, countdown = self.plan.format_moment(step.at, self.now), format_countdown(step.at, self.now)
        return f"{_label_step(step)} {when} ({countdown})"


def view_coming_league(plan: TimePlan, now: datetime) -> TimesView:
    """Look at the times of a league that has not started, by its file alone."""
    steps = list_steps(plan, TimedFacts(is_registering=True, is_running=False), now)
    return TimesView(plan, now, [step for step in steps if step.at > now])


def view_times(state: LeagueState, now: datetime) -> TimesView:
    """Look at the times of a league; steps that are being taken now are left out."""
    times = state.times
    steps = [] if times.plan.is_empty else [step for step in state.list_timed_steps(now) if step.at > now]
    return TimesView(times.plan, now, steps, _describe_delay(state), state.is_frozen and _is_unfinished(state))


def _describe_delay(state: LeagueState) -> str:
    times = state.times
    if state.phase is not LeaguePhase.REGISTRATION or not times.start_obstacle or times.plan.start is None:
        return ""
    planned = times.plan.format_moment(times.plan.start)
    waits = f"The league was to start on {planned}, and waits: {times.start_obstacle}"
    return f"{waits}. It starts a minute after that is mended"


def _is_unfinished(state: LeagueState) -> bool:
    return state.phase is not LeaguePhase.COMPLETED


def _label_step(step: TimedStep) -> str:
    """What happens at a step, to be followed by its time."""
    return {
        StepKind.OPEN: "Registration opens:",
        StepKind.CLOSE: "Registration closes:",
        StepKind.START: "The league starts:",
        StepKind.ROUND: f"Round {step.round_id} begins:",
        StepKind.FREEZE: "Agents are frozen:",
        StepKind.QUIET_END: "Quiet hours until",
    }[step.kind]
