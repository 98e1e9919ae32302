"""Times that an organiser changes: they hold at once and after a restart, until the league file changes its own."""

import asyncio
import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from agent_league.config.times import TimesConfig
from agent_league.errors import Refusal
from agent_league.league.organiser_commands import OrganiserCommand
from agent_league.model.audit import OrganiserAction
from agent_league.model.events import FreezeChanged, LeagueStarted, QuietHoursChanged, RegistrationChanged, RoundStarted
from agent_league.storage.paths import DataPaths
from agent_league.testing.peers import utc_timestamp
from agent_league.testing.virtual_time import in_virtual_time
from tests.cli.leagues import Said, said
from tests.conftest import BOUND
from tests.league.office import Office, at_work
from tests.league.test_times import DAY, TimedOffice, seat, sleep_until
from tests.security.classroom import Classroom, classroom
from tests.serve.stage import serving, write_league


async def set_times(here: Office, reason: str = "the room is taken", **changed: Any) -> str:
    times = TimesConfig.model_validate({**here.manager.state.config.times.model_dump(), **changed})
    return await here.manager.carry_out(
        OrganiserCommand(OrganiserAction.SET_TIMES, reason=reason, who="Ada", times=times)
    )


@in_virtual_time
async def test_changed_times_hold_at_once_and_stand_in_the_audit_log(home: Path) -> None:
    term = TimedOffice(home, {"registration_closes": "2025-01-15 12:00", "start": "2025-01-15 18:00"})
    async with at_work(term.open()) as here:
        await seat(here)
        await sleep_until("15 11:30", term.clock)
        assert not here.manager.state.is_registration_open
        said = await set_times(
            here, registration_closes="2025-01-16 12:00", start="2025-01-17 18:00", rounds=["mon wed fri 18:00"]
        )
        assert said == (
            "times are changed: registration closes: Thu 16 Jan 2025, 12:00; start: Fri 17 Jan 2025, 18:00; "
            "rounds: mon wed fri 18:00."
        )
        entry = here.manager.state.audit_log[-1]
        assert (entry.who, entry.action, entry.reason) == ("Ada", "SET_TIMES", "the room is taken")
        assert entry.before["times"]["start"] == "2025-01-15 18:00"
        await asyncio.sleep(1)
        assert here.manager.state.is_registration_open
        await sleep_until("20 17:30", term.clock)  # a round waits for Wednesday, and is sent to Tuesday
        await set_times(here, rounds=["tue 19:00"], rounds_each_time=2)
        await asyncio.wait_for(here.manager.completed.wait(), 30 * DAY)
    assert [event.is_open for event in term.list_events(RegistrationChanged)] == [False, True, False]
    assert term.list_times(LeagueStarted) == ["17 17:00"]
    assert term.list_times(RoundStarted) == ["17 17:00", "20 17:00", "21 18:00"]


@in_virtual_time
async def test_a_restart_keeps_what_was_changed_last_by_the_organiser_or_in_the_file(home: Path) -> None:
    term = TimedOffice(home, {"start": "2025-01-15 18:00", "rounds": ["18:00"]})
    async with at_work(term.open()) as first:
        await seat(first)
        await set_times(first, start="2025-01-16 18:00")
    async with at_work(term.open(first)) as second:
        assert second.manager.state.config.times.start == "2025-01-16 18:00"
        await set_times(second, start="2025-01-17 18:00")
    async with at_work(term.open(second)) as third:
        assert third.manager.state.config.times.start == "2025-01-17 18:00"
    term.overrides["times.start"] = "2025-01-18 18:00"  # the file, edited after that
    async with at_work(term.open(third)) as fourth:
        await asyncio.sleep(1)
        assert fourth.manager.state.config.times.start == "2025-01-18 18:00"
    term.overrides["times.start"] = "2025-01-15 18:00"  # what the organiser had set is forgotten by then
    async with at_work(term.open(fourth)) as fifth:
        assert fifth.manager.state.config.times.start == "2025-01-15 18:00"
        await set_times(fifth, start="2025-01-19 18:00")
        await sleep_until("19 17:30", term.clock)
        assert term.list_times(LeagueStarted) == ["19 17:00"]
        await set_times(fifth, rounds=["20:00"])
    async with at_work(term.open(fifth)) as sixth:
        assert sixth.manager.state.config.times.rounds == ("20:00",), "after the start as well"


@in_virtual_time
async def test_quiet_hours_and_a_freeze_begin_and_end_as_they_are_changed(home: Path) -> None:
    term = TimedOffice(home, {})
    async with at_work(term.open()) as here:
        await seat(here)
        await set_times(here, start="2025-01-15 12:00", rounds=["12:00"], quiet_hours=["12:30-18:00"])
        await sleep_until("15 12:00", term.clock)
        assert here.manager.state.is_on_hold
        await set_times(here, quiet_hours=[], freeze="2025-01-15 14:00")
        await sleep_until("15 13:30", term.clock)
        assert not here.manager.state.is_on_hold
        assert here.manager.state.is_frozen
        await set_times(here, freeze="2025-01-16 09:00")
        assert not here.manager.state.is_frozen
        await sleep_until("16 08:30", term.clock)
        assert here.manager.state.is_frozen
    assert [event.is_quiet for event in term.list_events(QuietHoursChanged)] == [True, False]
    assert [event.is_frozen for event in term.list_events(FreezeChanged)] == [True, False, True]


@in_virtual_time
async def test_what_cannot_be_changed_is_refused_and_nothing_is_lost(home: Path) -> None:
    term = TimedOffice(home, {"start": "2025-01-15 18:00", "rounds": ["18:00"]})
    async with at_work(term.open()) as here:
        await seat(here)
        for changed, reason, sentence in (
            ({"start": "2025-01-15 10:00"}, "why not", "start: Wed 15 Jan 2025, 10:00 is over"),
            ({"start": "2025-01-16 18:00"}, " ", "missing: reason"),
            ({}, "why not", "nothing was changed"),
        ):
            with pytest.raises(Refusal, match=sentence):
                await set_times(here, reason, **changed)
        await sleep_until("15 17:01", term.clock)
        with pytest.raises(Refusal, match="the league has started"):
            await set_times(here, start="2025-01-16 18:00")
        assert here.manager.state.config.times.start == "2025-01-15 18:00"
        assert not here.manager.state.audit_log


async def run_times(room: Classroom, *options: str) -> Said:
    where = ("--home", room.home, "--manager", f"{room.visitor.base}/mcp")
    return await asyncio.to_thread(said, "admin", "times", *where, *options)


async def test_times_are_changed_from_the_command_line_by_the_rule_of_the_page(tmp_path: Path) -> None:
    async with classroom(tmp_path) as room:
        rounds = ("--set", "rounds=mon 18:00", "--set", "rounds=wed 18:00")
        zone = ("--set", "time_zone=Europe/Berlin", "--set", "start=2099-01-05 18:00")
        done = await run_times(room, *zone, *rounds, "--reason", "the room is taken")
        assert done.code == 0, done.err
        assert done.err.startswith("Times are changed: time zone: Europe/Berlin; start: Mon 5 Jan 2099, 18:00")
        times = room.manager.state.config.times
        assert (times.time_zone, times.start) == ("Europe/Berlin", "2099-01-05 18:00")
        assert times.rounds == ("mon 18:00", "wed 18:00")
        entry = room.manager.state.audit_log[-1]
        assert (entry.who, entry.action, entry.reason) == ("admin token", "SET_TIMES", "the room is taken")
        assert (await run_times(room, "--set", "rounds=", "--reason", "no times any more")).code == 0
        assert room.manager.state.config.times == times.model_copy(update={"rounds": ()})
        for refused, told in (
            (("--set", "start=2020-01-05 18:00"), "is over: choose a time to come"),
            (("--set", "start=soon"), "start: Input should be a date with a time of day"),
            (("--set", "start=2099-01-05T18:00"), "the times are as they were: nothing was changed"),
        ):
            assert told in (await run_times(room, *refused, "--reason", "x")).error
        assert len(room.manager.state.audit_log) == 2
        wrong = orjson.loads((await room.call("manage_league", await message_of(room, {"begin": "now"}))).text)
        assert "there is no time 'begin'; expected some of time_zone" in wrong["result"]["message"]


async def test_without_a_change_the_present_times_are_printed_as_they_are_set(tmp_path: Path) -> None:
    def read(*options: str) -> list[str]:
        shown = said("admin", "times", "--home", tmp_path, *options)
        assert shown.code == 0, shown.err
        return shown.out.splitlines()

    async with classroom(tmp_path) as room:
        changes = ["time_zone=Europe/Berlin", "start=2099-01-05T18:00", "rounds=mon 18:00", "rounds=wed 18:00"]
        typed = [part for change in changes for part in ("--set", change)]
        done = await run_times(room, *typed, "--reason", "the room is taken")
        assert done.code == 0, done.err
        lines = await asyncio.to_thread(read)
        assert set(changes) < set(lines)
        others = ("registration_opens=", "registration_closes=", "rounds_each_time=1", "quiet_hours=", "holidays=")
        assert set(lines) == {*changes, *others, "freeze="}
        elsewhere = await asyncio.to_thread(said, "admin", "times", "--home", tmp_path, "--manager", "localhost:1")
        assert "isn't conducted there; leave out --manager" in elsewhere.error
        assert len(room.manager.state.audit_log) == 1
    assert read() == lines, "of a league that is stopped"
    file = next((tmp_path / "config" / "leagues").glob(f"{room.league_id}.json"))
    file.write_text(json.dumps({**json.loads(file.read_text()), "times": {"quiet_hours": ["22:00-07:00"]}}))
    assert {"quiet_hours=22:00-07:00", "start="} < set(read()), "the file was changed later"


async def test_the_times_of_a_league_that_is_served_are_printed_by_its_address_too(home: Path) -> None:
    write_league(home, "spring", times={"start": "2099-01-05 18:00"})
    async with asyncio.timeout(BOUND), serving(home) as stage:
        address = f"{stage.root}/leagues/spring"
        where = ("admin", "times", "--home", home, "--manager", address)
        change = ("--set", "start=2099-01-06 18:00", "--reason", "the room is taken")
        changed = await asyncio.to_thread(said, *where, *change)
        assert changed.code == 0, changed.err
        shown = await asyncio.to_thread(said, *where)
    assert "start=2099-01-06T18:00" in shown.out.splitlines()
    assert "The times of spring; --set changes them:" in shown.err


def test_a_league_that_never_ran_has_the_times_of_its_file(home: Path) -> None:
    write_league(home, "spring", times={"start": "2099-01-05 18:00"})
    assert "start=2099-01-05T18:00" in said("admin", "times", "--home", home, "--league-id", "spring").out


async def message_of(room: Classroom, times: dict[str, str]) -> dict[str, Any]:
    token = DataPaths(room.home).admin_token_file(room.league_id).read_text().strip()
    return {
        "protocol": "league.v2",
        "message_type": "MANAGE_LEAGUE",
        "sender": "league_manager",
        "timestamp": utc_timestamp(),
        "conversation_id": "conv-times",
        "auth_token": token,
        "action": "SET_TIMES",
        "reason": "x",
        "times": times,
    }


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--reason", "x"), 'which? expected `league admin times --set start="2026-10-26 18:00" --reason'),
        (("--set", "start=2099-01-05 18:00"), "why? expected `league admin times --set start="),
        (("--set", "strat=2099-01-05 18:00", "--reason", "x"), "did you mean start?"),
        (("--set", "start=2099-01-05 18:00", "--set", "start=2099-01-06 18:00", "--reason", "x"), "it is set twice"),
        (("P01", "--set", "freeze=", "--reason", "x"), "takes no player"),
    ],
)
def test_what_is_typed_wrong_is_told(home: Path, options: tuple[str, ...], told: str) -> None:
    assert told in said("admin", "times", *options, "--home", home).error


def test_set_is_for_times_alone(home: Path) -> None:
    assert "--set is for times" in said("admin", "pause", "--set", "freeze=", "--home", home).error
