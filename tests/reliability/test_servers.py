"""Servers that share a store are killed: the short form of `python -m tests.reliability.servers`."""

import asyncio
import signal
from contextlib import closing
from pathlib import Path

import pytest

from agent_league.storage.paths import DataPaths
from tests.cli.command import lines_of
from tests.conftest import BOUND
from tests.reliability.servers import MATCHES, Killer, Plan, Site, SlowStrategy, kill_servers, run_players
from tests.serve.nginx import CAN_RUN, MISSING
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
