"""The audit log: every command of an organiser that was carried out stands in it, and outlasts the manager."""

from pathlib import Path
from typing import get_args

import pytest

from agent_league.errors import Refusal
from agent_league.league.organiser_commands import OrganiserCommand
from agent_league.model.audit import AuditEntry, OrganiserAction
from agent_league.model.events import CommandCarriedOut
from agent_league.protocol.v2.league import LeagueAction
from tests.league.conftest import OfficeMaker
from tests.league.office import Office, at_work
from tests.league.test_resume import QUICK, Succession

OK = {"status": "ok"}


def lines(office: Office) -> list[tuple[str, str, str, str, str]]:
    return [
        (entry.who, entry.action, entry.target, entry.reason, entry.change) for entry in office.manager.state.audit_log
    ]


def test_the_protocol_names_every_action_but_the_start_which_has_a_method_and_times_which_have_a_page() -> None:
    assert {*get_args(LeagueAction), "START_LEAGUE"} == set(OrganiserAction)


async def test_a_command_leaves_who_what_why_and_what_changed(office: OfficeMaker) -> None:
    here = office()
    await here.seat_players(2)
    assert await here.manage("SUSPEND_PLAYER", "Agent 2", reason=" it floods the others ") == OK
    assert here.change == "P02 is suspended."
    assert await here.manage("CLOSE_REGISTRATION") == OK
    assert await here.manage("CLOSE_REGISTRATION") == OK
    assert lines(here) == [
        ("admin token", "SUSPEND_PLAYER", "P02", "it floods the others", "P02 is suspended"),
        ("admin token", "CLOSE_REGISTRATION", "", "", "registration is closed"),
        ("admin token", "CLOSE_REGISTRATION", "", "", "nothing changed: registration is closed already"),
    ]
    assert [entry.number for entry in here.manager.state.audit_log] == [1, 2, 3]
    told = [event.entry for event in here.events if isinstance(event, CommandCarriedOut)]
    assert told == here.manager.state.audit_log


async def test_a_command_that_is_refused_leaves_nothing(office: OfficeMaker) -> None:
    here = office()
    assert (await here.manage("PAUSE"))["message_type"] == "LEAGUE_ERROR"
    assert (await here.manage("SUSPEND_PLAYER"))["context"]["missing_fields"] == ["player_id"]
    assert (await here.manage("SUSPEND_PLAYER", "Nobody"))["error_code"] == "E005"
    with pytest.raises(Refusal):
        await here.manager.carry_out(OrganiserCommand(OrganiserAction.START_LEAGUE, who="Ada"))
    assert lines(here) == []


async def test_a_token_in_a_reason_is_redacted_and_a_long_one_refused(office: OfficeMaker) -> None:
    here = office()
    refused = await here.manage("CLOSE_REGISTRATION", reason="!" * 501)
    assert "501 characters long; expected at most 500" in refused["message"]
    assert here.manager.state.audit_log == []
    key = "http://localhost:8000/join/key-0123456789abcdefghijkl/mcp"
    said = f"the token {here.admin_token} and {key} leaked,\n\tsee\x1b[2J\u202email"
    await here.manage("CLOSE_REGISTRATION", reason=said)
    (entry,) = here.manager.state.audit_log
    assert here.admin_token not in entry.reason
    assert entry.reason.endswith("leaked, see\\x1b[2J\\u202email"), "one line, and nothing that a terminal would obey"
    assert "[key]" in entry.reason


async def test_the_log_outlasts_the_manager_and_goes_on_with_the_next_number(home: Path) -> None:
    succession = Succession(home, QUICK)
    async with at_work(succession.next()) as first:
        await first.seat_players(2)
        await first.seat_referee()
        await first.manager.carry_out(OrganiserCommand(OrganiserAction.CLOSE_REGISTRATION, reason="full", who="Ada"))
        kept = list(first.manager.state.audit_log)
    async with at_work(succession.next()) as second:
        assert second.manager.state.audit_log == kept
        assert kept[0].who == "Ada"
        assert await second.start() == OK
        assert [(one.number, one.action) for one in second.manager.state.audit_log] == [
            (1, "CLOSE_REGISTRATION"),
            (2, "START_LEAGUE"),
        ]
        await second.completed()


def test_an_entry_of_a_later_version_is_read_as_far_as_it_goes() -> None:
    entry = AuditEntry(3, "2025-01-15T12:00:00Z", "Ada", "PAUSE", change="the league is paused")
    assert AuditEntry.from_json({**entry.to_json(), "colour": "red"}) == entry
