"""People at seats in the browser: real agents over HTTP, and the requests that the page's script makes."""

import asyncio
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from agent_league.launch.plan import LeaguePlan
from agent_league.league.settings import ManagerSettings
from agent_league.model.events import MatchFinished
from agent_league.model.results import Outcome
from agent_league.players.app import PlayerSettings
from agent_league.web.play import seats
from tests.conftest import BOUND, PlanMaker, free_ports
from tests.harm import SCRIPT
from tests.web.visitor import visited


def league(plan: PlanMaker, players: int = 2, game: str = "tic_tac_toe", move_seconds: float = 30) -> LeaguePlan:
    port = free_ports(2 + players)
    where = {"manager_port": port, "referee_port": port + 1, "player_port": port + 2}
    limits = {"timeouts.move_timeout_sec": move_seconds}
    return plan(overrides=limits, players=players, referees=1, game=game, **where)


def with_manager(made: LeaguePlan, **changes: Any) -> LeaguePlan:
    assert isinstance(made.manager.settings, ManagerSettings)
    return replace(made, manager=replace(made.manager, settings=replace(made.manager.settings, **changes)))


def files_with(secret: str, folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file() and secret.encode() in file.read_bytes()]


@pytest.mark.parametrize(("game", "players"), [("tic_tac_toe", 3), ("even_odd", 2), ("connect_four", 2), ("nim", 2)])
async def test_a_league_is_played_through_by_clicks(plan: PlanMaker, home: Path, game: str, players: int) -> None:
    async with visited(league(plan, players, game)) as browser:
        page = await browser.take("Ada")
        answers = await page.play()
        completed = await browser.league.completed()
        assert "The league is over" in page.parts["now"]
    assert len(answers) >= players - 1
    assert {answer["status"] for answer in answers} == {"accepted"}
    own = next(row for row in completed.standings if row.display_name == "Ada")
    assert own.played == players - 1
    assert f"number {own.shared_rank} of {players}" in page.parts["now"]
    assert 'class="own"' in page.parts["table"]
    assert "against Agent" in page.parts["last"]
    handle = page.address.rpartition("/")[2]
    assert files_with(handle, home) == []


async def test_a_move_that_is_not_legal_is_refused_and_one_that_is_in_stays(plan: PlanMaker) -> None:
    async with visited(league(plan)) as browser:
        page = await browser.take("Ada")
        turn_id = (await page.asked())["id"]
        assert "R1M1: everybody meets everybody." in page.parts["now"]
        for wrong in ({"move": 77}, {"move": "<b>"}, {"place": 0}, {"place": 10**9}, {}):
            status, answer = await page.move(turn_id=turn_id, **wrong)
            assert (status, answer["status"]) == (409, "not_legal"), wrong
            assert "is not legal" in answer["text"]
        first, *_, last = page.places()
        for _ in range(2):
            assert await page.move(turn_id=turn_id, place=first) == (
                200,
                {"status": "accepted", "text": "Your move is in."},
            )
        status, answer = await page.move(turn_id=turn_id, place=last)
        assert (status, answer["status"]) == (409, "too_late")
        assert "can't be changed" in answer["text"]
        assert (await page.move(turn_id=7, place=1))[0] == 422
        assert (await page.move(turn_id="T99", place=1))[1]["status"] == "too_late"


async def test_a_turn_that_nobody_answers_is_played_by_the_fallback_and_a_late_move_is_told_so(plan: PlanMaker) -> None:
    async with visited(league(plan, move_seconds=1)) as browser:
        page = await browser.take("Ada")
        turn = await page.asked()
        assert 0 < turn["seconds_left"] <= turn["of"] <= 1.0
        assert "the strategy <b>random</b> plays" in page.parts["now"]
        await page.until("Time is up in R1M1: the fallback strategy played", "news")
        status, answer = await page.move(turn_id=turn["id"], place=1)
        assert (status, answer["status"]) == (409, "too_late")
        assert "ran out and the fallback strategy played" in answer["text"]


async def test_nobody_waits_for_somebody_whose_page_is_gone(plan: PlanMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seats, "AWAY_SECONDS", 0.0)
    async with visited(league(plan, game="even_odd", move_seconds=3600)) as browser:
        page = await browser.take("Ada")
        await browser.league.completed()
        await page.until("you were away, and the fallback strategy played", "news")


async def test_two_pages_show_the_same_seat_and_words_of_others_are_escaped(plan: PlanMaker) -> None:
    made, name = league(plan), SCRIPT
    settings = made.players[0].settings
    assert isinstance(settings, PlayerSettings)
    rival = replace(made.players[0], settings=replace(settings, display_name=name))
    async with visited(replace(made, players=(rival, *made.players[1:]))) as browser:
        one = await browser.take("Ada & Bob")
        other = browser.page(one.address.rpartition("/")[2])
        turn = await one.asked()
        assert (await other.asked())["id"] == turn["id"]
        for page_of_seat in (one, other):
            await page_of_seat.until("Rules of", "rules")
        assert one.parts == other.parts
        await one.move(turn_id=turn["id"], place=one.places()[0])
        await other.until("You played")
        status, page, _ = await browser.get(f"/play/{one.address.rpartition('/')[2]}")
        assert status == 200
        for text in (*other.parts.values(), page):
            assert "<script>alert" not in text
        assert "against &lt;script&gt;" in one.parts["news"] or "meet &lt;script&gt;" in one.parts["news"]
        assert "<h1>Ada &amp; Bob</h1>" in page


async def test_whoever_comes_back_is_told_what_has_changed(plan: PlanMaker) -> None:
    async with visited(league(plan)) as browser:
        page = await browser.take("Ada")
        turn = await page.asked()
        await page.until("Rules of", "rules")
        assert set(page.parts) == {"now", "last", "table", "news", "rules"}
        while (again := await page.until('id="turn"'))["parts"]:
            assert "rules" not in again["parts"], "what hasn't changed since"
        assert again["turn"]["id"] == turn["id"]
        await page.move(turn_id=turn["id"], place=page.places()[0])
        while "now" not in (news := await page.until(""))["parts"]:
            assert "rules" not in news["parts"]
        assert "rules" not in news["parts"]
        page.event_id = "0badf00d-99999"
        stranger = await page.until("", "rules")
        assert set(stranger["parts"]) == set(page.parts), "an id of an earlier manager"


async def test_after_a_restart_the_handle_leads_back_to_the_same_seat(plan: PlanMaker) -> None:
    made = league(plan, players=3)
    async with visited(made, guests=2) as browser:
        page = await browser.take("Ada")
        await page.until("You have a seat")
        await page.until("(you)", "table")
    async with visited(made, guests=2) as browser:
        assert "called so already" in await browser.refused("Ada"), "the name alone is no way back"
        again = browser.page(page.address.rpartition("/")[2])
        await again.until("(you)", "table")
        other = await browser.take("Bob")
        await asyncio.gather(again.play(), other.play())
        completed = await browser.league.completed()
        assert {row.display_name: row.played for row in completed.standings} == {"Agent Alpha": 2, "Ada": 2, "Bob": 2}
    async with visited(made, guests=2) as browser:
        status, text, _ = await browser.get(f"/play/{page.address.rpartition('/')[2]}")
        assert (status, "seats end with their league" in text) == (404, True)


@pytest.mark.parametrize("handle", ["tok-" + "A" * 22, "tok-x", "x" * 500, "%2e%2e%2fetc", "tok-é"])
async def test_a_handle_that_is_nobody_s_opens_nothing(plan: PlanMaker, handle: str) -> None:
    async with visited(league(plan)) as browser:
        for path in (f"/play/{handle}", f"/play/{handle}/events"):
            assert (await browser.get(path))[0] == 404
        assert (await browser.post(f"/play/{handle}/move", {"turn_id": "T1", "move": 1}))[0] == 404


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({"Origin": "http://evil.example"}, {"name": "Eve"}, 403),
        ({"Sec_Fetch_Site": "cross-site"}, {"name": "Eve"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, {"name": "Eve"}, 403),
        ({"Content_Type": "text/plain"}, {"name": "Eve"}, 415),
        ({"Content_Type": "application/x-www-form-urlencoded"}, b"name=Eve", 415),
        ({}, b"{", 422),
        ({}, [], 422),
        ({}, {"name": 7}, 422),
        ({}, {"name": "x" * 5000}, 413),
    ],
)
async def test_a_request_that_no_page_of_ours_makes_changes_nothing(
    plan: PlanMaker, headers: dict[str, str], body: Any, status: int
) -> None:
    async with visited(league(plan, players=3), guests=2) as browser:
        page = await browser.take("Ada")
        assert (await browser.post("/play", body, **headers))[0] == status
        assert (await browser.post(page.address.removeprefix(browser.base) + "/move", body, **headers))[0] == status
        assert "Eve" not in str(browser.league.events)


@pytest.mark.parametrize("name", ["", "   ", "x" * 41, "a\x1b[2J", "two\nlines", "\u202eevil", "\u200b"])
async def test_a_name_that_nobody_could_read_gets_no_seat(plan: PlanMaker, name: str) -> None:
    async with visited(league(plan, players=3), guests=2) as browser:
        assert "1 to 40 characters" in await browser.refused(name)


async def test_seats_are_bounded_names_are_taken_once_and_a_running_league_is_closed(
    plan: PlanMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with visited(league(plan, players=4), guests=3) as browser:
        await browser.take("Ada")
        assert "called so already" in await browser.refused(" ada ")
        with monkeypatch.context() as bounds:
            bounds.setattr(seats, "MOST_OF_ONE", 1)
            assert "1 people play from your address" in await browser.refused("Bob")
            bounds.setattr(seats, "MOST_SEATS", 1)
            assert "All 1 seats for browsers are taken" in await browser.refused("Bob")
        assert 'id="seat-form"' in (await browser.get("/play"))[1]
        await browser.take("Bob")
        await (await browser.take("Cy")).until("Round 1", "news")
        assert "takes no new players" in await browser.refused("Dan")


@pytest.mark.parametrize(
    ("offered", "seen", "posted"), [({"offers_seats": False}, 200, 405), ({"serves_pages": False}, 404, 404)]
)
async def test_a_manager_may_offer_no_seats_or_no_pages_at_all(
    plan: PlanMaker, offered: dict[str, bool], seen: int, posted: int
) -> None:
    async with visited(with_manager(league(plan), **offered)) as browser:
        status, page, _ = await browser.get("/play")
        assert status == seen
        assert status == 404 or "no seats in the browser" in page
        assert (await browser.post("/play", {"name": "Ada"}))[0] == posted


async def test_no_more_pages_are_open_on_a_seat_than_a_person_can_need(
    plan: PlanMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent_league.web.play.requests.MOST_TABS", 1)
    async with visited(league(plan, players=3), guests=2) as browser:
        page = await browser.take("Ada")
        stream = page.follow()
        await anext(stream)
        status, text, _ = await browser.get(page.address.removeprefix(browser.base) + "/events")
        assert (status, "close one of them" in text) == (503, True)
        await stream.aclose()


async def test_a_league_that_goes_on_finds_its_guests_though_none_of_their_pages_is_open(
    plan: PlanMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = league(plan, game="even_odd", move_seconds=3600)
    async with visited(made) as browser:
        await (await browser.take("Ada")).asked()
    monkeypatch.setattr(seats, "AWAY_SECONDS", 0.0)
    async with visited(made) as browser:
        await browser.league.completed()
    (result,) = [event.result for event in browser.league.events if isinstance(event, MatchFinished)]
    assert result.outcome is not Outcome.TECHNICAL_LOSS


async def test_whoever_waits_sees_who_has_come_and_is_still_missing(plan: PlanMaker) -> None:
    async with visited(league(plan, players=4), guests=3) as browser:
        page = await browser.take("Ada")
        async with asyncio.timeout(BOUND), aclosing(page.follow()) as stream:
            while "with 2 more players, or" not in page.parts.get("now", ""):
                await anext(stream)
            assert "\nagent_league_listeners 1.0\n" in (await browser.get("/metrics"))[1]
            await browser.take("Bob")
            while "with 1 more player, or" not in page.parts["now"]:
                await anext(stream)


async def test_when_the_manager_stops_the_page_is_told_before_its_stream_ends(plan: PlanMaker) -> None:
    async with aiohttp.ClientSession() as session:
        async with visited(league(plan, players=3), guests=2) as browser:
            page = replace(await browser.take("Ada"), session=session)
            stream = page.follow()
            await anext(stream)
        async for _ in stream:
            pass
    assert "The league manager has stopped" in page.parts["now"]
    assert not page.is_over, "the page tries to come back"
