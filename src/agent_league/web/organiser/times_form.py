"""The form in which an organiser changes a league's times: what stands in its fields.

`league/changed_times.py` writes the values and reads what was typed.
"""

from collections.abc import Mapping
from typing import Any

from agent_league.config.times import TimesConfig
from agent_league.league.changed_times import BEFORE_START, DATES, LISTS, TIME_LABELS, write_times
from agent_league.text import capitalise

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
    values = write_times(times)
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
