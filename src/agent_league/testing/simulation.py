"""Runs simulated leagues with faults and checks their invariants. The same scenario repeats exactly."""

import asyncio
import gc
import random
import secrets
import shutil
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, redirect_stderr
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from agent_league.child_processes import open_process_pool
from agent_league.testing.agent_lives import KillableEventLoop, cancel_all
from agent_league.testing.faults import Scenario
from agent_league.testing.invariants import INVARIANTS, LADDER_INVARIANTS
from agent_league.testing.league_evidence import LeagueEvidence
from agent_league.testing.simulated_world import SILENT_MATCH_SECONDS, SimulatedWorld

MEMORY_DISK = Path("/dev/shm")  # noqa: S108 - for speed only; the default folder works as well
POLL_SECONDS = 1.0
FINAL_SECONDS = 5.0
NOTIFY_SECONDS = 300.0
"""Time limit for all agents to learn that the league is over."""
LEAGUE_TIMEOUT_SECONDS = 2500.0
"""Time limit for a league after faults have ended, plus some for each match; one probe alone may wait half an hour."""
MATCH_SECONDS = 10.0
TIMED_ROUND_SECONDS = 120.0
"""Longest wait for the time of a round, if rounds have times."""
LADDER_SECONDS = 120.0
"""How long a practice ladder is played after faults have ended."""
CHUNK_SIZE = 8
"""Scenarios given to a worker process at once."""


@dataclass(frozen=True, slots=True)
class InvariantBreach:
    """An invariant that doesn't hold, and what was found."""

    invariant: str
    what: str


@dataclass(frozen=True, slots=True)
class SimulationReport:
    """The outcome of one simulated scenario."""

    scenario: Scenario
    breaches: Sequence[InvariantBreach]
    digest: str
    """Digest of the trace of everything that happened."""
    seconds: float
    """Seconds of virtual time."""
    calls: int
    lives: int
    """Number of processes started; more than agents if some were restarted."""
    events: Sequence[str] = ()
    """The trace, a line per entry; kept only if an invariant is broken or on request."""


def simulate_scenario(scenario: Scenario, *, keep_events: bool = False) -> SimulationReport:
    """Play the scenario and check every invariant."""
    complaints = StringIO()
    with (
        _temporary_folder() as root,
        _no_garbage_collection(),
        repeatable_chance(f"chance {scenario.seed}"),
        redirect_stderr(complaints),
        closing(KillableEventLoop()) as loop,
    ):
        return loop.run_until_complete(_run_simulation(loop, SimulatedWorld(scenario, root), complaints, keep_events))


def simulate_scenarios(scenarios: Sequence[Scenario], jobs: int = 1) -> Iterator[SimulationReport]:
    """Yield the reports of many scenarios in order; closing the iterator stops the rest."""
    if jobs == 1:
        yield from map(simulate_scenario, scenarios)
        return
    with open_process_pool(jobs, __name__) as pool:
        yield from pool.map(simulate_scenario, scenarios, chunksize=CHUNK_SIZE)


@contextmanager
def repeatable_chance(seed: str) -> Iterator[None]:
    """Make random numbers, tokens and keys within the context depend on `seed` alone.

    Patches `Random()` without a seed, the functions of `secrets` that are based on bytes, and new signing keys. One
    simulation at a time in a process.
    """
    source = Random(seed)  # noqa: S311 - a simulation
    seeded = random.Random.seed

    def seed_from_source(self: Random, a: Any = None, version: int = 2) -> None:
        seeded(self, source.getrandbits(64) if a is None else a, version)

    def bytes_from_source(count: int | None = None) -> bytes:
        return source.randbytes(32 if count is None else count)

    def new_key() -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(source.randbytes(32))

    with (
        patch.object(random.Random, "seed", seed_from_source),
        patch.object(secrets, "token_bytes", bytes_from_source),
        patch.object(Ed25519PrivateKey, "generate", new_key),
    ):
        yield


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    root = Path(tempfile.mkdtemp(prefix="league-", dir=MEMORY_DISK if MEMORY_DISK.is_dir() else None))
    try:
        yield root
    finally:
        shutil.rmtree(root, ignore_errors=True)


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Disable garbage collection, so that unreferenced tasks are closed at repeatable moments."""
    was_enabled = gc.isenabled()
    gc.disable()
    gc.freeze()
    try:
        yield
    finally:
        gc.collect()
        gc.unfreeze()
        if was_enabled:
            gc.enable()


async def _run_simulation(
    loop: KillableEventLoop, world: SimulatedWorld, complaints: StringIO, keep_events: bool
) -> SimulationReport:
    loop.set_exception_handler(lambda _, context: world.escaped_errors.append(_format_escaped_error(context)))
    with world.disks.patch_file_calls():
        try:
            world.start_all()
            await _wait_until_over(world)
            gc.collect()  # unreferenced failed tasks report their errors now
            return _build_report(world, LeagueEvidence(world, complaints.getvalue()), keep_events)
        finally:
            await _clean_up(loop, world)


def _build_report(world: SimulatedWorld, evidence: LeagueEvidence, keep_events: bool) -> SimulationReport:
    breaches = [
        InvariantBreach(check.__name__, what)
        for check in (LADDER_INVARIANTS if world.is_ladder else INVARIANTS)
        for what in check(evidence)
    ]
    return SimulationReport(
        scenario=world.scenario,
        breaches=breaches,
        digest=world.trace.digest,
        seconds=asyncio.get_running_loop().time(),
        calls=len(world.network.calls),
        lives=len(world.processes),
        events=[*evidence.event_lines, *_describe_running_tasks(world)] if breaches or keep_events else (),
    )


async def _wait_until_over(world: SimulatedWorld) -> None:
    """Wait until the league is over, all agents know it and no more is sent; or until the time limits."""
    scenario = world.scenario
    await asyncio.sleep(scenario.healing_at)
    if world.is_ladder:
        await asyncio.sleep(LADDER_SECONDS)
        world.end_ladder()
        await _poll_until(lambda: not world.has_open_match(), LEAGUE_TIMEOUT_SECONDS)
        await asyncio.sleep(FINAL_SECONDS)
        return
    a_match = 2 * SILENT_MATCH_SECONDS if scenario.silent_referees else MATCH_SECONDS
    a_match += TIMED_ROUND_SECONDS if scenario.has_times else 0
    limit = LEAGUE_TIMEOUT_SECONDS + a_match * scenario.players**2
    limit += scenario.seconds_turned_back if scenario.has_times else 0
    await _poll_until(world.is_completed, limit)
    for _ in range(scenario.late_corrections):
        await _poll_until(lambda: not world.uninformed_agents(), NOTIFY_SECONDS)
        world.correct_league()
        await asyncio.sleep(POLL_SECONDS)
        await _poll_until(world.is_completed, limit)
    await _poll_until(lambda: not world.uninformed_agents(), NOTIFY_SECONDS)
    await asyncio.sleep(FINAL_SECONDS)


async def _poll_until(found: Callable[[], bool], seconds: float) -> None:
    """Poll a condition until it holds, at most `seconds`."""
    for _ in range(int(seconds / POLL_SECONDS)):
        if found():
            return
        await asyncio.sleep(POLL_SECONDS)


def _describe_running_tasks(world: SimulatedWorld) -> list[str]:
    """Describe where each task of the running agents is waiting."""
    found = []
    for seat in world.agents.values():
        for task in seat.process.tasks if seat.process else ():
            if not task.done() and (stack := task.get_stack(limit=1)):
                code, line = stack[-1].f_code, stack[-1].f_lineno
                found.append(f"{seat.name} is in {code.co_qualname} ({Path(code.co_filename).name}:{line})")
    return sorted(found)


async def _clean_up(loop: KillableEventLoop, world: SimulatedWorld) -> None:
    """Cancel all tasks, of running and of killed processes, ignoring their errors."""
    loop.set_exception_handler(lambda *_: None)
    await cancel_all([task for life in world.processes if not life.has_ended for task in life.tasks])
    await loop.finish_dead_tasks()
    world.close()


def _format_escaped_error(context: dict[str, Any]) -> str:
    error = context.get("exception")
    trace = "".join(traceback.format_exception(error)) if isinstance(error, BaseException) else ""
    return f"{context.get('message')} {trace}".rstrip()
