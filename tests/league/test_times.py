"""Times of a league: steps are taken when they are due, on virtual time, over weeks and through restarts."""

import asyncio
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from agent_league.league.journal import run_inline
from agent_league.league.state import LeaguePhase
from agent_league.model.events import (
    Event,
    FreezeChanged,
    LeagueStarted,
    QuietHoursChanged,
    RegistrationChanged,
    RoundScheduled,
    RoundStarted,
    StartDelayed,
    StartedLate,
)
from agent_league.storage.memory import MemoryDatabase, MemoryStore
from agent_league.testing.virtual_time import VirtualClock, in_virtual_time
from tests.league.office import Office, at_work, open_office

BERLIN: dict[str, Any] = {"times.time_zone": "Europe/Berlin"}
DAY = 86_400.0
"""Virtual time begins on Wednesday, 15 January 2025, at 10:00 UTC, which is 11:00 in Berlin."""


class TimedOffice:
    """Managers of one league, one after the other, on virtual time."""

    def __init__(self, home: Path, times: dict[str, Any], players: int = 0, referees: int = 0) -> None:
        self._home, self._counts = home, (players, referees)
        self.overrides = {**BERLIN, **{f"times.{name}": value for name, value in times.items()}}
        self.clock = VirtualClock()
        self._database = MemoryDatabase()
        self.events: list[tuple[datetime, Event]] = []

    def open(self, office: Office | None = None) -> Office:
        """A manager, after another one with its network."""
        store = MemoryStore(self._database)
        network = office.network if office else None
        here = open_office(
            self._home,
            self.overrides,
            *self._counts,
            network=network,
            store=store,
            offload=run_inline,
            clock=self.clock,
        )
        here.manager.state.add_listener(lambda event: self.events.append((self.clock.now(), event)))
        return here

    def list_times(self, kind: type[Event]) -> list[str]:
        """When events of a kind happened, in UTC."""
        return [f"{at:%d %H:%M}" for at, event in self.events if isinstance(event, kind)]

    def list_events(self, kind: type[Any]) -> list[Any]:
        return [event for _, event in self.events if isinstance(event, kind)]


async def sleep_until(text: str, clock: VirtualClock) -> None:
    """Sleep until a time of January 2025, in UTC: `16 17:00`."""
    until = datetime.strptime(f"2025-01-{text} +0000", "%Y-%m-%d %H:%M %z")
    await asyncio.sleep((until - clock.now()).total_seconds())


async def seat(here: Office, players: int = 4) -> None:
    await here.seat_players(players)
    await here.seat_referee()


@in_virtual_time
async def test_a_league_opens_closes_starts_and_plays_each_round_at_its_time(home: Path) -> None:
    term = TimedOffice(
        home,
        {
            "registration_opens": "2025-01-15 12:00",
            "registration_closes": "2025-01-16 18:00",
            "start": "2025-01-17 18:00",
            "rounds": ["mon wed fri 18:00"],
        },
    )
    async with at_work(term.open()) as here:
        refused = await here.register("Too Early")
        assert refused["reason"] == "Registration closed"
        assert not here.manager.state.is_registration_open
        await sleep_until("15 11:00", term.clock)
        await asyncio.sleep(0)
        await seat(here)
        await sleep_until("16 17:01", term.clock)
        assert (await here.register("Too Late"))["reason"] == "Registration closed"
        await asyncio.wait_for(here.manager.completed.wait(), 30 * DAY)
    assert [event.is_open for event in term.list_events(RegistrationChanged)] == [True, False]
    assert term.list_times(RegistrationChanged) == ["15 11:00", "16 17:00"]
    assert term.list_times(LeagueStarted) == ["17 17:00"]
    assert term.list_times(RoundStarted) == ["17 17:00", "20 17:00", "22 17:00"]


@in_virtual_time
async def test_a_league_does_not_start_before_its_time_though_all_are_there(home: Path) -> None:
    term = TimedOffice(home, {"start": "2025-01-15 18:00"}, players=2, referees=1)
    async with at_work(term.open()) as here:
        await seat(here, 2)
        await sleep_until("15 16:59", term.clock)
        assert here.manager.state.phase is LeaguePhase.REGISTRATION
        await asyncio.wait_for(here.manager.completed.wait(), DAY)
    assert term.list_times(LeagueStarted) == ["15 17:00"]


@pytest.mark.parametrize(("start", "told"), [("2025-01-03 10:00", [True]), ("2025-01-20 10:00", [False])])
@in_virtual_time
async def test_of_times_that_are_over_only_what_holds_now_is_told(home: Path, start: str, told: list[bool]) -> None:
    over = {"registration_opens": "2025-01-01 10:00", "registration_closes": "2025-01-02 10:00", "start": start}
    term = TimedOffice(home, over)
    async with at_work(term.open()) as here:
        await asyncio.sleep(60)
        assert here.manager.state.is_registration_open == told[-1]
        assert [event.is_open for event in term.list_events(RegistrationChanged)] == told


@in_virtual_time
async def test_with_too_few_players_registration_goes_on_until_enough_are_there(
    home: Path,
) -> None:
    term = TimedOffice(home, {"registration_closes": "2025-01-15 17:00", "start": "2025-01-15 18:00"})
    async with at_work(term.open()) as here:
        await here.seat_players(1)
        await here.seat_referee()
        await sleep_until("15 16:30", term.clock)
        assert not here.manager.state.is_registration_open
        await sleep_until("15 17:30", term.clock)
        assert here.manager.state.is_registration_open
        (delayed,) = term.list_events(StartDelayed)
        assert delayed.why == "1 player is registered, at least 2 are needed"
        await here.seat_players(1, first=2)
        await asyncio.sleep(50)
        await here.seat_players(1, first=3)  # within the minute that others have, too
        await asyncio.wait_for(here.manager.completed.wait(), DAY)
        assert len(here.manager.state.standings()) == 3
    assert term.list_times(LeagueStarted) == ["15 17:31"]


@in_virtual_time
async def test_a_manager_that_was_down_at_the_start_starts_at_once_and_says_so(home: Path) -> None:
    term = TimedOffice(home, {"start": "2025-01-15 18:00"})
    async with at_work(term.open()) as first:
        await seat(first, 2)
    await sleep_until("15 19:05", term.clock)
    async with at_work(term.open(first)) as here:
        await asyncio.wait_for(here.manager.completed.wait(), DAY)
    assert term.list_times(LeagueStarted) == ["15 19:05"]
    (late,) = term.list_events(StartedLate)
    assert (late.planned, late.seconds) == ("Wed 15 Jan 2025, 18:00", 2 * 3600 + 300)


@in_virtual_time
async def test_a_round_that_was_missed_waits_for_the_next_round_time_and_is_caught_up_there(home: Path) -> None:
    term = TimedOffice(home, {"start": "2025-01-15 18:00", "rounds": ["18:00"]})
    async with at_work(term.open()) as first:
        await seat(first)
        await sleep_until("15 18:00", term.clock)
        assert first.manager.state.rounds_completed == 1
    await sleep_until("16 20:00", term.clock)  # round 2 was due at 17:00
    async with at_work(term.open(first)) as here:
        await asyncio.wait_for(here.manager.completed.wait(), 30 * DAY)
    assert term.list_times(RoundStarted) == ["15 17:00", "17 17:00", "17 17:00"]
    assert [(event.round_id, event.is_late) for event in term.list_events(RoundScheduled)] == [(2, False), (2, True)]


@in_virtual_time
async def test_a_round_that_has_just_missed_its_time_begins_at_once(home: Path) -> None:
    term = TimedOffice(home, {"start": "2025-01-15 18:00", "rounds": ["18:00"]})
    async with at_work(term.open()) as first:
        await seat(first)
        await sleep_until("15 18:00", term.clock)
    await sleep_until("16 17:40", term.clock)
    async with at_work(term.open(first)) as here:
        await asyncio.wait_for(here.manager.completed.wait(), 30 * DAY)
    assert term.list_times(RoundStarted) == ["15 17:00", "16 17:40", "17 17:00"]


@in_virtual_time
async def test_in_quiet_hours_no_match_begins(home: Path) -> None:
    term = TimedOffice(home, {"quiet_hours": ["22:00-07:00"]})
    async with at_work(term.open()) as here:
        await seat(here)
        await sleep_until("15 21:30", term.clock)
        await here.start()
        await asyncio.sleep(3600)
        assert here.manager.state.results == {}
        assert here.manager.state.is_on_hold
        await asyncio.wait_for(here.manager.completed.wait(), DAY)
    assert term.list_times(RoundStarted)[0] == "16 06:00"
    assert [event.is_quiet for event in term.list_events(QuietHoursChanged)] == [True, False]


@in_virtual_time
async def test_from_the_freeze_on_nobody_new_is_admitted_and_nobody_is_replaced(home: Path) -> None:
    term = TimedOffice(
        home, {"start": "2025-01-15 18:00", "rounds": ["18:00"], "freeze": "24h before final"}, players=2, referees=1
    )
    async with at_work(term.open()) as here:
        players = await here.seat_players(4)
        await here.seat_referee()
        await sleep_until("16 16:59", term.clock)
        assert not here.manager.state.is_frozen
        await sleep_until("16 17:01", term.clock)
        assert here.manager.state.is_frozen
        player = players[0]
        asked = {"name": player.name, "endpoint": player.endpoint, "token": player.token}
        changed = await here.register(**asked, version="2.0.0")
        assert changed["reason"] == "Registration closed"
        assert (await here.register(**asked))["status"] == "ACCEPTED"
    assert term.list_times(FreezeChanged) == ["16 17:00"]
    async with at_work(term.open(here)) as again:
        assert again.manager.state.is_frozen
        await asyncio.wait_for(again.manager.completed.wait(), 30 * DAY)
    assert term.list_times(FreezeChanged) == ["16 17:00"]


@in_virtual_time
async def test_the_organiser_may_open_start_and_pause_against_the_times(home: Path) -> None:
    term = TimedOffice(
        home, {"registration_opens": "2025-01-20 12:00", "start": "2025-01-21 18:00", "rounds": ["18:00"]}
    )
    async with at_work(term.open()) as here:
        assert await here.manage("OPEN_REGISTRATION") == {"status": "ok"}
        await seat(here)
        assert await here.start() == {"status": "ok"}
        await here.manage("PAUSE")
        await sleep_until("16 18:30", term.clock)
        await here.manage("RESUME")
        await asyncio.wait_for(here.manager.completed.wait(), 30 * DAY)
    assert term.list_times(RoundStarted) == ["17 17:00", "17 17:00", "17 17:00"]


@in_virtual_time
async def test_a_clock_that_jumps_is_noticed_within_seconds(home: Path) -> None:
    term = TimedOffice(home, {"start": "2025-01-20 18:00"})
    async with at_work(term.open()) as here:
        await seat(here, 2)
        await asyncio.sleep(100)
        term.clock.skew = 6 * DAY  # a laptop wakes up
        await asyncio.wait_for(here.manager.completed.wait(), 60)


@in_virtual_time
async def test_a_changed_league_file_moves_the_times_of_a_running_league(home: Path) -> None:
    term = TimedOffice(home, {"start": "2025-01-15 18:00", "rounds": ["18:00"]})
    async with at_work(term.open()) as first:
        await seat(first)
        await sleep_until("16 18:00", term.clock)
    term.overrides["times.rounds"] = ["mon 20:00"]
    async with at_work(term.open(first)) as here:
        await asyncio.wait_for(here.manager.completed.wait(), 30 * DAY)
    assert term.list_times(RoundStarted) == ["15 17:00", "16 17:00", "20 19:00"]


@in_virtual_time
async def test_a_closing_time_that_is_moved_opens_registration_again(home: Path) -> None:
    term = TimedOffice(home, {"registration_closes": "2025-01-15 18:00"})
    async with at_work(term.open()) as first:
        await sleep_until("15 18:00", term.clock)
        assert not first.manager.state.is_registration_open
    term.overrides["times.registration_closes"] = "2025-01-16 18:00"
    async with at_work(term.open(first)) as here:
        await asyncio.sleep(1)
        assert here.manager.state.is_registration_open
        await sleep_until("16 17:01", term.clock)
        assert not here.manager.state.is_registration_open


@in_virtual_time
async def test_the_organiser_may_call_a_round_before_its_time_and_end_a_freeze(home: Path) -> None:
    term = TimedOffice(home, {"start": "2025-01-15 18:00", "rounds": ["18:00"], "freeze": "2025-01-15 18:30"})
    async with at_work(term.open()) as here:
        await seat(here)
        assert (await here.manage("PLAY_ROUND"))["error_code"] == "E016"
        await sleep_until("15 18:00", term.clock)
        assert here.manager.state.is_frozen
        assert (await here.manage("UNFREEZE_AGENTS"))["status"] == "ok"
        assert await here.manage("PLAY_ROUND") == {"status": "ok"}
        assert here.manager.state.audit_log[-1].change == "round 2 begins before its time"
        await asyncio.sleep(120)
        assert not here.manager.state.is_frozen
        await asyncio.wait_for(here.manager.completed.wait(), 30 * DAY)
    assert term.list_times(RoundStarted) == ["15 17:00", "15 18:00", "17 17:00"]
