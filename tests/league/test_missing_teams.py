"""A league with a roster says which teams are missing before it starts, in a terminal and on the organiser's page."""

import asyncio
import io
import re
from dataclasses import replace
from pathlib import Path

import pytest

from agent_league.cli.admin import AdminAction, admin
from agent_league.errors import LeagueFailed
from agent_league.league.missing_teams import describe_missing_teams, list_missing_teams
from agent_league.league.state import LeaguePhase
from tests.cli.leagues import Said, said
from tests.security.classroom import Classroom, classroom
from tests.security.test_organisers import csrf_of, post, sign_in


async def fill(room: Classroom) -> None:
    """Four teams: two have come, one is not reachable yet, one has not signed up; and one whose key was revoked."""
    for at, name in enumerate(("Ann", "Bob", "Cid"), start=1):
        key = room.add_team(f"T{at}")
        assert (await room.register(name, key, port=8100 + at))["status"] == "ACCEPTED"
    room.add_team("T4")
    room.add_team("T5")
    gone = next(row for row in room.access.read_teams(room.league_id) if row.team_id == "T5")
    room.access.write_teams([replace(gone, key_sha256=None)])
    assert (await room.register("Judge", role="referee", port=8001))["status"] == "ACCEPTED"
    room.manager.state.roster["P03"].is_reachable = False


def phase_of(room: Classroom) -> LeaguePhase:
    return room.manager.state.phase


async def run_start(room: Classroom, *options: str) -> Said:
    """`league admin start`, as a script runs it."""
    where = ("--home", room.home, "--manager", f"{room.visitor.base}/mcp")
    return await asyncio.to_thread(said, "admin", "start", *where, *options)


async def test_a_script_is_told_who_is_missing_and_starts_without_them_by_yes(tmp_path: Path) -> None:
    async with classroom(tmp_path, is_loopback_only=True) as room:
        await fill(room)
        refused = await run_start(room)
        assert (refused.code, refused.error) == (1, "teams of the roster are missing; start without them by --yes")
        assert "  Team T3: not reachable yet\n  Team T4: not signed up\n" in refused.err
        assert "T5" not in refused.err, "nobody expects a team whose key was revoked"
        assert phase_of(room) is LeaguePhase.REGISTRATION
        done = await run_start(room, "--yes")
        assert done.code == 0, done.err
        assert "Team T4: not signed up" in done.err
        assert done.err.endswith("has started.\n")
        assert phase_of(room) is LeaguePhase.RUNNING


async def test_without_missing_teams_nobody_is_asked(tmp_path: Path) -> None:
    async with classroom(tmp_path, is_loopback_only=True) as room:
        for at, name in enumerate(("Ann", "Bob"), start=1):
            await room.register(name, room.add_team(f"T{at}"), port=8100 + at)
        early = await run_start(room)
        assert "no referee is registered" in early.error, "what hinders every start comes first"
        await room.register("Judge", role="referee", port=8001)
        assert (await run_start(room)).code == 0


@pytest.mark.parametrize(("typed", "phase"), [("n\n", LeaguePhase.REGISTRATION), ("y\n", LeaguePhase.RUNNING)])
async def test_at_a_terminal_the_organiser_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str, phase: LeaguePhase
) -> None:
    keyboard = io.StringIO(typed)
    keyboard.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr("sys.stdin", keyboard)
    async with classroom(tmp_path, is_loopback_only=True) as room:
        await fill(room)
        starting = asyncio.to_thread(admin, AdminAction.START, manager=f"{room.visitor.base}/mcp", home=room.home)
        if phase is LeaguePhase.REGISTRATION:
            with pytest.raises(LeagueFailed, match="The league was not started"):
                await starting
        else:
            await starting
        assert phase_of(room) is phase


async def test_the_organiser_s_page_names_them_beside_a_box(tmp_path: Path) -> None:
    async with classroom(tmp_path, is_loopback_only=True) as room:
        await fill(room)
        cookie = await sign_in(room)
        csrf = await csrf_of(room, cookie)
        page = (await room.visitor.get("/organiser", cookie=cookie)).text
        told = "2 teams of the roster are missing (not reachable yet: Team T3; not signed up: Team T4)"
        assert re.search(rf'name="without_missing_teams" value="yes"> Start without them: .*{re.escape(told)}', page)
        await post(room, "/organiser", cookie, {"csrf": csrf, "action": "START_LEAGUE"})
        assert f"{told}; start without them by" in (await room.visitor.get("/organiser", cookie=cookie)).text
        assert phase_of(room) is LeaguePhase.REGISTRATION
        asked = {"csrf": csrf, "action": "START_LEAGUE", "without_missing_teams": "yes"}
        await post(room, "/organiser", cookie, asked)
        assert phase_of(room) is LeaguePhase.RUNNING


async def test_a_sentence_names_ten_teams_of_a_kind_and_counts_the_rest(tmp_path: Path) -> None:
    async with classroom(tmp_path) as room:
        for at in range(10, 22):
            room.add_team(f"T{at}")
        missing = list_missing_teams(room.manager.state, room.access.read_teams(room.league_id))
        told = describe_missing_teams(missing)
        assert told.startswith("12 teams of the roster are missing (not signed up: Team T10, ")
        assert told.endswith("Team T19 and 2 more)")
