"""The form in which an organiser changes a league's times: what stands in its fields, and what is read from them.

Dates are local times of the league's zone, as browsers' fields have them. A date that wasn't touched keeps its text.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from agent_league.config.times import TimesConfig
from agent_league.errors import UserError
from agent_league.league.changed_times import BEFORE_START, TIME_LABELS
from agent_league.text import MAX_SENTENCE, capitalise, shorten

DATES = ("registration_opens", "registration_closes", "start")
LISTS = ("rounds", "quiet_hours", "holidays")
"""Fields with one entry a line."""
LOCAL_FORM = "%Y-%m-%dT%H:%M"
"""The value of a browser's field for a date with a time of day."""
HINTS = {
    "time_zone": "such as Europe/Berlin",
    "registration_opens": "empty: at once",
    "registration_closes": "empty: at the start",
    "start": "empty: when enough have come, or by the button",
    "rounds": "one a line, such as mon wed 18:00; empty: one after the other",
    "rounds_each_time": "how many are played at each of these times",
    "quiet_hours": "one a line, such as 22:00-07:00",
    "holidays": "one a line, such as 2026-12-24..2027-01-06",
    "freeze": "a date, or 24h before final, or 2 days before last stage",
}


def read_times_fields(times: TimesConfig, typed: Mapping[str, str], *, has_started: bool) -> list[dict[str, Any]]:
    """Read the fields of the form, with what was typed before in those that it names."""
    values = _format_values(times)
    return [
        {
            "name": name,
            "label": capitalise(label),
            "hint": HINTS[name],
            "kind": "date" if name in DATES else "list" if name in LISTS else "text",
            "value": typed.get(name, values[name]),
            "is_fixed": has_started and name in BEFORE_START,
        }
        for name, label in TIME_LABELS.items()
    ]


def parse_times_form(form: Mapping[str, str], times: TimesConfig) -> TimesConfig:
    """Read new times from a form; fields that it lacks stay as they are. Raises UserError with all that is wrong."""
    shown = _format_values(times)
    found: dict[str, Any] = times.model_dump()
    for name in TIME_LABELS:
        if name not in form or _join_lines(form[name]) == _join_lines(shown[name]):
            continue
        text = form[name].strip()
        found[name] = (
            _join_lines(text).splitlines() if name in LISTS else text or TimesConfig.model_fields[name].default
        )
    try:
        return TimesConfig.model_validate(found)
    except ValidationError as error:
        raise UserError("; ".join(_describe_problem(one) for one in error.errors())) from None


def _format_values(times: TimesConfig) -> dict[str, str]:
    plan = times.plan
    moments = dict(zip(DATES, (plan.opens, plan.closes, plan.start), strict=True))
    return {
        **{name: _format_moment(moments[name], times) for name in DATES},
        **{name: "\n".join(getattr(times, name)) for name in LISTS},
        "time_zone": times.time_zone,
        "rounds_each_time": str(times.rounds_each_time),
        "freeze": times.freeze or "",
    }


def _format_moment(moment: datetime | None, times: TimesConfig) -> str:
    return moment.astimezone(times.plan.zone).strftime(LOCAL_FORM) if moment else ""


def _join_lines(text: str) -> str:
    """A text with one kind of line end, and without empty lines."""
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


def _describe_problem(problem: Any) -> str:
    name = str(problem["loc"][0]) if problem["loc"] else ""
    sentence = str(problem["msg"]).removeprefix("Value error, ")
    return shorten(f"{TIME_LABELS.get(name, name)}: {sentence}" if name else sentence, MAX_SENTENCE)
