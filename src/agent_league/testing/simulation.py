"""Simulations: a league in a world of faults, from its seed to what was found wrong. The same seed repeats exactly."""

import asyncio
import gc
import multiprocessing
import shutil
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager, redirect_stderr
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from agent_league.testing.agent_lives import MortalLoop, end_all
from agent_league.testing.faults import Scenario
from agent_league.testing.invariants import INVARIANTS
from agent_league.testing.league_evidence import Evidence
from agent_league.testing.repeatable_chance import repeatable_chance
from agent_league.testing.simulated_world import SILENT_MATCH_SECONDS, World

MEMORY_DISK = Path("/dev/shm")  # noqa: S108 - only its speed is wanted; another place does as well
LOOK_SECONDS = 1.0
LAST_WORDS_SECONDS = 5.0
TELLING_SECONDS = 300.0
"""So long after healing and the end of the league its agents may take to learn of it."""
PATIENCE_SECONDS = 2500.0
"""So long after healing a league may take, and for each match a little more; a probe alone may wait half an hour."""
MATCH_SECONDS = 10.0
AT_A_TIME = 8
"""Scenarios that a process is given at once."""


@dataclass(frozen=True, slots=True)
class Breach:
    """An invariant that doesn't hold."""

    invariant: str
    what: str


@dataclass(frozen=True, slots=True)
class Report:
    """What became of one scenario."""

    scenario: Scenario
    breaches: Sequence[Breach]
    digest: str
    """Of everything that happened."""
    seconds: float
    """Of virtual time."""
    calls: int
    lives: int
    """Of agents; more than there are agents, where some came back."""
    events: Sequence[str] = ()
    """A line each; kept where something was found wrong, or asked for."""


def simulate(scenario: Scenario, *, keep_events: bool = False) -> Report:
    """Plays the scenario and checks every invariant."""
    complaints = StringIO()
    with (
        _folder() as root,
        _no_garbage_collection(),
        repeatable_chance(f"chance {scenario.seed}"),
        redirect_stderr(complaints),
        closing(MortalLoop()) as loop,
    ):
        return loop.run_until_complete(_simulate(loop, World(scenario, root), complaints, keep_events))


def simulate_all(scenarios: Sequence[Scenario], jobs: int = 1) -> Iterator[Report]:
    """The reports of many scenarios, in their order; whoever has seen enough closes the iterator."""
    if jobs == 1:
        yield from map(simulate, scenarios)
        return
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        try:
            yield from pool.map(simulate, scenarios, chunksize=AT_A_TIME)
        finally:
            pool.shutdown(cancel_futures=True)


@contextmanager
def _folder() -> Iterator[Path]:
    root = Path(tempfile.mkdtemp(prefix="league-", dir=MEMORY_DISK if MEMORY_DISK.is_dir() else None))
    try:
        yield root
    finally:
        shutil.rmtree(root, ignore_errors=True)


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """When a forgotten task is closed must depend on the scenario alone."""
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


async def _simulate(loop: MortalLoop, world: World, complaints: StringIO, keep_events: bool) -> Report:
    loop.set_exception_handler(lambda _, context: world.raised.append(_escaped(context)))
    with world.disks.watched():
        try:
            world.begin()
            await _until_over(world)
            gc.collect()  # a task that failed and was forgotten says so only now
            return _report(world, Evidence(world, complaints.getvalue()), keep_events)
        finally:
            await _clean_up(loop, world)


def _report(world: World, evidence: Evidence, keep_events: bool) -> Report:
    breaches = [Breach(check.__name__, what) for check in INVARIANTS for what in check(evidence)]
    return Report(
        scenario=world.scenario,
        breaches=breaches,
        digest=world.trace.digest,
        seconds=asyncio.get_running_loop().time(),
        calls=len(world.network.calls),
        lives=len(world.lives),
        events=[*evidence.events, *_standing(world)] if breaches or keep_events else (),
    )


async def _until_over(world: World) -> None:
    """Until the league is over, everybody knows, and nothing more is said; or patience is at its end."""
    scenario = world.scenario
    await asyncio.sleep(scenario.healing)
    a_match = 2 * SILENT_MATCH_SECONDS if scenario.silent else MATCH_SECONDS
    await _look(world.is_completed, PATIENCE_SECONDS + a_match * scenario.players**2)
    await _look(lambda: not world.untold(), TELLING_SECONDS)
    await asyncio.sleep(LAST_WORDS_SECONDS)


async def _look(found: Callable[[], bool], seconds: float) -> None:
    """Looks again and again, for so long."""
    for _ in range(int(seconds / LOOK_SECONDS)):
        if found():
            return
        await asyncio.sleep(LOOK_SECONDS)


def _standing(world: World) -> list[str]:
    """Where the tasks of the living are."""
    found = []
    for seat in world.seats.values():
        for task in seat.life.tasks if seat.life else ():
            if not task.done() and (stack := task.get_stack(limit=1)):
                code, line = stack[-1].f_code, stack[-1].f_lineno
                found.append(f"{seat.name} is in {code.co_qualname} ({Path(code.co_filename).name}:{line})")
    return sorted(found)


async def _clean_up(loop: MortalLoop, world: World) -> None:
    """Ends the living and buries the dead; what they say now doesn't count."""
    loop.set_exception_handler(lambda *_: None)
    await end_all([task for life in world.lives if not life.ended for task in life.tasks])
    await loop.bury()
    world.close()


def _escaped(context: dict[str, Any]) -> str:
    error = context.get("exception")
    trace = "".join(traceback.format_exception(error)) if isinstance(error, BaseException) else ""
    return f"{context.get('message')} {trace}".rstrip()
