"""A drill: as many processes as the machine has cores, each serving its ports and calling those of the next one.

It knows neither what carries the calls nor what they say; `limit`, `floor` and `stock` bring that. A process that has
made its calls serves on until all have.
"""

import asyncio
import itertools
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol

from agent_league.child_processes import hold_signals, ignore_interrupts, make_process_context
from agent_league.launch import LEAGUE_MODULES
from agent_league.launch.serving import run_async
from bench.calls import Call


class Stack(Protocol):
    """A client and servers. What a server answers is as many bytes as the first eight of the request say."""

    async def serve(self, port: int) -> None: ...
    async def call(self, port: int, body: bytes, bearer: str) -> bytes: ...
    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Speed:
    """How fast calls went, and what they cost on both sides together."""

    calls_per_second: float
    cpu_per_call: float


@dataclass(frozen=True, slots=True)
class _Part:
    """What one process does."""

    make: Callable[[], Stack]
    calls: Sequence[Call]
    serves: Sequence[int]
    asks: Sequence[int]
    in_flight: int


def measure(make: Callable[[], Stack], calls: Sequence[Call], ports: Sequence[int], cores: int | None = None) -> Speed:
    """Makes all calls, as many at a time as there are ports, and tells how fast it went."""
    groups = max(1, min(cores or os.cpu_count() or 1, len(ports)))
    shares = [ports[number::groups] for number in range(groups)]
    parts = [
        _Part(make, calls[number::groups], shares[number], shares[(number + 1) % groups], len(shares[number]))
        for number in range(groups)
    ]
    reports = _run(parts)
    return Speed(len(calls) / max(seconds for seconds, _ in reports), sum(spent for _, spent in reports) / len(calls))


def processes_of_the_bench() -> Any:
    """Children are forked from a server that has imported once what they need; so are those of a fleet after that."""
    ours = ("slow_peers", "floor", "limit", "stock")
    return make_process_context(*LEAGUE_MODULES, *(f"bench.{name}" for name in ours))


def answer_to(body: bytes) -> bytes:
    return b"x" * int(body[:8])


def end_with(pipe: Connection) -> None:
    """Ends this process when the other end of its pipe is gone, for whatever reason; Ctrl-C is the parent's."""
    ignore_interrupts()

    def watch() -> None:
        with suppress(EOFError, OSError):
            pipe.recv()
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()


def _run(parts: Sequence[_Part]) -> list[tuple[float, float]]:
    """Seconds and CPU seconds of each process."""
    context = processes_of_the_bench()
    meeting = context.Barrier(len(parts))
    pipes: list[Connection] = []
    processes = []
    try:
        for part in parts:
            ours, theirs = context.Pipe()
            pipes.append(ours)
            process = context.Process(target=_live, args=(part, meeting, theirs), daemon=True)
            with hold_signals():
                process.start()
                theirs.close()
                processes.append(process)
        return _gather(pipes)
    finally:
        for pipe in pipes:
            pipe.close()
        for process in processes:
            process.join()


def _gather(pipes: Sequence[Connection]) -> list[tuple[float, float]]:
    reports = []
    waiting = list(pipes)
    while waiting:
        for pipe in [pipe for pipe in waiting if pipe in wait(waiting)]:
            try:
                report = pipe.recv()
            except EOFError:
                report = "a process was lost"
            if isinstance(report, str):
                raise SystemExit(f"bench: limit and floor can't be measured: {report}")
            reports.append(report)
            waiting.remove(pipe)
    return reports


def _live(part: _Part, meeting: Any, pipe: Connection) -> None:
    end_with(pipe)
    try:
        run_async(_take_part(part, meeting, pipe))
    except Exception as error:  # noqa: BLE001 - a process ends here
        with suppress(OSError):  # nobody is left to hear it: then the others have gone first
            pipe.send(f"{error!r}")


async def _take_part(part: _Part, meeting: Any, pipe: Connection) -> None:
    stack = part.make()
    for port in part.serves:
        await stack.serve(port)
    await asyncio.to_thread(meeting.wait)
    await asyncio.gather(*(stack.call(port, b"00000002", "") for port in part.asks))
    await asyncio.to_thread(meeting.wait)
    began, spent = time.perf_counter(), time.process_time()
    await _make_calls(stack, part)
    seconds = time.perf_counter() - began
    await asyncio.to_thread(meeting.wait)
    pipe.send((seconds, time.process_time() - spent))
    await stack.close()


async def _make_calls(stack: Stack, part: _Part) -> None:
    """So many at a time, to all ports in turn."""
    work = zip(part.calls, itertools.cycle(part.asks), strict=False)

    async def worker() -> None:
        for call, port in work:
            body = f"{call.answer:08}".encode().ljust(call.request, b"x")
            answer = await stack.call(port, body, "x" * call.bearer)
            if len(answer) != call.answer:
                raise ValueError(f"an answer of {call.answer} bytes was asked for, {len(answer)} came")

    await asyncio.gather(*(worker() for _ in range(part.in_flight)))
