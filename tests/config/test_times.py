"""`times` of a league file: what is written, what it means across changes of the clock, and what is refused."""

import json
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from agent_league.config import ConfigLoader
from agent_league.config.times import TimesConfig, parse_days
from agent_league.errors import ConfigError
from agent_league.league.agenda import (
    MAX_LATENESS,
    RoundCount,
    StepKind,
    TimedFacts,
    count_rounds_from,
    find_round_begin,
    list_steps,
)
from agent_league.model.time_plan import FreezeGoal, RelativeFreeze, TimePlan

BERLIN = "Europe/Berlin"


def plan(**times: Any) -> TimePlan:
    return TimesConfig(time_zone=BERLIN, **times).plan


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def list_rounds(found: TimePlan, since: str, count: int = 3) -> list[str]:
    return [f"{moment:%m-%d %H:%M}" for moment in islice(found.iter_round_times(utc(since)), count)]


@pytest.mark.parametrize(
    ("times", "setting", "problem"),
    [
        ({"time_zone": "Europe/Berln"}, "times.time_zone", "did you mean Europe/Berlin"),
        ({"time_zone": "../../etc/passwd"}, "times.time_zone", "a time zone such as"),
        ({"registration_opens": "2026-10-27"}, "times.registration_opens", "a date with a time of day"),
        ({"start": "tomorrow 18:00"}, "times.start", "a date with a time of day"),
        ({"start": "2026-02-30 18:00"}, "times.start", "a date with a time of day"),
        ({"rounds": ["18"]}, "times.rounds.0", "a time of day such as"),
        ({"rounds": ["24:00"]}, "times.rounds.0", "a time of day such as"),
        ({"rounds": ["mn 18:00"]}, "times.rounds.0", "mon, tue, wed"),
        ({"rounds_each_time": 0}, "times.rounds_each_time", "greater than or equal to 1"),
        ({"quiet_hours": ["22:00"]}, "times.quiet_hours.0", "hours of the day"),
        ({"quiet_hours": ["22:00-22:00"]}, "times.quiet_hours.0", "hours of the day"),
        ({"holidays": ["24 Dec"]}, "times.holidays.0", "days such as"),
        ({"holidays": ["2026-12-24..2026-12-20"]}, "times.holidays.0", "the last is before the first"),
        ({"freeze": "soon"}, "times.freeze", "24h before final"),
        (
            {"registration_opens": "2026-10-27 18:00", "registration_closes": "2026-10-27 17:00"},
            "times",
            "registration_closes should be after registration_opens",
        ),
        (
            {"registration_closes": "2026-10-27 18:00", "start": "2026-10-27 17:59"},
            "times",
            "start should not be before registration_closes",
        ),
        (
            {"registration_opens": "2026-10-27 18:00", "start": "2026-10-27 17:00"},
            "times",
            "start should be after registration_opens",
        ),
        (
            {"registration_closes": "2026-10-27 18:00", "freeze": "2026-10-26 18:00"},
            "times",
            "freeze should not be before registration closes",
        ),
        ({"freeze": "24h before final"}, "times", "rounds should say when rounds are played"),
        ({"quiet_hours": ["00:00-12:00", "12:00-24:00"]}, "times", "leave some time"),
        ({"rounds": ["sat 01:00"], "quiet_hours": ["fri 22:00-07:00"]}, "times", "in quiet_hours, and 01:00 does"),
        ({"rounds": ["18:00"], "holidays": ["2026-01-01..2060-01-01"]}, "times", "leave some day"),
        ({"strat": "2026-10-27 18:00"}, "times.strat", "no such setting"),
    ],
)
def test_times_that_cannot_work_are_refused_with_a_sentence(
    home: Path, times: dict[str, Any], setting: str, problem: str
) -> None:
    file = home / "config" / "leagues" / "league_2025_even_odd.json"
    league = file.read_text().rstrip().removesuffix("}")
    file.write_text(f'{league}, "times": {json.dumps(times)}}}')
    with pytest.raises(ConfigError) as raised:
        ConfigLoader(home).load_league()
    assert f"{setting}: " in str(raised.value)
    assert problem in str(raised.value)


def test_days_are_names_lists_and_ranges() -> None:
    assert parse_days("") == frozenset(range(7))
    assert parse_days("mon, Wed friday") == {0, 2, 4}
    assert parse_days("fri-mon") == {4, 5, 6, 0}


def test_a_local_time_follows_the_clock_through_summer_and_winter() -> None:
    found = plan(rounds=["18:00"])
    assert list_rounds(found, "2026-10-24 12:00") == ["10-24 16:00", "10-25 17:00", "10-26 17:00"]


def test_a_time_that_the_clock_skips_is_as_much_later_and_one_that_comes_twice_is_the_first() -> None:
    found = plan(rounds=["02:30"])
    assert list_rounds(found, "2027-03-27 00:00") == ["03-27 01:30", "03-28 01:30", "03-29 00:30"]  # 03:30 on the 28th
    assert list_rounds(found, "2026-10-24 00:00") == ["10-24 00:30", "10-25 00:30", "10-26 01:30"]
    assert plan(start="2027-03-28 02:30").start == plan(start="2027-03-28 03:30").start


def test_an_offset_is_stronger_than_the_zone() -> None:
    assert plan(start="2026-10-27T18:00:00Z").start == utc("2026-10-27 18:00")
    assert plan(start="2026-10-27T18:00-05:00").start == utc("2026-10-27 23:00")


def test_quiet_hours_go_over_midnight_and_holidays_join_them() -> None:
    found = plan(quiet_hours=["22:00-07:00"], holidays=["2026-12-24..2026-12-26"])
    assert found.find_quiet_end(utc("2026-11-02 22:00")) == utc("2026-11-03 06:00")
    assert found.find_quiet_end(utc("2026-11-02 12:00")) is None
    assert found.find_quiet_end(utc("2026-12-23 21:30")) == utc("2026-12-27 06:00")
    assert found.find_quiet_begin(utc("2026-11-02 12:00")) == utc("2026-11-02 21:00")
    assert found.find_quiet_end(utc("2026-10-24 23:00")) == utc("2026-10-25 06:00")  # the night of 25 hours


def test_rounds_skip_holidays() -> None:
    found = plan(rounds=["mon fri 18:00"], holidays=["2026-12-24..2027-01-06"])
    assert list_rounds(found, "2026-12-21 00:00") == ["12-21 17:00", "01-08 17:00", "01-11 17:00"]


def test_the_forms_of_a_freeze() -> None:
    rounds = {"rounds": ["18:00"]}
    assert plan(freeze="2 days before the last stage", **rounds).freeze == RelativeFreeze(
        timedelta(days=2), FreezeGoal.LAST_STAGE
    )
    assert plan(freeze="90 min before last round", **rounds).freeze == RelativeFreeze(
        timedelta(minutes=90), FreezeGoal.FINAL
    )
    assert plan(freeze="2026-12-01 12:00").freeze == utc("2026-12-01 11:00")


SINCE = utc("2026-11-02 17:00")
"""A Monday, at the time of a round."""


@pytest.mark.parametrize(
    ("number", "now", "ended", "begin"),
    [
        (1, "2026-11-02 17:00", None, None),
        (2, "2026-11-02 17:10", "2026-11-02 17:05", "2026-11-03 17:00"),
        (2, "2026-11-03 17:59", None, None),
        (2, "2026-11-03 18:01", None, "2026-11-04 17:00"),
        (2, "2026-11-05 09:00", None, "2026-11-05 17:00"),
        (2, "2026-11-05 17:00", None, None),
        (3, "2026-11-05 20:00", "2026-11-05 19:55", None),
        (3, "2026-11-05 20:00", "2026-11-05 18:55", "2026-11-06 17:00"),
        (9, "2026-11-05 20:00", "2026-11-05 19:55", "2026-11-10 17:00"),
    ],
)
def test_when_a_round_begins(number: int, now: str, ended: str | None, begin: str | None) -> None:
    found = find_round_begin(plan(rounds=["18:00"]), RoundCount(SINCE), number, utc(now), utc(ended) if ended else None)
    assert found == (utc(begin) if begin else None)


def test_several_rounds_at_each_time() -> None:
    twice = plan(rounds=["18:00"], rounds_each_time=2)
    assert [RoundCount(SINCE).find_planned_time(twice, number) for number in (1, 2, 3)] == [
        SINCE,
        SINCE,
        SINCE + timedelta(days=1),
    ]


def test_rounds_are_counted_from_the_planned_start_unless_the_league_starts_much_later() -> None:
    found = plan(start="2026-11-02 18:00", rounds=["18:00"])
    assert count_rounds_from(found, SINCE + MAX_LATENESS, 1).since == SINCE
    late = SINCE + MAX_LATENESS + timedelta(seconds=1)
    assert count_rounds_from(found, late, 1).since == late


def test_steps_come_in_order_and_are_listed_until_they_are_taken() -> None:
    found = plan(
        registration_opens="2026-10-12 08:00", registration_closes="2026-10-25 23:59", start="2026-10-26 18:00"
    )
    before = TimedFacts(is_registering=True, is_running=False)
    assert [step.kind for step in list_steps(found, before, utc("2026-10-30 00:00"))] == [
        StepKind.OPEN,
        StepKind.CLOSE,
        StepKind.START,
    ]
    opened = TimedFacts(is_registering=True, is_running=False, has_opened=True, has_closed=True)
    assert [step.kind for step in list_steps(found, opened, utc("2026-10-30 00:00"))] == [StepKind.START]
    assert list_steps(TimesConfig().plan, before, utc("2026-10-30 00:00")) == []
