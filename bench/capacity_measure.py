"""Measures what `capacity.py` works with: one `league serve` on a PostgreSQL that waits for its disk, by CPU time.

Two series of leagues that differ in their moves alone tell what a match and a move cost; players are in another
process. Needs Linux and PostgreSQL.
"""

import asyncio
import json
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from urllib.request import urlopen

import aiohttp
import sqlalchemy as sa

from agent_league.config import ConfigLoader
from agent_league.config.home import make_home
from agent_league.http.server import bind_socket
from agent_league.launch.agent_plan import AgentListeners, PlayerPlan
from agent_league.launch.serving import run_async, serve_agents
from agent_league.players.app import PlayerSettings
from bench.capacity import Figures
from bench.claims import measure_claims
from bench.many_leagues import find_free_ports, running_server
from bench.usage import require_proc, usage_of
from tests.storage.postgres import MISSING, PostgresServer, postgres_server, programs

LEAGUES, SIZE = 20, 6
MATCHES = SIZE * (SIZE - 1) // 2
SHORT, LONG = 1, 16
"""Rounds of a match; in each, both players are asked for a move."""
VIEWERS = 100
PAGES = 200
LIMIT_SECONDS = 300.0
CLAIM_SECONDS = 3.0
SAMPLE_PLAYERS = ("tit_for_tat", "grudger", "always_defect", "always_cooperate", "pavlov", "random")


@dataclass(frozen=True, slots=True)
class Spent:
    """What a series of leagues took of a server and of PostgreSQL."""

    server_ms: float
    """CPU of the server for a match."""
    store_ms: float
    store_kib: float
    memory_mib: float
    """By which the server grew."""


def measure_figures() -> Figures:
    """Measure everything; raises SystemExit where that isn't possible."""
    require_proc()
    if (folder := programs()) is None:
        raise SystemExit(MISSING)
    with ExitStack() as stack:
        postgres = stack.enter_context(postgres_server(folder, is_durable=True))
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()), "SHARED")
        make_home(home)
        port = _find_free_port()
        server = stack.enter_context(running_server(home, port, "--store", postgres.address()))
        stage = _Stage(home, f"http://localhost:{port}", server.pid, postgres)
        idle_mib = usage_of(server.pid).memory / 2**20
        stage.play("warm", 2, SHORT)
        short = stage.play("short", LEAGUES, SHORT)
        long = stage.play("long", LEAGUES, LONG)
        page_ms = stage.measure_page("long-1")
        watched = asyncio.run(stage.play_watched("watched", LEAGUES, SHORT))
        claims = measure_claims(_create_database(postgres), CLAIM_SECONDS)
    move_ms = (long.server_ms - short.server_ms) / (2 * (LONG - SHORT))
    return Figures(
        match_cpu_ms=round(short.server_ms - 2 * SHORT * move_ms, 2),
        move_cpu_ms=round(move_ms, 2),
        store_cpu_ms=round(long.store_ms, 2),
        store_kib=round(long.store_kib, 1),
        league_mib=round(max(short.memory_mib, long.memory_mib) / LEAGUES, 2),
        server_mib=round(idle_mib),
        page_cpu_ms=round(page_ms, 2),
        viewer_cpu_ms=round(max(0.001, (watched.server_ms - short.server_ms) / VIEWERS), 3),
        claims_per_second=round(max(claims.claims_per_second.values())),
        batched_claims_per_second=round(claims.batched_leagues_per_second),
        look_us=round(claims.look_microseconds_per_league, 1),
    )


class _Stage:
    """A server that runs, its players and its database."""

    def __init__(self, home: Path, root: str, pid: int, postgres: PostgresServer) -> None:
        self._home = home
        self._root = root
        self._pid = pid
        self._postgres = postgres
        self._engine = sa.create_engine(postgres.address())

    def play(self, name: str, leagues: int, rounds: int, during: Callable[[], None] | None = None) -> Spent:
        """Play leagues of six to their end."""
        ids = [f"{name}-{number}" for number in range(1, leagues + 1)]
        memory = usage_of(self._pid).memory
        write_leagues(self._home, ids, rounds)
        self._wait(lambda: self._count_served(ids) == leagues)
        if during:
            during()
        size, server, store = self._read_size(), usage_of(self._pid).cpu_seconds, self._read_store_cpu()
        players = get_context("spawn").Process(target=play_leagues, args=(self._home, self._root, ids))
        players.start()
        players.join(LIMIT_SECONDS)
        if players.exitcode != 0:
            players.terminate()
            raise SystemExit(f"bench: the leagues {name} were not over in {LIMIT_SECONDS:.0f} s")
        self._check_results(ids)
        matches = leagues * MATCHES
        return Spent(
            (usage_of(self._pid).cpu_seconds - server) * 1000 / matches,
            (self._read_store_cpu() - store) * 1000 / matches,
            (self._read_size() - size) / 1024 / matches,
            (usage_of(self._pid).memory - memory) / 2**20,
        )

    async def play_watched(self, name: str, leagues: int, rounds: int) -> Spent:
        """Play leagues while each has viewers of its events."""
        loop = asyncio.get_running_loop()
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=None)) as session:
            watching: list[asyncio.Task[None]] = []

            async def open_streams() -> None:
                for number in range(1, leagues + 1):
                    address = f"{self._root}/leagues/{name}-{number}/events"
                    watching.extend(asyncio.create_task(_watch(session, address)) for _ in range(VIEWERS))
                await asyncio.sleep(2)

            spent = await asyncio.to_thread(
                self.play,
                name,
                leagues,
                rounds,
                lambda: asyncio.run_coroutine_threadsafe(open_streams(), loop).result(),
            )
            for task in watching:
                task.cancel()
            await asyncio.gather(*watching, return_exceptions=True)
        return spent

    def measure_page(self, league_id: str) -> float:
        """Return the CPU of a page of a league, in ms."""
        began = usage_of(self._pid).cpu_seconds
        for _ in range(PAGES):
            with urlopen(f"{self._root}/leagues/{league_id}/", timeout=60) as answer:
                answer.read()
        return (usage_of(self._pid).cpu_seconds - began) * 1000 / PAGES

    def _count_served(self, ids: Sequence[str]) -> int:
        with self._engine.connect() as connection:
            served = connection.scalars(sa.text("SELECT league_id FROM served_leagues WHERE summary IS NOT NULL"))
            return len({*served} & {*ids})

    def _check_results(self, ids: Sequence[str]) -> None:
        with self._engine.connect() as connection:
            found = connection.execute(
                sa.text(
                    "SELECT result FROM matches JOIN seasons USING (season_id)"
                    " WHERE league_id = ANY(:ids) AND result IS NOT NULL"
                ),
                {"ids": list(ids)},
            ).scalars()
            results = [json.loads(text) for text in found]
        technical = [result["terminations"] for result in results if result["terminations"]]
        if len(results) != len(ids) * MATCHES or technical:
            raise SystemExit(f"bench: {len(results)} of {len(ids) * MATCHES} results, technical losses: {technical}")

    def _read_size(self) -> int:
        with self._engine.connect() as connection:
            return int(connection.execute(sa.text("SELECT pg_database_size(current_database())")).scalar_one())

    def _read_store_cpu(self) -> float:
        """CPU seconds of PostgreSQL: its main process with the children that have ended, and those that run."""
        stat = Path(f"/proc/{self._postgres.pid}/stat").read_text().rpartition(")")[2].split()
        own = sum(map(int, stat[11:15])) / os.sysconf("SC_CLK_TCK")
        children = Path(f"/proc/{self._postgres.pid}/task/{self._postgres.pid}/children").read_text().split()
        return own + sum(usage_of(int(child)).cpu_seconds for child in children)

    @staticmethod
    def _wait(is_so: Callable[[], bool]) -> None:
        due = time.monotonic() + LIMIT_SECONDS
        while not is_so():
            if time.monotonic() > due:
                raise SystemExit("bench: the leagues were not served in time")
            time.sleep(0.1)


async def _watch(session: aiohttp.ClientSession, address: str) -> None:
    async with session.get(address, headers={"accept": "text/event-stream"}) as answer:
        async for _ in answer.content.iter_any():
            pass


def write_leagues(home: Path, ids: Sequence[str], rounds: int) -> None:
    """Write the files of leagues that start with their sixth player."""
    for league_id in ids:
        content = {
            "league_id": league_id,
            "game_type": "prisoners_dilemma",
            "game_parameters": {"repeat": rounds},
            "participants": {"start_with": SIZE, "max_players": SIZE},
        }
        path = home / "config" / "leagues" / f"{league_id}.json"
        path.with_suffix(".new").write_text(json.dumps(content))
        path.with_suffix(".new").replace(path)


def play_leagues(home: Path, root: str, ids: Sequence[str]) -> None:
    """Run all players of leagues in this process until each has heard of its league's end."""
    system, ports = ConfigLoader(home).load_system(), find_free_ports()
    plans = [
        PlayerPlan(
            PlayerSettings(
                system=system,
                home=home.parent / "players" / league_id,
                manager=f"{root}/leagues/{league_id}/mcp",
                endpoint=f"http://localhost:{port}/mcp",
                wanted_id=f"P{number:02}",
                display_name=f"Player {number}",
                game_types=("*",),
                exit_when_done=True,
                seed="bench",
            ),
            port,
            strategy=SAMPLE_PLAYERS[number - 1],
        )
        for league_id in ids
        for number, port in zip(range(1, SIZE + 1), ports, strict=False)
    ]
    run_async(serve_agents(plans, asyncio.Event(), AgentListeners()))


def _find_free_port() -> int:
    probe = bind_socket("127.0.0.1", 0, "the bench")
    port: int = probe.getsockname()[1]
    probe.close()
    return port


def _create_database(postgres: PostgresServer) -> str:
    engine = sa.create_engine(postgres.address(), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text("CREATE DATABASE claims"))
    engine.dispose()
    return postgres.address("claims")
