"""Organisers of a server with many leagues: who makes leagues, and in which they may do anything."""

import re
from pathlib import Path
from urllib.parse import urlencode

from agent_league.config.home import make_home
from agent_league.storage.access import TeamRow, create_key, hash_key
from agent_league.web.organiser.sessions import create_link
from tests.serve.stage import ServerStage, serving, write_league
from tests.web.serving import Reply

FORM = "application/x-www-form-urlencoded"
PUBLIC = {"network.public_url": "http://127.0.0.1/base"}


async def post_form(stage: ServerStage, path: str, cookie: str = "", **fields: str) -> Reply:
    headers = {"content_type": FORM, **({"cookie": cookie} if cookie else {})}
    return await stage.visitor.post(path, urlencode(fields).encode(), **headers)


async def sign_in(stage: ServerStage, league_id: str | None = None) -> str:
    prefix = f"/leagues/{league_id}" if league_id else ""
    key = create_link(stage.server.access, "Ada", league_id)
    assert (await stage.visitor.get(f"{prefix}/sign-in/{key}")).status == 200
    reply = await post_form(stage, f"{prefix}/sign-in/{key}")
    assert reply.status == 303, reply.text
    assert "; Path=/base/;" in reply.headers["set-cookie"], "one cookie for all leagues of the server"
    return reply.headers["set-cookie"].partition(";")[0]


def csrf_in(page: str) -> str:
    found = re.search(r'name="csrf" value="([0-9a-f]{64})"', page)
    assert found, page
    return found[1]


async def test_an_organiser_of_the_server_makes_leagues_and_organises_all(tmp_path: Path) -> None:
    make_home(tmp_path)
    write_league(tmp_path, "spring")
    async with serving(tmp_path, overrides=PUBLIC) as stage:
        wanted = {"league_id": "autumn", "game": "even_odd"}
        assert (await stage.visitor.post("/leagues", wanted)).status == 403, "a stranger"
        cookie = await sign_in(stage)
        index = (await stage.visitor.get("/", cookie=cookie)).text
        assert "signed in as Ada" in index
        assert "Ada" not in (await stage.visitor.get("/")).text
        csrf = csrf_in(index)
        assert (await stage.visitor.post("/leagues", wanted, cookie=cookie)).status == 403, "without its token"
        cross = {"cookie": cookie, "x_csrf_token": csrf, "origin": "https://evil.example"}
        assert (await stage.visitor.post("/leagues", wanted, **cross)).status == 403
        assert (await stage.visitor.post("/leagues", wanted, cookie=cookie, x_csrf_token=csrf)).status == 201
        for league in ("spring", "autumn"):
            page = (await stage.visitor.get(f"/leagues/{league}/organiser", cookie=cookie)).text
            done = await post_form(
                stage,
                f"/leagues/{league}/organiser",
                cookie,
                csrf=csrf_in(page),
                action="CLOSE_REGISTRATION",
                reason="x",
            )
            assert (done.status, done.headers["location"]) == (303, f"/base/leagues/{league}/organiser")
            assert not stage.manager(league).state.is_registration_open
            assert stage.manager(league).state.audit_log[-1].who == "Ada"
        assert (await post_form(stage, "/sign-out", cookie)).status == 403
        assert (await post_form(stage, "/sign-out", cookie, csrf=csrf)).status == 303
        assert (await stage.visitor.get("/leagues/spring/organiser", cookie=cookie)).status == 403
        assert (await stage.visitor.post("/leagues", {}, cookie=cookie, x_csrf_token=csrf)).status == 403


async def test_an_organiser_of_one_league_can_do_nothing_in_another(tmp_path: Path) -> None:
    make_home(tmp_path)
    for league in ("spring", "autumn"):
        write_league(tmp_path, league)
    async with serving(tmp_path, overrides=PUBLIC) as stage:
        cookie = await sign_in(stage, "spring")
        page = (await stage.visitor.get("/leagues/spring/organiser", cookie=cookie)).text
        csrf = csrf_in(page)
        assert (await stage.visitor.get("/leagues/autumn/organiser", cookie=cookie)).status == 403
        refused = await post_form(stage, "/leagues/autumn/organiser", cookie, csrf=csrf, action="CLOSE_REGISTRATION")
        assert refused.status == 403
        assert stage.manager("autumn").state.is_registration_open
        new = {"league_id": "third", "game": "even_odd"}
        assert (await stage.visitor.post("/leagues", new, cookie=cookie, x_csrf_token=csrf)).status == 403
        other = await post_form(stage, "/leagues/spring/organiser", cookie, csrf=csrf, action="CLOSE_REGISTRATION")
        assert other.status == 303


async def test_who_is_not_signed_in_is_told_by_a_page_and_a_program_by_a_sentence(tmp_path: Path) -> None:
    make_home(tmp_path)
    write_league(tmp_path, "spring")
    async with serving(tmp_path, overrides=PUBLIC) as stage:
        for path in ("/leagues/spring/organiser", "/leagues/spring/organiser/grades"):
            person = await stage.visitor.get(path, accept="text/html,*/*;q=0.8")
            program = await stage.visitor.get(path, accept="*/*")
            assert (person.status, program.status) == (403, 403)
            assert person.headers["content-type"].startswith("text/html")
            assert person.headers["cache-control"] == "no-store"
            assert "league admin invite NAME" in person.text
            assert "/static/base.css" in person.text
            assert program.text.startswith("Sign in with a link of your own")


async def test_a_key_of_one_league_is_none_in_another_and_the_house_referee_needs_none(tmp_path: Path) -> None:
    make_home(tmp_path)
    for league in ("spring", "autumn"):
        write_league(tmp_path, league)
    async with serving(tmp_path, overrides=PUBLIC) as stage:
        key = create_key()
        stage.server.access.write_teams([TeamRow("spring", "T01", "Red", key_sha256=hash_key(key))])
        assert (await stage.visitor.get(f"/leagues/spring/join/{key}")).status == 200
        assert (await stage.visitor.get(f"/leagues/autumn/join/{key}")).status == 403
        assert len(stage.manager("spring").state.roster.referees()) == 1
        page = (await stage.visitor.get(f"/leagues/spring/join/{key}")).text
        assert f"http://127.0.0.1/base/leagues/spring/join/{key}/mcp" in page
