"""A server of many leagues: each below its own path, and what happens to one happens to no other."""

import asyncio
import json
import re
import sqlite3
from concurrent.futures import wait
from contextlib import AsyncExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from agent_league.cli.serve import lock_home, lock_store
from agent_league.config import ConfigLoader
from agent_league.errors import UserError
from agent_league.launch.league_start import find_running_leagues, lock_league, start_new_league
from agent_league.league.app import LeagueManager
from agent_league.league.organiser_commands import OrganiserCommand
from agent_league.league.state import LeaguePhase
from agent_league.model.audit import OrganiserAction
from agent_league.serve import league_server
from agent_league.serve.league_files import request_new_season
from agent_league.serve.league_server import ServerSettings
from agent_league.serve.served_league import LeagueHealth, ServedLeague
from tests.conftest import BOUND
from tests.serve.stage import players, serving, until, write_league

LINKS = re.compile(r'(?:href|src|action|data-events)="([^"]*)"')
NO_PAGES = ("/leagues/autumn/static/", "/leagues/autumn/events")
DEFAULT_LEAGUE = "league_2025_even_odd"


@pytest.fixture(autouse=True)
def _quick_scans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(league_server, "SCAN_SECONDS", 0.02)


async def test_several_leagues_are_played_at_once_each_below_its_path_and_all_links_stay_there(home: Path) -> None:
    write_league(home, "spring", participants={"start_with": 2})
    write_league(home, "autumn", game_type="tic_tac_toe", participants={"start_with": 4})
    async with asyncio.timeout(BOUND), serving(home) as stage, AsyncExitStack() as playing:
        for league_id, count in (("spring", 2), ("autumn", 4)):
            names = [f"{league_id} {number}" for number in range(count)]
            await playing.enter_async_context(players(home, f"{stage.root}/leagues/{league_id}/mcp", names))
        await stage.wait_for_end("spring")
        await stage.wait_for_end("autumn")
        assert [len(stage.manager(name).state.results) for name in ("spring", "autumn")] == [1, 6]
        index = await stage.visitor.get("/")
        assert index.status == 200
        assert re.findall(r'<h3><a href="([^"]+)"', index.text) == [
            f"/leagues/{DEFAULT_LEAGUE}/",
            "/leagues/autumn/",
            "/leagues/spring/",
        ]
        seen = set()
        todo = {"/leagues/autumn/"}
        while todo:
            page = todo.pop()
            seen.add(page)
            reply = await stage.visitor.get(page)
            assert reply.status == 200, page
            linked = {link.partition("#")[0] for link in LINKS.findall(reply.text)} - {""}
            outside = {link for link in linked if not link.startswith("/leagues/autumn/")}
            assert outside <= {"/"}, page
            todo |= {link for link in linked - seen - outside if not link.startswith(NO_PAGES)}
        assert "/leagues/autumn/matches/R1M1" in seen
        assert "/leagues/autumn/players/P01" in seen
        assert (await stage.visitor.get("/leagues/autumn")).headers["location"] == "/leagues/autumn/"
        assert (await stage.visitor.get("/leagues/autumn/schedule/")).headers["location"] == "/leagues/autumn/schedule"
        assert json.loads((await stage.visitor.get("/leagues/autumn/health")).text)["league_id"] == "autumn"
        assert 'league_phase{phase="COMPLETED"} 1.0' in (await stage.visitor.get("/leagues/autumn/metrics")).text
        referee = await stage.visitor.get("/leagues/autumn/house/REF01/health")
        assert json.loads(referee.text)["role"] == "referee"


async def test_an_earlier_season_stands_in_the_archive_with_its_match_files(home: Path) -> None:
    write_league(home, "spring", participants={"start_with": 2})
    async with asyncio.timeout(BOUND), serving(home) as stage:
        address = f"{stage.root}/leagues/spring/mcp"
        assert (await stage.visitor.post("/seasons", {"league_id": "spring"})).status == 409
        async with players(home, address, ["Ann", "Bob"]):
            await stage.wait_for_end("spring")
        begun = await stage.visitor.post("/seasons", {"league_id": "spring"})
        assert (begun.status, json.loads(begun.text)["path"]) == (201, "/leagues/spring/")
        assert stage.manager("spring").state.phase is LeaguePhase.REGISTRATION
        archive = await stage.visitor.get("/archive")
        (season,) = re.findall(r'<h3><a href="(/archive/\d+/)"', archive.text)
        assert re.search("Won by (Ann|Bob)", archive.text)
        overview = await stage.visitor.get(season)
        assert "Ann" in overview.text
        assert {link.partition("#")[0] for link in LINKS.findall(overview.text)} >= {"/", f"{season}schedule"}
        match = await stage.visitor.get(f"{season}matches/R1M1")
        assert (match.status, "GAME_INVITATION" in match.text) == (200, True)
        assert (await stage.visitor.get("/archive/999/")).status == 404
        assert (await stage.visitor.get("/archive/..%2f/")).status == 404
        request_new_season(home, "spring")
        earlier = stage.manager("spring")
        await until(lambda: stage.server.leagues["spring"].manager not in (None, earlier))


async def test_a_server_that_is_started_again_goes_on_with_every_league_and_its_house_referee(home: Path) -> None:
    write_league(home, "spring", participants={"start_with": 3})
    async with asyncio.timeout(BOUND), serving(home) as stage:
        async with players(home, f"{stage.root}/leagues/spring/mcp", ["Ann", "Bob"]):
            await until(lambda: stage.manager("spring").state.eligible_player_count == 2)
        referees = [one.token_sha256 for one in stage.manager("spring").state.roster if one.agent_id == "REF01"]
        assert referees
    async with asyncio.timeout(BOUND), serving(home) as again:  # at another port
        state = again.manager("spring").state
        assert [one.display_name for one in state.roster.players().values()] == ["Ann", "Bob"]
        referee = state.roster["REF01"]
        await until(lambda: referee.agent.endpoint.startswith(f"{again.root}/"))
        assert [*state.roster.referees()] == ["REF01"]
        async with players(home, f"{again.root}/leagues/spring/mcp", ["Cleo"]):
            await until(lambda: state.phase is not LeaguePhase.REGISTRATION)


async def test_league_files_are_followed_while_the_server_runs(home: Path) -> None:
    async with asyncio.timeout(BOUND), serving(home) as stage:
        leagues = stage.server.leagues
        assert [*leagues] == [DEFAULT_LEAGUE]
        path = write_league(home, "late", game_type="chess")
        await until(lambda: "late" in leagues and leagues["late"].health is LeagueHealth.FAILED)
        assert "config/leagues/late.json: game_type: no game 'chess' is installed" in leagues["late"].problem
        page = await stage.visitor.get("/")
        assert "no game &#39;chess&#39; is installed" in page.text
        assert str(home) not in page.text
        refused = await stage.visitor.post("/leagues/late/mcp", {})
        assert (refused.status, "can't be served now" in refused.text) == (503, True)
        write_league(home, "late", display_name="Late League")
        await until(lambda: leagues["late"].health is LeagueHealth.SERVED)
        write_league(home, "late", display_name="Later League")
        await until(lambda: "Later League" in leagues["late"].title)
        path.unlink()
        await until(lambda: "late" not in leagues)
        assert (await stage.visitor.get("/leagues/late/")).status == 404


async def test_a_server_that_stops_waits_for_a_league_whose_file_is_gone(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_league(home, "late")
    run, stop = LeagueManager.run, ServedLeague.stop
    leaving, may_end, ended, stops = asyncio.Event(), asyncio.Event(), asyncio.Event(), []

    async def end_slowly(manager: LeagueManager) -> None:
        try:
            await run(manager)
        finally:
            if manager.state.league_id == "late":
                leaving.set()
                await may_end.wait()
                ended.set()

    async def note_stop(league: ServedLeague) -> None:
        stops.append(league.league_id)
        if stops.count("late") > 1:
            may_end.set()
        await stop(league)

    monkeypatch.setattr(LeagueManager, "run", end_slowly)
    monkeypatch.setattr(ServedLeague, "stop", note_stop)
    async with asyncio.timeout(BOUND), serving(home):
        path.unlink()
        await leaving.wait()
    assert ended.is_set()


async def test_a_season_that_is_put_aside_while_its_file_changes_leaves_one_manager(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_league(home, "spring", participants={"start_with": 2})
    async with asyncio.timeout(BOUND), serving(home) as stage:
        async with players(home, f"{stage.root}/leagues/spring/mcp", ["Ada", "Bob"]):
            await stage.wait_for_end("spring")
        loop = asyncio.get_running_loop()

        def begin_while_scanned(*told: Any) -> None:
            write_league(home, "spring", display_name="Again")
            scan = asyncio.run_coroutine_threadsafe(stage.server.follow_files(), loop)
            wait([scan], timeout=0.5)  # time enough for a scan that doesn't wait for us
            start_new_league(*told)

        monkeypatch.setattr(league_server, "start_new_league", begin_while_scanned)
        await stage.server.begin_season("spring")
        spring = stage.server.leagues["spring"]
        await until(lambda: spring.health is LeagueHealth.SERVED and "Again" in spring.title)
    log = (home / "logs/system/server.log.jsonl").read_text()
    assert "being conducted already" not in log


async def test_a_folder_that_can_t_be_read_ends_no_league(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with asyncio.timeout(BOUND), serving(home) as stage:
        scans = 0

        def fail(_: Path) -> dict[str, Any]:
            nonlocal scans
            scans += 1
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(league_server, "list_league_files", fail)
        await until(lambda: scans >= 2)
        assert stage.server.leagues[DEFAULT_LEAGUE].health is LeagueHealth.SERVED
        assert (await stage.visitor.get("/health")).status == 200


async def test_a_league_that_fails_harms_no_other_and_is_started_again(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_league(home, "broken")
    run = LeagueManager.run
    crashes = 0

    async def crash(manager: LeagueManager) -> None:
        nonlocal crashes
        if manager.state.league_id == "broken" and crashes < 2:
            crashes += 1
            raise ZeroDivisionError("a bug")
        await run(manager)

    monkeypatch.setattr(LeagueManager, "run", crash)
    async with asyncio.timeout(BOUND), serving(home) as stage:
        broken, other = stage.server.leagues["broken"], stage.server.leagues[DEFAULT_LEAGUE]
        await until(lambda: broken.starts == 3 and broken.health is LeagueHealth.SERVED)
        assert (crashes, other.starts, other.health) == (2, 1, LeagueHealth.SERVED)
    log = (home / "logs/system/server.log.jsonl").read_text()
    assert "ZeroDivisionError" in log


async def test_damaged_rows_and_a_league_that_another_process_conducts_are_told_of_those_leagues_alone(
    home: Path,
) -> None:
    write_league(home, "damaged")
    write_league(home, "elsewhere")
    async with asyncio.timeout(BOUND), serving(home):
        pass
    with closing(sqlite3.connect(home / "data/league.db")) as database, database:
        database.execute("UPDATE seasons SET signing_key = 'x' WHERE league_id = 'damaged'")
    with lock_league(home, "elsewhere", "http://localhost:1/mcp"):
        async with asyncio.timeout(BOUND), serving(home) as stage:
            leagues = stage.server.leagues
            assert leagues[DEFAULT_LEAGUE].health is LeagueHealth.SERVED
            assert "damaged" in leagues["damaged"].problem
            assert "conducted already, by the League Manager at http://localhost:1/mcp" in leagues["elsewhere"].problem
            metrics = (await stage.visitor.get("/metrics")).text
            assert 'agent_league_server_leagues{status="failed"} 2.0' in metrics
            assert f'agent_league_server_league_starts_total{{league="{DEFAULT_LEAGUE}"}} 1.0' in metrics
            health = json.loads((await stage.visitor.get("/health")).text)
            assert (health["status"], health["failed"]) == ("ok", ["damaged", "elsewhere"])


async def test_who_asks_the_server_itself_for_a_manager_is_told_the_leagues_addresses(home: Path) -> None:
    write_league(home, "practice", ladder={"house_bots": []})
    async with asyncio.timeout(BOUND), serving(home) as stage:
        reply = await stage.visitor.post("/mcp", {"jsonrpc": "2.0", "method": "register_player", "id": 1})
        assert reply.status == 404
        both = ", ".join(f"{stage.root}/leagues/{name}/mcp" for name in (DEFAULT_LEAGUE, "practice"))
        assert f"These can be joined: {both}." in reply.text, "a practice ladder is always open"
        lost = await stage.visitor.post(f"/join/{'key-' + 'a' * 26}/mcp", {"jsonrpc": "2.0", "method": "x", "id": 1})
        assert (lost.status, lost.text) == (404, reply.text), "a sign-up address without its league"
        assert find_running_leagues(home)[DEFAULT_LEAGUE] == f"{stage.root}/leagues/{DEFAULT_LEAGUE}/mcp"
        assert (await stage.visitor.get("/leagues/..%2f..%2fetc/")).status == 404
        assert (await stage.visitor.get("/nowhere", accept="text/html")).text.startswith("<!doctype html>")


NEW = {"league_id": "fresh", "title": "Fresh League", "game": "nim", "format": "swiss", "players": 4, "rounds": 3}


async def test_an_organiser_makes_a_league_in_the_browser(home: Path) -> None:
    async with asyncio.timeout(BOUND), serving(home) as stage:
        made = await stage.visitor.post("/leagues", NEW)
        assert (made.status, json.loads(made.text)["path"]) == (201, "/leagues/fresh/")
        assert "Fresh League" in (await stage.visitor.get("/leagues/fresh/")).text
        assert "Fresh League" in (await stage.visitor.get("/")).text
        again = await stage.visitor.post("/leagues", NEW)
        assert (again.status, "There is a league fresh already" in again.text) == (422, True)


@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        ({"league_id": "../x"}, "can't be a league's name"),
        ({"league_id": "x", "game": "chess"}, "--game: no game 'chess' is installed"),
        ({"league_id": "x", "format": "lader"}, "did you mean ladder? there are: "),
        ({"league_id": "x", "players": "many"}, "'players' must be a whole number"),
        ({"league_id": "x", "colour": "red"}, "'colour' is no field"),
        ({"league_id": "x", "title": "\u202e"}, "--title"),
    ],
)
async def test_a_new_league_that_can_t_be_played_leaves_no_file(
    home: Path, wanted: dict[str, Any], problem: str
) -> None:
    before = sorted((home / "config/leagues").iterdir())
    async with asyncio.timeout(BOUND), serving(home) as stage:
        reply = await stage.visitor.post("/leagues", wanted)
    assert (reply.status, problem in json.loads(reply.text)["text"]) == (422, True), reply.text
    assert sorted((home / "config/leagues").iterdir()) == before


async def test_nobody_makes_leagues_from_a_foreign_page_or_where_the_server_can_be_reached_from_elsewhere(
    home: Path,
) -> None:
    async with asyncio.timeout(BOUND), serving(home) as stage:
        assert (await stage.visitor.post("/leagues", NEW, origin="http://evil.example")).status == 403
        assert (await stage.visitor.post("/leagues", NEW, sec_fetch_site="cross-site")).status == 403
        assert (await stage.visitor.post("/leagues", NEW, content_type="text/plain")).status == 415
        assert (await stage.visitor.post("/leagues", NEW, host="evil.example")).status == 421
    async with (
        asyncio.timeout(BOUND),
        serving(home, overrides={"network.public_url": "https://play.example/x"}) as stage,
    ):
        assert (await stage.visitor.post("/leagues", NEW)).status == 403
        assert 'id="new-league"' not in (await stage.visitor.get("/")).text


async def test_a_second_server_of_the_same_home_is_refused(home: Path) -> None:
    with lock_home(home, "http://localhost:1"), pytest.raises(UserError, match="served already, at http://localhost:1"):
        lock_home(home, "http://localhost:2").__enter__()


async def test_a_league_that_is_over_takes_corrections_without_a_restart(home: Path) -> None:
    write_league(home, "spring", participants={"start_with": 2})
    async with asyncio.timeout(BOUND), serving(home) as stage:
        async with players(home, f"{stage.root}/leagues/spring/mcp", ["Ann", "Bob"]):
            await stage.wait_for_end("spring")
            manager = stage.manager("spring")
            for winner in ("P01", "P02"):
                await manager.carry_out(OrganiserCommand(OrganiserAction.AWARD_MATCH, "R1M1", "appeal", winner=winner))
                await stage.wait_for_end("spring")
                assert manager.state.standings()[0].player_id == winner
            await manager.carry_out(OrganiserCommand(OrganiserAction.RERUN_MATCH, "R1M1", "appeal"))
            await until(lambda: "R1M1-2" in manager.state.results)
            await stage.wait_for_end("spring")
            assert manager.state.phase is LeaguePhase.COMPLETED
        page = await stage.visitor.get("/leagues/spring/matches/R1M1")
        assert "played again as" in page.text


def test_a_database_file_has_one_server_whatever_their_homes(home: Path, tmp_path: Path) -> None:
    loader = ConfigLoader(home)
    store = f"sqlite:///{tmp_path / 'league.db'}"
    one, other = (
        ServerSettings(loader, loader.load_system(), "127.0.0.1", port, address)
        for port, address in ((1, store), (2, f"sqlite:///{tmp_path}/./league.db"))
    )
    with lock_store(one), pytest.raises(UserError, match=r"served already, at http://localhost:1 .* a PostgreSQL"):
        lock_store(other).__enter__()
    shared = ServerSettings(loader, loader.load_system(), "127.0.0.1", 3, "postgresql://localhost/league")
    with lock_store(shared), lock_store(shared):
        pass
