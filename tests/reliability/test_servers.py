"""Servers that share a store are killed: the short form of `python -m tests.reliability.servers`."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from agent_league.storage.paths import DataPaths
from tests.cli.command import lines_of
from tests.conftest import BOUND
from tests.reliability.servers import (
    MATCHES,
    Killer,
    Plan,
    Site,
    SlowStrategy,
    kill_servers,
    make_player_plans,
    run_agents,
    run_players,
)
from tests.serve.nginx import CAN_RUN, MISSING
from tests.serve.stage import write_league
from tests.sse import frames
from tests.storage.conftest import database, postgres

__all__ = ["database", "postgres"]


@pytest.mark.skipif(not CAN_RUN, reason=MISSING)
async def test_killed_servers_leave_every_table_as_if_nobody_had_been_killed(tmp_path: Path, database: str) -> None:
    plan = Plan(seed="7", leagues=6, kills=2, lease=2.0)
    verdict = await kill_servers(plan, tmp_path, database)
    assert not verdict.complaints
    assert verdict.kills == plan.kills
    assert verdict.moved > 0


async def test_a_server_that_was_paused_finds_its_lease_ended_and_neither_calls_nor_writes(
    tmp_path: Path, database: str
) -> None:
    plan = Plan(servers=2, lease=2.0, thinking=0.2, limit=BOUND)
    site = Site(tmp_path, database, plan)
    wait_until = Killer(plan, site, lambda _: None).wait_until
    with closing(site):
        for number in range(2):
            site.start(number)
            await asyncio.to_thread(site.wait_until_ready, number)
        leagues = ["L1", "L2", "L3"]
        site.write_leagues(leagues)
        await wait_until(lambda: site.is_served(leagues))
        paused = next(league_id for league_id in leagues if site.owner_numbers()[league_id] == 0)
        earlier = site.directory.find_owner(paused)
        async with run_players(site, tmp_path, [paused], plan.thinking):
            await wait_until(lambda: site.count_played([paused]) >= 3)
            site.signal(0, signal.SIGSTOP)
            await wait_until(lambda: site.owner_numbers()[paused] == 1)
            await wait_until(lambda: site.is_over(paused))
            before, asked = site.read(paused), SlowStrategy.asked[paused]
            site.signal(0, signal.SIGCONT)
            await wait_until(lambda: len(site.directory.read_view().servers) == 2)
            log = DataPaths(site.home(0)).logs_folder / "system" / "server.log.jsonl"
            await wait_until(lambda: any(line["event_type"] == "leagues_given_up" for line in lines_of(log)))
            assert SlowStrategy.asked[paused] == asked
        assert site.read(paused) == before
        assert before is not None
        assert len(before.matches) == MATCHES
        assert not any((match.result or {}).get("terminations") for match in before.matches)
        assert earlier is not None
        assert earlier.server_id not in site.directory.read_view().servers
        assert site.owner_numbers()[paused] == 1


def list_files_with(folder: Path, text: str) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file() and text in file.read_text(errors="replace")]


async def follow_seat(session: aiohttp.ClientSession, seat: str) -> AsyncIterator[dict[str, Any]]:
    """Yield what the page of a seat is told, opening its stream again whenever that ends, until the league is over."""
    while True:
        try:
            async with session.get(f"{seat}/events") as stream:
                assert stream.status in (200, 502, 503), "a page that is told 404 gives up"
                async for event in frames(stream):
                    if not event.data:
                        continue
                    news = json.loads(event.data)
                    yield news
                    if news["is_over"]:
                        return
        except (aiohttp.ClientError, OSError):
            pass  # the server was lost
        await asyncio.sleep(0.1)


async def test_a_person_in_the_browser_keeps_the_seat_when_the_league_s_server_is_killed(
    tmp_path: Path, database: str
) -> None:
    plan = Plan(servers=2, lease=2.0, limit=BOUND)
    site = Site(tmp_path, database, plan)
    wait_until = Killer(plan, site, lambda _: None).wait_until
    with closing(site):
        for number in range(2):
            site.start(number)
            await asyncio.to_thread(site.wait_until_ready, number)
        leagues = ["L1", "L2", "L3"]
        for league_id in leagues:
            write_league(
                site.home(0),
                league_id,
                game_type="prisoners_dilemma",
                game_parameters={"repeat": 3},
                participants={"start_with": 2},
            )
        await wait_until(lambda: site.is_served(leagues))
        league = next(league_id for league_id in leagues if site.owner_numbers()[league_id] == 0)
        opponent = make_player_plans(site, tmp_path, [league], 0.0)[:1]
        async with asyncio.timeout(BOUND), aiohttp.ClientSession() as session, run_agents(opponent):
            async with session.post(f"{site.address(league)}/play", json={"name": "Ada"}) as taken:
                assert taken.status == 201, await taken.text()
                handle = (await taken.json())["handle"]
            seat, turns = f"{site.address(league)}/play/{handle}", list[str]()
            async for news in follow_seat(session, seat):
                if news["turn"] is None or news["turn"]["id"] in turns:
                    continue
                turns.append(news["turn"]["id"])
                if len(turns) == 1:
                    await asyncio.to_thread(site.kill, 0)
                    continue
                if len(turns) == 2:
                    answer = {"turn_id": turns[0], "place": 1}
                    async with session.post(f"{seat}/move", json=answer) as late:
                        assert (late.status, (await late.json())["status"]) == (409, "too_late"), "it was another turn"
                async with session.post(f"{seat}/move", json={"turn_id": turns[-1], "place": 1}) as done:
                    assert done.status == 200, await done.text()
        assert site.owner_numbers()[league] == 1
        saved = site.read(league)
        assert saved is not None
        assert [match.result["terminations"] for match in saved.matches if match.result] in ([{}], [])
        assert len(saved.matches) == 1
        assert [agent.display_name for agent in saved.agents if agent.role == "player"].count("Ada") == 1
        assert len(turns) == 4, "one before the server was lost, and the three of the match that is played again"
        assert not list_files_with(tmp_path, handle)
