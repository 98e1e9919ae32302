"""Teams that are signed in by the page of their key: what their cookie shows, to whom, and when it ends."""

import re
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import aiohttp
import pytest

from agent_league.storage.access import create_key, hash_key
from agent_league.web.team_sessions import MAX_SESSIONS_OF_TEAM, TeamSessions
from tests.league.office import MovableClock
from tests.security.classroom import Classroom, classroom
from tests.security.test_organisers import FORM
from tests.web.serving import Stream

PAGES = ("/", "/players", "/players/P01", "/schedule", "/referees", "/cross-table")


async def open_page(room: Classroom, key: str, cookie: str = "") -> str:
    """Open the page of a key; returns the cookie that it sets, or nothing."""
    reply = await room.visitor.get(f"/join/{key}", **({"cookie": cookie} if cookie else {}))
    assert reply.status == 200, reply.text
    return reply.headers.get("set-cookie", "").partition(";")[0]


async def test_a_team_of_a_league_for_members_sees_all_of_it_by_its_cookie_alone(tmp_path: Path) -> None:
    async with classroom(tmp_path, {"visibility": "members"}) as room:
        key = room.add_team("T01")
        await room.register("Alpha", key)
        reply = await room.visitor.get(f"/join/{key}")
        cookie = reply.headers["set-cookie"]
        assert re.fullmatch(
            r"league_team_[0-9a-f]{8}=[\w-]{43}; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict", cookie
        )
        assert key not in cookie
        assert reply.headers["referrer-policy"] == "no-referrer"
        own = cookie.partition(";")[0]
        assert await open_page(room, key, own) == "", "one session is enough"
        for path in PAGES:
            assert (await room.visitor.get(path)).status == 403, path
            shown = await room.visitor.get(path, cookie=own)
            assert shown.status == 200, path
            assert key not in shown.text
        assert "Alpha" in (await room.visitor.get("/players", cookie=own)).text
        for forged in (f"{own}x", own.partition("=")[0] + "=", own.replace("league_team_", "league_tame_")):
            assert (await room.visitor.get("/players", cookie=forged)).status == 403
        assert (await room.visitor.get("/players", cookie=f"{own}; {own}")).status == 403, "one was set by others"
        assert (await room.visitor.get("/organiser", cookie=own)).status == 403
        csrf = {"content_type": FORM, "cookie": own}
        assert (await room.visitor.post("/organiser", b"action=PAUSE", **csrf)).status == 403
        refused = await room.register("Beta")
        assert refused["status"] == "REJECTED", "a cookie lets nobody register"


async def test_a_session_ends_with_its_key_with_sign_out_and_with_its_stream(tmp_path: Path) -> None:
    async with classroom(tmp_path, {"visibility": "members"}) as room:
        key = room.add_team("T01")
        other = await open_page(room, room.add_team("T02"))
        first, second = await open_page(room, key), await open_page(room, key)
        assert first != second
        reply = await room.visitor.post(f"/join/{key}", b"action=sign_out", content_type=FORM, cookie=first)
        assert (reply.status, "Max-Age=0" in reply.headers["set-cookie"]) == (303, True)
        assert (await room.visitor.get("/", cookie=first)).status == 403, "a copy of it is worth nothing"
        assert (await room.visitor.get("/", cookie=second)).status == 200
        async with room.visitor.session.get(f"{room.visitor.base}/events", headers={"cookie": second}) as events:
            assert events.status == 200
            stream = Stream(events)
            assert await stream.next()
            await room.register("Alpha", key)
            assert await stream.next(), "it stays open"
            team = next(row for row in room.access.read_teams(room.league_id) if row.team_id == "T01")
            room.access.write_teams([replace(team, key_sha256=None)])
            assert (await room.visitor.get("/", cookie=second)).status == 403
            with suppress(aiohttp.ClientPayloadError):  # broken off
                while await stream.next():
                    pass
        room.access.write_teams([replace(team, key_sha256=hash_key(create_key()))])
        assert (await room.visitor.get("/", cookie=second)).status == 403, "a new key is another one"
        assert (await room.visitor.get("/", cookie=other)).status == 200


async def test_a_team_sees_its_own_name_on_all_pages_and_no_other(tmp_path: Path) -> None:
    async with classroom(tmp_path, {"visibility": "pseudonyms"}) as room:
        keys = [room.add_team(team_id) for team_id in ("T01", "T02")]
        for number, (name, key) in enumerate(zip(("Alpha", "Beta"), keys, strict=True)):
            await room.register(name, key, port=8101 + number)
        own = await open_page(room, keys[0])
        for path in ("/players", "/players/P01", "/players/P02"):
            assert not re.search("Alpha|Beta", (await room.visitor.get(path)).text), path
            shown = (await room.visitor.get(path, cookie=own)).text
            assert "Beta" not in shown, path
            assert path == "/players/P02" or "Alpha" in shown, path


async def test_a_league_that_hides_nothing_sets_no_cookie_and_referees_get_none(tmp_path: Path) -> None:
    async with classroom(tmp_path / "open") as room:
        assert await open_page(room, room.add_team("T01")) == ""
    async with classroom(tmp_path / "members", {"visibility": "members"}) as room:
        assert await open_page(room, room.add_team("referees", "referee")) == ""


async def test_sessions_last_twelve_hours_and_are_few(tmp_path: Path) -> None:
    async with classroom(tmp_path, {"visibility": "members"}) as room:
        clock = MovableClock()
        sessions = TeamSessions(room.league_id, room.access, "/leagues/spring/", is_secure=True, clock=clock)
        team = await room.manager.sign_up.find_team(room.add_team("T01"))
        assert team
        cookies = [await sessions.begin(team) for _ in range(MAX_SESSIONS_OF_TEAM + 1)]
        assert cookies[0].endswith("; HttpOnly; SameSite=Strict; Secure")
        assert "; Path=/leagues/spring/;" in cookies[0]
        scopes = [{"headers": [(b"cookie", one.partition(";")[0].encode())]} for one in cookies]
        assert [await sessions.find_team(scope) for scope in scopes[:2]] == [None, team]
        clock.offset = timedelta(hours=12)
        assert await sessions.find_team(scopes[1]) is None
        elsewhere = TeamSessions("autumn", room.access, "/leagues/autumn/")
        assert await elsewhere.find_team(scopes[-1]) is None


def find_in_files(folder: Path, secret: str) -> list[Path]:
    files = [file for file in folder.rglob("*") if file.is_file()]
    assert len(files) > 3
    return [file for file in files if secret.encode() in file.read_bytes()]


async def test_a_session_outlasts_a_restart_and_is_kept_as_a_hash(tmp_path: Path) -> None:
    async with classroom(tmp_path, {"visibility": "members"}) as room:
        key = room.add_team("T01")
        cookie = await open_page(room, key)
        secret = cookie.partition("=")[2]
    assert find_in_files(tmp_path, secret) == []
    async with classroom(tmp_path, {"visibility": "members"}) as room:
        assert (await room.visitor.get("/players", cookie=cookie)).status == 200
        assert (await room.visitor.get("/players")).status == 403
        await room.visitor.post(f"/join/{key}", b"action=sign_out", content_type=FORM, cookie=cookie)
    async with classroom(tmp_path, {"visibility": "members"}) as room:
        assert (await room.visitor.get("/players", cookie=cookie)).status == 403, "what has ended stays so"


@pytest.mark.parametrize("path", ["/join", "/join/", "/join/..", "/join/%2e%2e/players"])
async def test_a_path_that_is_no_key_signs_nobody_in(path: str, tmp_path: Path) -> None:
    async with classroom(tmp_path, {"visibility": "members"}) as room:
        reply = await room.visitor.get(path)
        assert (reply.status >= 400, "set-cookie" in reply.headers) == (True, False)
