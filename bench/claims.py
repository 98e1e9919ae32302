"""How fast servers claim leagues on one PostgreSQL that waits for its disk: `python -m bench.claims [--seconds 5]`.

Each process is a server with connections of its own. A claim is one transaction: it locks free leagues past those that
others are claiming, checks that its server is alive, becomes their owner and fences the one before.
"""

import argparse
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

import sqlalchemy as sa

from agent_league.storage.directory import ServerDirectory, ServerRow
from agent_league.storage.sql import SqlStore
from tests.storage.postgres import MISSING, postgres_server, programs

LEAGUES = 1000
"""Rows of the directory, all free at first."""
LEASE_SECONDS = 3600.0
CLAIMERS = (1, 4, 16)
LOOKS = 20


@dataclass(frozen=True, slots=True)
class ClaimFigures:
    """What was measured."""

    claims_per_second: dict[int, float]
    """By the number of connections: transactions that claimed one league each."""
    batched_leagues_per_second: float
    """Leagues that one connection claims fifty at a time, as after the loss of a server."""
    renewals_per_second: float
    look_microseconds_per_league: float
    """What reading the whole directory takes for each league in it."""


def measure_claims(address: str, seconds: float) -> ClaimFigures:
    """Measure claims, renewals and looks on the directory at this address."""
    store = SqlStore(address)
    directory = ServerDirectory(store, LEASE_SECONDS)
    with store.write_transaction() as connection:
        connection.execute(
            sa.text(
                "INSERT INTO served_leagues (league_id, definition, version)"
                " SELECT 'league-' || number, '\"{}\"', 1 FROM generate_series(1, :count) AS number"
            ),
            {"count": LEAGUES},
        )
    rates = {count: _measure_rate(address, count, seconds) for count in CLAIMERS}
    server = ServerRow("batch", "http://localhost:1")
    directory.enter(server)
    batched = _count_batches(directory, server, seconds)
    renewals = _count_renewals(directory, server, seconds)
    looks = [_time_look(directory) for _ in range(LOOKS)]
    store.close()
    return ClaimFigures(rates, batched, renewals, statistics.median(looks) / LEAGUES * 1e6)


def _measure_rate(address: str, claimers: int, seconds: float) -> float:
    """Return how many leagues so many connections claim and release a second, half of them in another process."""
    with get_context("spawn").Pool(min(2, claimers)) as pool:
        shares = [claimers - claimers // 2, claimers // 2] if claimers > 1 else [1]
        jobs = [
            pool.apply_async(claim_for, (address, share, f"{number}", seconds)) for number, share in enumerate(shares)
        ]
        return sum(job.get() for job in jobs) / seconds


def claim_for(address: str, connections: int, name: str, seconds: float) -> int:
    """Claim leagues one by one over several connections; returns how many were claimed."""
    with ThreadPoolExecutor(connections) as threads:
        jobs = [
            threads.submit(_claim_one_by_one, address, f"{name}-{number}", seconds) for number in range(connections)
        ]
        return sum(job.result() for job in jobs)


def _claim_one_by_one(address: str, name: str, seconds: float) -> int:
    store = SqlStore(address)
    directory, server = ServerDirectory(store, LEASE_SECONDS), ServerRow(name, f"http://localhost:{name}")
    directory.enter(server)
    claimed, due = 0, time.monotonic() + seconds
    while time.monotonic() < due:
        found = directory.claim_leagues(server, 1)
        claimed += len(found)
        if not found:
            directory.leave(server)
            directory.enter(server)
    directory.leave(server)
    store.close()
    return claimed


def _count_batches(directory: ServerDirectory, server: ServerRow, seconds: float) -> float:
    claimed, spent = 0, 0.0
    while spent < seconds:
        began = time.monotonic()
        found = len(directory.claim_leagues(server, 50))
        spent += time.monotonic() - began
        claimed += found
        if not found:
            directory.leave(server)
            directory.enter(server)
    return claimed / spent


def _count_renewals(directory: ServerDirectory, server: ServerRow, seconds: float) -> float:
    renewed, began = 0, time.monotonic()
    while time.monotonic() - began < seconds:
        renewed += directory.renew(server)
    return renewed / seconds


def _time_look(directory: ServerDirectory) -> float:
    began = time.monotonic()
    directory.read_view()
    return time.monotonic() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--store", help="the address of an empty database; default: a PostgreSQL of its own")
    asked = parser.parse_args()
    if asked.store:
        print_figures(measure_claims(asked.store, asked.seconds))
        return
    if (folder := programs()) is None:
        raise SystemExit(MISSING)
    with postgres_server(folder, is_durable=True) as server:
        print_figures(measure_claims(server.address(), asked.seconds))


def print_figures(figures: ClaimFigures) -> None:
    """Print what was measured."""
    for count, rate in figures.claims_per_second.items():
        print(f"{count:2} connections: {rate:6.0f} durable claims a second, one league each")
    print(f"fifty at a time, 1 connection: {figures.batched_leagues_per_second:.0f} leagues a second")
    print(f"renewals, 1 connection: {figures.renewals_per_second:.0f} a second")
    print(f"a look at the whole directory: {figures.look_microseconds_per_league:.1f} us a league")


if __name__ == "__main__":
    main()
