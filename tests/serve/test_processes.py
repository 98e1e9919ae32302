"""`league serve` as a process: killed, started again, and found by all other commands below its paths."""

import asyncio
import json
import signal
import sys
import urllib.request
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import Any

import pytest

from agent_league.league.resume import open_store
from tests.cli.command import Running, league, running
from tests.cli.command import until as wait_until
from tests.conftest import BOUND, free_ports
from tests.league.test_webhooks import OK, answer, hook_server
from tests.serve.stage import players, until, write_league

pytestmark = pytest.mark.slow

PLAYER = """
from agent_league import play
play(lambda observation: observation.legal_moves[0], name={name!r}, manager={manager!r}, port={port})
"""


def ask(address: str) -> Any:
    with urllib.request.urlopen(address, timeout=10) as answer:
        return json.loads(answer.read())


def count_played(home: Path, league_id: str) -> int:
    store = open_store(home, None)
    try:
        saved = store.read_season(league_id)
    finally:
        store.close()
    return sum(match.result is not None for match in saved.matches) if saved else 0


def is_over(home: Path, league_id: str) -> bool:
    store = open_store(home, None)
    try:
        saved = store.read_season(league_id)
    finally:
        store.close()
    return saved is not None and saved.season.phase in ("COMPLETED", "DISMISSED")


async def test_a_killed_server_goes_on_with_every_league_where_it_stopped(home: Path) -> None:
    sizes = {"spring": 6, "autumn": 5}
    for league_id, count in sizes.items():
        write_league(home, league_id, game_type="tic_tac_toe", participants={"start_with": count})
    port = free_ports(1)
    command = ["serve", "--home", home, "--port", port, "--set", "retry_policy.base_delay_sec=0.05"]
    async with asyncio.timeout(BOUND), AsyncExitStack() as stage:
        (server,) = stage.enter_context(running(command, cwd=home.parent))
        await asyncio.to_thread(server.prints, "Serving 3 leagues")
        for league_id, count in sizes.items():
            names = [f"{league_id} {number}" for number in range(count)]
            await stage.enter_async_context(players(home, f"http://localhost:{port}/leagues/{league_id}/mcp", names))
        await until(lambda: all(count_played(home, league_id) >= 2 for league_id in sizes))
        server.signal(signal.SIGKILL)
        await asyncio.to_thread(server.ends)
        before = {league_id: count_played(home, league_id) for league_id in sizes}
        (again,) = stage.enter_context(running(command, cwd=home.parent))
        await asyncio.to_thread(again.prints, "Serving 3 leagues")
        await until(lambda: all(is_over(home, league_id) for league_id in sizes))
    for league_id, count in sizes.items():
        assert count_played(home, league_id) == count * (count - 1) // 2 >= before[league_id]


def test_all_commands_find_a_served_league(home: Path, tmp_path: Path) -> None:
    write_league(home, "spring", display_name="Spring League")
    port = free_ports(3)
    root = f"http://localhost:{port}"
    spring = f"{root}/leagues/spring"
    with ExitStack() as stage:
        (server,) = stage.enter_context(running(["serve", "--home", home, "--port", port], cwd=tmp_path))
        server.prints("Serving 2 leagues")
        several = league("admin", "close", "--home", home, cwd=tmp_path)
        assert (several.returncode, "choose with --league-id" in several.stderr) == (2, True)
        for words in (["--league-id", "spring"], ["--manager", spring], ["--manager", f"{spring}/mcp"]):
            for action, said in (("close", "closed"), ("open", "open")):
                done = league("admin", action, *words, "--home", home, cwd=tmp_path)
                assert f"Registration to spring is {said}" in done.stderr, done.stderr
        for number, address in enumerate((spring, f"{spring}/mcp"), start=1):
            program = tmp_path / f"own{number}.py"
            program.write_text(PLAYER.format(name=f"Own {number}", manager=address, port=port + number))
            own = Running([sys.executable, program], cwd=tmp_path)
            stage.callback(own.close)
            own.prints("Registered as")
        assert "has started" in league("admin", "start", "--league-id", "spring", "--home", home, cwd=tmp_path).stderr
        wait_until(lambda: is_over(home, "spring"), "the end of the league")
        shown = league("show", "standings", "--league-id", "spring", "--home", home, cwd=tmp_path)
        assert "Spring League" in shown.stdout
        assert "Own 1" in shown.stdout
        watched = league("watch", spring, cwd=tmp_path)
        assert watched.returncode == 0, watched.stderr
        made = league("new", "league", "cup", "--game", "nim", "--players", 4, "--home", home, cwd=tmp_path)
        assert f"The server at {root}/ finds it within seconds" in made.stderr
        wait_until(lambda: ask(f"{root}/health")["leagues"] == 3, "the new league")
        begun = league("new", "season", "spring", "--home", home, cwd=tmp_path)
        assert "begins a new season of spring within seconds" in begun.stderr
        wait_until(lambda: _count_players(home) == 0, "the new season")
        server.signal(signal.SIGTERM)
        assert server.ends() == 0


def _count_players(home: Path) -> int:
    store = open_store(home, None)
    try:
        saved = store.read_season("spring")
    finally:
        store.close()
    return sum(agent.role == "player" for agent in saved.agents) if saved else -1


async def test_news_that_a_killed_server_has_not_delivered_are_delivered_by_the_next_one(home: Path) -> None:
    busy = answer("503 Busy")
    async with asyncio.timeout(BOUND), AsyncExitStack() as stage:
        hook = await stage.enter_async_context(hook_server(busy))
        write_league(home, "spring", participants={"start_with": 2}, webhooks=[{"url": hook.url}])
        port = free_ports(1)
        command = ["serve", "--home", home, "--port", port]
        with running(command, cwd=home.parent) as (server,):
            await asyncio.to_thread(server.prints, "Serving 2 leagues")
            await stage.enter_async_context(
                players(home, f"http://localhost:{port}/leagues/spring/mcp", ["Ann", "Bob"])
            )
            (first, *_) = await hook.wait_for_posts(1)
            assert first["type"] == "league.start"
            await asyncio.to_thread(wait_until, lambda: is_over(home, "spring"), "the end of the league")
            server.process.kill()
            await asyncio.to_thread(server.process.wait)
        hook.answers[:] = [OK]
        seen = len(hook.posts)
        (server,) = stage.enter_context(running(command, cwd=home.parent))
        told = (await hook.wait_for_posts(seen + 2))[seen:]
        assert [one["type"] for one in told[:2]] == ["league.start", "league.end"]
        assert hook.posts[seen][0]["webhook-id"] == hook.posts[0][0]["webhook-id"]
        await asyncio.to_thread(wait_until, lambda: count_news(home, "spring") == 0, "an empty outbox")


def count_news(home: Path, league_id: str) -> int:
    store = open_store(home, None)
    try:
        saved = store.read_season(league_id)
    finally:
        store.close()
    return len(saved.news) if saved else -1
