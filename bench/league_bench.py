"""`league bench`: a league over HTTP beside the limit of this machine, measured in the same run.

The limit is the same calls (their number, their sizes, about the same number in flight) between the same client and the
same server, with nothing in between: no league, no checks, no files. Figures of different machines can't be compared;
their ratio can. Beside it stands what the MCP side costs a player that is only called bare (`mcp_cost`).
"""

import argparse
import asyncio
import itertools
import json
import multiprocessing
import os
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent_league.arena.fleet import Fleet
from agent_league.arena.hosting import run_async
from agent_league.arena.in_process import play_in_process
from agent_league.arena.plan import LeaguePlan, LeagueRequest, make_plan
from agent_league.config import ConfigLoader
from agent_league.config.home import make_home
from agent_league.errors import CallFailed
from agent_league.league.standings import Table
from agent_league.model.events import LeagueCompleted, LeagueStarted, MatchFinished
from agent_league.model.results import MatchResult, Scoring
from agent_league.storage.repositories import MatchRepository
from agent_league.transport.http_client import HttpCarrier
from agent_league.transport.http_server import AgentApp, HttpServer
from agent_league.transport.memory import MemoryNetwork
from mcp_cost import measure_mcp_cost

Sizes = tuple[int, int]
"""Bytes of a request and of its answer."""

PORTS = {"manager": 18000, "referees": 18100, "players": 18200, "echo": 19000}


@dataclass(frozen=True, slots=True)
class LeagueFigures:
    """One league over HTTP, from its start to its last result."""

    matches: int
    seconds: float
    seconds_to_start: float


class RecordingNetwork(MemoryNetwork):
    """Notes the size of everything that is said."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: Counter[Sizes] = Counter()

    async def exchange(
        self,
        endpoint: str,
        frame: bytes,
        limit: float,
        bearer: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, bytes]:
        status, body = await super().exchange(endpoint, frame, limit, bearer)
        self.sizes[len(frame), len(body)] += 1
        return status, body


def plan_league(home: Path, players: int, referees: int) -> LeaguePlan:
    make_home(home)
    request = LeagueRequest(
        home=home,
        players=players,
        referees=referees,
        seed="bench",
        manager_port=PORTS["manager"],
        referee_port=PORTS["referees"],
        player_port=PORTS["players"],
    )
    return make_plan(ConfigLoader(home), request)


def record_calls(home: Path, players: int, referees: int) -> Counter[Sizes]:
    """The calls of such a league, from one played in this process."""
    network = RecordingNetwork()
    asyncio.run(play_in_process(plan_league(home, players, referees), network))
    return network.sizes


def play_league(home: Path, players: int, referees: int) -> LeagueFigures:
    """Plays a league as processes over HTTP, and checks what came out of it."""
    plan = plan_league(home, players, referees)
    began = started = ended = time.perf_counter()
    results = []
    completed = None
    with Fleet(plan.processes()) as fleet:
        for event in fleet.events():
            if isinstance(event, LeagueStarted):
                started = time.perf_counter()
            elif isinstance(event, MatchFinished):
                results.append(event.result)
            elif isinstance(event, LeagueCompleted):
                ended, completed = time.perf_counter(), event
    if completed is None:
        raise SystemExit("bench: the league did not end")
    check(plan, results, completed)
    return LeagueFigures(len(results), ended - started, started - began)


def check(plan: LeaguePlan, results: Sequence[MatchResult], completed: LeagueCompleted) -> None:
    """Speed counts only where every match is there and the table is the recomputed one."""
    players = len(plan.players)
    expected = players * (players - 1) // 2
    files = len(MatchRepository(plan.league.league_id, plan.home).list())
    names = {row.player_id: row.display_name for row in completed.standings}
    table = Table(names, Scoring(), plan.league.scoring.tiebreakers)
    for result in results:
        table.record(result)
    if not len(results) == files == expected or table.rows() != completed.standings:
        raise SystemExit(f"bench: {len(results)} results and {files} match files, expected {expected}")


def measure_limit(calls: Counter[Sizes], agents: int) -> float:
    """Seconds for the same calls to as many servers with an empty handler, spread over the cores like the league's."""
    cores = os.cpu_count() or 1
    context = multiprocessing.get_context("forkserver")
    ports = range(PORTS["echo"], PORTS["echo"] + agents)
    servers = [context.Process(target=_echo, args=(ports[n::cores],), daemon=True) for n in range(cores)]
    for server in servers:
        server.start()
    barrier = context.Barrier(cores + 1)
    shares = [list(itertools.islice(_spread(calls), core, None, cores)) for core in range(cores)]
    clients = [
        context.Process(target=_call, args=(shares[n], ports, agents // cores or 1, barrier), daemon=True)
        for n in range(cores)
    ]
    for client in clients:
        client.start()
    barrier.wait()
    started = time.perf_counter()
    for client in clients:
        client.join()
    seconds = time.perf_counter() - started
    for server in servers:
        server.terminate()
        server.join()
    if any(client.exitcode for client in clients):
        raise SystemExit("bench: the limit could not be measured")
    return seconds


def _spread(calls: Counter[Sizes]) -> Sequence[Sizes]:
    """All calls, the kinds evenly mixed."""
    ordered = list(calls.elements())
    step = max(1, len(ordered) // 97)
    return [call for offset in range(step) for call in ordered[offset::step]]


def _echo(ports: range) -> None:
    """Servers that answer with as many bytes as the caller names in its first ones."""

    async def answer(body: bytes, _: str | None) -> bytes:
        return b"x" * int(body[:8])

    async def serve() -> None:
        for port in ports:
            await HttpServer(AgentApp(answer, dict), "127.0.0.1", port, "the bench").start()
        await asyncio.Event().wait()

    run_async(serve())


def _call(share: list[Sizes], ports: range, in_flight: int, barrier: Any) -> None:
    """Makes its share of the calls, so many at a time, to all servers in turn."""

    async def calls() -> None:
        carrier = HttpCarrier()
        endpoints = [f"http://localhost:{port}/mcp" for port in ports]
        for endpoint in endpoints:
            await _until_there(carrier, endpoint)
        barrier.wait()
        work = iter(zip(share, itertools.cycle(endpoints), strict=False))

        async def worker() -> None:
            for (request, reply), endpoint in work:
                frame = f"{reply:08}".encode().ljust(request, b"x")
                await carrier.exchange(endpoint, frame, 30)

        await asyncio.gather(*(worker() for _ in range(in_flight)))
        await carrier.close()

    run_async(calls())


async def _until_there(carrier: HttpCarrier, endpoint: str) -> None:
    for _ in range(200):
        try:
            await carrier.exchange(endpoint, b"00000002", 5)
        except CallFailed:
            await asyncio.sleep(0.05)
        else:
            return


def main() -> None:
    parser = argparse.ArgumentParser(prog="league bench", description=__doc__)
    parser.add_argument("--players", type=int, default=30)
    parser.add_argument("--referees", type=int, default=4)
    parser.add_argument("--repeat", type=int, default=3, help="how often to measure both, in turn (default: 3)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        report(arguments, Path(folder))


def report(arguments: argparse.Namespace, folder: Path) -> None:
    """Measures both in turn and prints them side by side."""
    calls = record_calls(folder / "calls", arguments.players, arguments.referees)
    total = sum(calls.values())
    matches = arguments.players * (arguments.players - 1) // 2
    rows = []
    for number in range(arguments.repeat):
        limit = measure_limit(calls, arguments.players)
        league = play_league(folder / f"league{number}", arguments.players, arguments.referees)
        rows.append(
            {"limit": matches / limit, "league": league.matches / league.seconds, "start": league.seconds_to_start}
        )
    ratio = statistics.median(row["league"] / row["limit"] for row in rows)
    figures = {
        "players": arguments.players,
        "matches": matches,
        "calls": total,
        "calls_per_match": round(total / matches, 2),
        "league_matches_per_second": round(statistics.median(row["league"] for row in rows), 1),
        "limit_matches_per_second": round(statistics.median(row["limit"] for row in rows), 1),
        "ratio": round(ratio, 3),
        "seconds_to_start": round(statistics.median(row["start"] for row in rows), 3),
        **measure_mcp_cost(folder / "calls", 3 * arguments.repeat).figures(),
    }
    if arguments.json:
        print(json.dumps(figures))
        return
    print(f"{arguments.players} players, {matches} matches, {total} calls; median of {arguments.repeat} runs")
    print(f"  league  {figures['league_matches_per_second']:>8} matches/s")
    print(f"  limit   {figures['limit_matches_per_second']:>8} matches/s (the same calls, nothing in between)")
    print(f"  ratio   {figures['ratio']:>8}")
    print(f"  first match {figures['seconds_to_start']} s after the start of the processes")
    print(f"a bare call costs a player {figures['bare_call_microseconds']} us of CPU without the MCP side; with it:")
    print(f"  ratio   {figures['bare_call_ratio_with_mcp']:>8}")
    print(f"  ratio   {figures['bare_call_ratio_with_mcp_in_use']:>8} (after a client has opened a session)")
    print(f"its start costs {figures['player_start_seconds']} s; with it:")
    print(f"  ratio   {figures['player_start_ratio_with_mcp']:>8}")


if __name__ == "__main__":
    main()
