"""Times that an organiser changes: what is changed, whether it may be, and which times hold after a restart.

One rule: the later change holds. What the organiser has changed is kept with the season, together with the times of the
league file by then; once the file says something else, the file was changed later.
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

import orjson
from pydantic import ValidationError

from agent_league.config.times import TimesConfig
from agent_league.errors import ErrorCode, Refusal, UserError
from agent_league.league.league_times import TimeMark
from agent_league.model.time_plan import TimePlan
from agent_league.text import MAX_SENTENCE, shorten

TIME_LABELS = {
    "time_zone": "time zone",
    "registration_opens": "registration opens",
    "registration_closes": "registration closes",
    "start": "start",
    "rounds": "rounds",
    "rounds_each_time": "rounds each time",
    "quiet_hours": "quiet hours",
    "holidays": "holidays",
    "freeze": "freeze",
}
"""The words for each of the times, in the order of pages."""
DATES = ("registration_opens", "registration_closes", "start")
LISTS = ("rounds", "quiet_hours", "holidays")
"""Times with several entries."""
LOCAL_FORM = "%Y-%m-%dT%H:%M"
"""A date with a time of day, as browsers' fields have it."""
BEFORE_START = ("registration_opens", "registration_closes", "start")
"""Times that mean nothing once a league has started."""


def read_times(typed: Mapping[str, str], times: TimesConfig) -> TimesConfig:
    """Read new times from texts by name; those that aren't named stay as they are. Raises UserError.

    Lists have one entry a line. A date that is written as `write_times` does keeps the text that it has.
    """
    shown = write_times(times)
    found: dict[str, Any] = times.model_dump()
    for name in TIME_LABELS:
        if name not in typed or _join_lines(typed[name]) == _join_lines(shown[name]):
            continue
        text = typed[name].strip()
        found[name] = (
            _join_lines(text).splitlines() if name in LISTS else text or TimesConfig.model_fields[name].default
        )
    try:
        return TimesConfig.model_validate(found)
    except ValidationError as error:
        raise UserError("; ".join(_describe_problem(one) for one in error.errors())) from None


def write_times(times: TimesConfig) -> dict[str, str]:
    """Write all times as texts by name; dates are local times of the league's zone."""
    plan = times.plan
    moments = dict(zip(DATES, (plan.opens, plan.closes, plan.start), strict=True))
    return {
        **{name: _format_moment(moments[name], times) for name in DATES},
        **{name: "\n".join(getattr(times, name)) for name in LISTS},
        "time_zone": times.time_zone,
        "rounds_each_time": str(times.rounds_each_time),
        "freeze": times.freeze or "",
    }


def format_times(times: TimesConfig) -> str:
    """Write times as text to compare."""
    return orjson.dumps(times.model_dump(mode="json"), option=orjson.OPT_SORT_KEYS).decode()


def choose_times(of_file: TimesConfig, settings: Mapping[str, Any], marks: Mapping[str, str]) -> TimesConfig:
    """Return the times that hold at a start: those that the organiser has set, unless the league file changed since."""
    if marks.get(TimeMark.CHANGED) != format_times(of_file):
        return of_file
    return TimesConfig.model_validate_json(orjson.dumps(settings["times"]))


def list_changed_times(before: TimesConfig, after: TimesConfig) -> list[str]:
    """List the names of the times that differ."""
    return [name for name in TIME_LABELS if getattr(before, name) != getattr(after, name)]


def check_changed_times(times: TimesConfig, changed: Collection[str], now: datetime, *, has_started: bool) -> None:
    """Raise a Refusal if a time is changed that can't be any more, or to a moment that is over."""
    for name in changed:
        if has_started and name in BEFORE_START:
            raise _refuse(name, "the league has started, so it can't be changed any more")
        moment = _find_moment(times.plan, name)
        if moment is not None and moment <= now:
            planned = times.plan.format_moment(moment)
            raise _refuse(name, f"{planned} is over: choose a time to come, or do it now by its button or command")


def describe_changed_times(times: TimesConfig, changed: Collection[str]) -> str:
    """Say what is changed to what."""
    return "; ".join(f"{TIME_LABELS[name]}: {_describe_time(times, name)}" for name in changed)


def _describe_time(times: TimesConfig, name: str) -> str:
    moment = _find_moment(times.plan, name)
    if moment is not None:
        return times.plan.format_moment(moment)
    value = getattr(times, name)
    return ", ".join(value) or "none" if isinstance(value, tuple) else str(value) if value else "none"


def _find_moment(plan: TimePlan, name: str) -> datetime | None:
    moments = {
        "registration_opens": plan.opens,
        "registration_closes": plan.closes,
        "start": plan.start,
        "freeze": plan.freeze if isinstance(plan.freeze, datetime) else None,
    }
    return moments.get(name)


def _refuse(name: str, why: str) -> Refusal:
    return Refusal(ErrorCode.SERVICE_UNAVAILABLE, f"{TIME_LABELS[name]}: {why}")


def _format_moment(moment: datetime | None, times: TimesConfig) -> str:
    return moment.astimezone(times.plan.zone).strftime(LOCAL_FORM) if moment else ""


def _join_lines(text: str) -> str:
    """A text with one kind of line end, and without empty lines."""
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


def _describe_problem(problem: Any) -> str:
    name = str(problem["loc"][0]) if problem["loc"] else ""
    sentence = str(problem["msg"]).removeprefix("Value error, ")
    return shorten(f"{TIME_LABELS.get(name, name)}: {sentence}" if name else sentence, MAX_SENTENCE)
