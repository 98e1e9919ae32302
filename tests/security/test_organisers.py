"""Organisers under attack: links, cookies, forms of other sites, and the rights of another league."""

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlencode

import pytest

from agent_league.clock import SystemClock, format_utc
from agent_league.storage.access import OrganiserSecret, SecretKind, create_key, hash_key
from agent_league.web.organiser import forms
from agent_league.web.organiser.sessions import COOKIE_NAME, OrganiserSessions, create_link
from tests.league.office import MovableClock
from tests.security.classroom import Classroom, classroom
from tests.security.stage import files_in
from tests.web.serving import Reply, Stream

FORM = "application/x-www-form-urlencoded"


async def post(
    room: Classroom, path: str, cookie: str = "", fields: dict[str, str] | None = None, **headers: str
) -> Reply:
    named = {"content_type": FORM, **({"cookie": cookie} if cookie else {}), **headers}
    return await room.visitor.post(path, urlencode(fields or {}).encode(), **named)


async def sign_in(room: Classroom, name: str = "Ada", league_id: str | None = None) -> str:
    """The cookie of an organiser who has just signed in."""
    key = create_link(room.access, name, league_id)
    reply = await post(room, f"/sign-in/{key}")
    assert reply.status == 303, reply.text
    return reply.headers["set-cookie"].partition(";")[0]


async def csrf_of(room: Classroom, cookie: str) -> str:
    page = await room.visitor.get("/organiser", cookie=cookie)
    assert page.status == 200, page.text
    found = re.search(r'name="csrf" value="([0-9a-f]{64})"', page.text)
    assert found
    return found[1]


async def test_a_link_is_redeemed_by_its_button_and_once(tmp_path: Path) -> None:
    async with classroom(tmp_path) as room:
        key = create_link(room.access, "Ada", None)
        for method in ("GET", "HEAD", "GET"):
            preview = await room.visitor.get(f"/sign-in/{key}", method)
            assert preview.status == 200, "a preview doesn't use it up"
            assert "set-cookie" not in preview.headers
            assert key not in preview.text
        reply = await post(room, f"/sign-in/{key}")
        assert (reply.status, reply.headers["location"]) == (303, "/organiser")
        cookie = reply.headers["set-cookie"]
        assert re.fullmatch(rf"{COOKIE_NAME}=[\w-]{{43}}; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict", cookie), (
            cookie
        )
        again, unknown = await post(room, f"/sign-in/{key}"), await post(room, f"/sign-in/{create_key()}")
        assert (again.status, unknown.status) == (403, 403)
        assert again.text == unknown.text
        secret = cookie.partition("=")[2].partition(";")[0]
    kept = [
        path for path in files_in(tmp_path) if key.encode() in path.read_bytes() or secret.encode() in path.read_bytes()
    ]
    assert kept == [], "both are kept as hashes"


async def test_the_cookie_is_for_https_and_the_base_path_where_there_are_such(tmp_path: Path) -> None:
    public = {"network.public_url": "https://league.example/base"}
    async with classroom(tmp_path, public) as room:
        reply = await post(room, f"/sign-in/{create_link(room.access, 'Ada', None)}", host="league.example")
        assert (reply.status, reply.headers["location"]) == (303, "/base/organiser")
        assert "; Path=/base/;" in reply.headers["set-cookie"]
        assert reply.headers["set-cookie"].endswith("; Secure")


async def test_a_change_is_carried_out_once_and_stands_in_the_audit_log(tmp_path: Path) -> None:
    async with classroom(tmp_path) as room:
        cookie = await sign_in(room)
        csrf = await csrf_of(room, cookie)
        asked = {"csrf": csrf, "action": "CLOSE_REGISTRATION", "reason": "it is late"}
        reply = await post(room, "/organiser", cookie, asked, origin=room.visitor.base)
        assert (reply.status, reply.headers["location"]) == (303, "/organiser")
        assert not room.manager.state.is_registration_open
        entry = room.manager.state.audit_log[-1]
        assert (entry.who, entry.action, entry.reason) == ("Ada", "CLOSE_REGISTRATION", "it is late")
        page = await room.visitor.get("/organiser", cookie=cookie)
        assert "Registration is closed" in page.text
        assert "Registration is closed." in page.text
        refused = await post(room, "/organiser", cookie, {"csrf": csrf, "action": "PAUSE"})
        assert refused.status == 303
        assert 'class="notice refused"' in (await room.visitor.get("/organiser", cookie=cookie)).text
        assert len(room.manager.state.audit_log) == 1


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"csrf": ""}, 403),
        ({"csrf": "0" * 64}, 403),
        ({"csrf": "é"}, 403),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"sec_fetch_site": "cross-site"}, 403),
        ({"sec_fetch_site": "same-site"}, 403),
        ({"content_type": "text/plain"}, 415),
        ({"content_type": "application/json"}, 415),
        ({"cookie": ""}, 403),
        ({"cookie": f"{COOKIE_NAME}=forged"}, 403),
        ({"action": "NO_SUCH"}, 422),
        ({"reason": "x" * 20_000}, 413),
        ({"path": "/organiser/../organiser"}, None),
    ],
    ids=str,
)
async def test_a_form_of_another_site_or_without_its_token_changes_nothing(
    tmp_path: Path, change: dict[str, str], status: int | None
) -> None:
    async with classroom(tmp_path) as room:
        cookie = await sign_in(room)
        fields = {"csrf": await csrf_of(room, cookie), "action": "CLOSE_REGISTRATION", "reason": "x"}
        fields |= {name: value for name, value in change.items() if name in fields}
        headers = {name: value for name, value in change.items() if name not in (*fields, "cookie", "path")}
        path = change.get("path", "/organiser")
        reply = await post(room, path, change.get("cookie", cookie), fields, **headers)
        if status is not None:
            assert reply.status == status, reply.text
            assert room.manager.state.is_registration_open
            assert not room.manager.state.audit_log


async def test_a_cookie_ends_with_sign_out_revocation_expiry_and_is_of_one_league(tmp_path: Path) -> None:
    async with classroom(tmp_path) as room:
        signed_out, revoked = await sign_in(room, "Ada"), await sign_in(room, "Bob")
        other_league = await sign_in(room, "Cy", "another_league")
        csrf = await csrf_of(room, signed_out)
        assert (await post(room, "/organiser/sign-out", signed_out)).status == 403, "that too needs its token"
        gone = await post(room, "/organiser/sign-out", signed_out, {"csrf": csrf})
        assert gone.headers["set-cookie"].startswith(f"{COOKIE_NAME}=; Path=/; Max-Age=0")
        room.access.revoke_organiser("Bob")
        expired = "an-expired-session"
        past = format_utc(SystemClock().now() - timedelta(seconds=1))
        room.access.write_secret(OrganiserSecret(hash_key(expired), SecretKind.SESSION, "Dee", None, past))
        link = "a-link-is-no-session"
        soon = format_utc(SystemClock().now() + timedelta(hours=1))
        room.access.write_secret(OrganiserSecret(hash_key(link), SecretKind.LINK, "Dee", None, soon))
        bad = [signed_out, revoked, other_league, f"{COOKIE_NAME}={expired}", f"{COOKIE_NAME}={link}"]
        good = await sign_in(room, "Eve", room.league_id)
        bad.append(f"{good}; {good}")
        for cookie in bad:
            for path in ("/organiser", "/organiser/league.json", "/organiser/agents.csv"):
                assert (await room.visitor.get(path, cookie=cookie)).status == 403, (cookie, path)
            reply = await post(room, "/organiser", cookie, {"csrf": csrf, "action": "CLOSE_REGISTRATION"})
            assert reply.status == 403
        assert (await room.visitor.get("/organiser", cookie=good)).status == 200
        assert room.manager.state.is_registration_open


async def test_an_organiser_of_another_league_can_do_nothing_with_a_token_of_their_own(tmp_path: Path) -> None:
    async with classroom(tmp_path) as room:
        sessions = OrganiserSessions(room.access)
        cookie = await sign_in(room, "Cy", "another_league")
        scope = {"headers": [(b"cookie", cookie.encode())]}
        session = await sessions.find_session(scope)
        assert session is not None
        reply = await post(room, "/organiser", cookie, {"csrf": session.csrf_token, "action": "CLOSE_REGISTRATION"})
        assert (reply.status, "another league" in reply.text) == (403, True)
        assert room.manager.state.is_registration_open


async def test_a_session_lasts_twelve_hours_and_a_link_a_day(tmp_path: Path) -> None:
    async with classroom(tmp_path) as room:
        clock = MovableClock()
        sessions = OrganiserSessions(room.access, clock)
        early, late = create_link(room.access, "Ada", None), create_link(room.access, "Ada", None)
        cookie = await sessions.redeem_link(early)
        assert cookie is not None
        scope = {"headers": [(b"cookie", cookie.partition(";")[0].encode())]}
        for hours, lives in ((11.9, True), (12.1, False)):
            clock.offset = timedelta(hours=hours)
            assert (await sessions.find_session(scope) is not None) is lives
        for hours, lives in ((23.9, True), (24.1, False)):
            clock.offset = timedelta(hours=hours)
            assert await sessions.has_link(late) is lives
        assert await sessions.redeem_link(late) is None


async def test_the_page_shows_the_organiser_all_and_strangers_nothing(tmp_path: Path) -> None:
    async with classroom(tmp_path) as room:
        key = room.add_team("T01")
        room.add_team("T02")
        assert (await room.register("<b>Alpha</b>", key))["status"] == "ACCEPTED"
        cookie = await sign_in(room)
        page = (await room.visitor.get("/organiser", cookie=cookie)).text
        assert "&lt;b&gt;Alpha" in page
        assert "<b>Alpha" not in page
        assert "Team T01" in page
        assert "Not signed up yet" in page
        assert key not in page
        table = await room.visitor.get("/organiser/agents.csv", cookie=cookie)
        assert (table.status, table.headers["content-type"]) == (200, "text/csv; charset=utf-8")
        for path in ("/organiser", "/organiser/league.json"):
            stranger = await room.visitor.get(path)
            assert stranger.status == 403
            assert "Alpha" not in stranger.text


async def test_the_page_of_a_team_is_its_own(tmp_path: Path) -> None:
    async with classroom(tmp_path) as room:
        key, other = room.add_team("T01"), room.add_team("T02")
        before = await room.visitor.get(f"/join/{key}")
        assert (before.status, "No agent of your team has registered yet" in before.text) == (200, True)
        refused = await room.register("Alpha", key, game_types=["chess"])
        assert refused["status"] == "REJECTED"
        assert "Unsupported game type" in (await room.visitor.get(f"/join/{key}")).text
        await room.register("Alpha", key)
        await room.register("Alpha", key, version="1.1.0")
        page = await room.visitor.get(f"/join/{key}/")
        assert page.headers["referrer-policy"] == "no-referrer"
        assert "default-src 'none'" in page.headers["content-security-policy"]
        assert not re.search(r'(?:src|href)="(?:https?:)?//', page.text), "nothing foreign is loaded"
        for text in (
            "P01",
            "1.1.0",
            "Student of T01",
            f"{room.visitor.base.replace('127.0.0.1', 'localhost')}/join/{key}/mcp",
        ):
            assert text in page.text
        assert "Unsupported" not in page.text
        for path in (f"/join/{other}", "/", "/players/P01", "/players"):
            assert "Student of T01" not in (await room.visitor.get(path)).text
        rows = [row for row in room.access.read_teams(room.league_id) if row.team_id == "T01"]
        room.access.write_teams([replace(row, key_sha256=None) for row in rows])
        assert (await room.visitor.get(f"/join/{key}")).status == 403


async def test_times_are_changed_with_a_reason_and_a_refused_form_keeps_what_was_typed(tmp_path: Path) -> None:
    async with classroom(tmp_path) as room:
        cookie = await sign_in(room)
        csrf = await csrf_of(room, cookie)
        asked = {"csrf": csrf, "action": "SET_TIMES", "time_zone": "Europe/Berlin", "start": "2099-01-05T18:00"}
        wrong = {**asked, "reason": "exam", "rounds": "mon 18:00\r\n\r\nnow and then", "quiet_hours": "22:00-07:00"}
        await post(room, "/organiser", cookie, wrong)
        page = (await room.visitor.get("/organiser", cookie=cookie)).text
        assert "Rounds: Input should be a time of day such as" in page
        assert "now and then</textarea>" in page
        assert '<details id="change-times" open>' in page
        assert 'value="2099-01-05T18:00"' in page
        assert not room.manager.state.audit_log
        await post(room, "/organiser", cookie, asked)
        assert "Missing: reason" in (await room.visitor.get("/organiser", cookie=cookie)).text
        await post(room, "/organiser", cookie, {**asked, "reason": "exam", "rounds": "mon 18:00\r\nwed 18:00\r\n"})
        times = room.manager.state.config.times
        assert (times.time_zone, times.start) == ("Europe/Berlin", "2099-01-05T18:00")
        assert times.rounds == ("mon 18:00", "wed 18:00")
        entry = room.manager.state.audit_log[-1]
        assert (entry.who, entry.reason, entry.action) == ("Ada", "exam", "SET_TIMES")
        shown = (await room.visitor.get("/organiser", cookie=cookie)).text
        assert 'The league starts: <time datetime="2099-01-05T17:00:00Z"' in shown
        assert "start: Mon 5 Jan 2099, 18:00" in shown
        again = {"csrf": csrf, "action": "SET_TIMES", "reason": "moved", "freeze": "2099-01-04 12:00"}
        await post(room, "/organiser", cookie, again)
        assert room.manager.state.config.times == times.model_copy(update={"freeze": "2099-01-04 12:00"})


def upload(csrf: str, export: str, name: str = "export.csv") -> tuple[bytes, str]:
    """A form with a file, and its content type."""
    parts = (
        f'name="csrf"\r\n\r\n{csrf}',
        f'name="export"; filename="{name}"\r\ncontent-type: text/csv\r\n\r\n{export}',
    )
    body = "".join(f"--seam\r\ncontent-disposition: form-data; {part}\r\n" for part in parts)
    return f"{body}--seam--\r\n".encode(), "multipart/form-data; boundary=seam"


CANVAS = "Student,ID,SIS User ID,SIS Login ID,Section\n    Points Possible,,,,\n{rows}"


async def test_grades_are_downloaded_in_four_forms_by_the_league_s_organisers_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forms, "MAX_UPLOAD_BYTES", 10_000)
    async with classroom(tmp_path) as room:
        key = room.add_team("T01")
        room.add_team("T02")
        assert (await room.register("Alpha", key))["status"] == "ACCEPTED"
        cookie = await sign_in(room)
        csrf = await csrf_of(room, cookie)
        for file, heading in (
            ("grades.csv", '"student_id","name","email","team"'),
            ("grades-moodle.csv", '"ID number","Email address"'),
            ("grades-gradescope.csv", '"First Name","Last Name","SID"'),
        ):
            reply = await room.visitor.get(f"/organiser/{file}", cookie=cookie)
            assert (reply.status, reply.headers["content-type"]) == (200, "text/csv; charset=utf-8")
            assert reply.text.lstrip("\ufeff").startswith(heading)
            assert "s-T01" in reply.text
        sheet = (await room.visitor.get("/organiser/grades", cookie=cookie)).text
        assert "Student of T02" in sheet
        rows = "\n".join(f'"{name}",{number},{name},,A' for number, name in enumerate(("s-T01", "s-T09"), start=1))
        body, content_type = upload(csrf, CANVAS.format(rows=rows))
        reply = await room.visitor.post("/organiser/grades", body, cookie=cookie, content_type=content_type)
        assert (reply.status, reply.headers["location"]) == (303, "/organiser/grades")
        said = (await room.visitor.get("/organiser/grades", cookie=cookie)).text
        assert "In the export and not in the class: &#39;s-T09&#39;" in said
        filled = await room.visitor.get("/organiser/grades-canvas.csv", cookie=cookie)
        assert filled.text.splitlines()[2].startswith('"s-T01","1","s-T01","","A",0')
        bad, _ = upload(csrf, "a,b\n1,2\n")
        await room.visitor.post("/organiser/grades", bad, cookie=cookie, content_type=content_type)
        assert (
            "isn&#39;t a gradebook that Canvas exported"
            in (await room.visitor.get("/organiser/grades", cookie=cookie)).text
        )
        other = await sign_in(room, "Eve", "another_league")
        for (sent, _), status in ((upload("0" * 64, ""), 403), (upload(csrf, "x" * 10_000), 413)):
            reply = await room.visitor.post("/organiser/grades", sent, cookie=cookie, content_type=content_type)
            assert reply.status == status
        second = await sign_in(room, "Bob")
        assert (await room.visitor.get("/organiser/grades-canvas.csv", cookie=second)).status == 404, "it is Ada's"
        for path in ("grades", "grades.csv", "grades-moodle.csv", "grades-canvas.csv", "events"):
            for headers in ({}, {"cookie": other}):
                refused = await room.visitor.get(f"/organiser/{path}", **headers)
                assert refused.status == 403
                assert "s-T01" not in refused.text


async def test_the_stream_of_the_page_tells_news_and_ends_with_the_session(tmp_path: Path) -> None:
    async with classroom(tmp_path) as room:
        cookie = await sign_in(room)
        csrf = await csrf_of(room, cookie)
        page = (await room.visitor.get("/organiser", cookie=cookie)).text
        last = re.search(r'data-last="([^"]+)"', page)
        assert last
        async with room.visitor.session.get(
            f"{room.visitor.base}/organiser/events?since={last[1]}", headers={"cookie": cookie}
        ) as reply:
            stream = Stream(reply)
            assert (await room.register("Alpha"))["status"] == "ACCEPTED"
            news = await stream.next()
            assert news
            assert (bool(news.id), news.sections) == (True, {}), "what has changed is on the page alone"
            await post(room, "/organiser/sign-out", cookie, {"csrf": csrf})
            await room.register("Beta")
            assert await stream.next() is None
