"""The processes of a league: started, supervised and stopped together.

Each child has a pipe to its parent. The manager's child sends the league's events through it; a closed pipe ends the
child, so no process outlives the command that started it.
"""

import asyncio
import multiprocessing
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Any, Self

from agent_league.errors import AgentLeagueError, LeagueFailed, UserError
from agent_league.launch.agent_plan import Seat, Watchers
from agent_league.launch.serving import run_async, serve
from agent_league.model.events import Event, LeagueCompleted, MatchAssigned

STOP = "stop"
END_SECONDS = 5
REPORT_SECONDS = 0.02
EARLY_SECONDS = 2
MAX_EARLY_ENDS = 3


@dataclass(frozen=True, slots=True)
class Failed:
    """Sent by a child process that can't go on."""

    sentence: str
    is_users: bool


@dataclass(slots=True)
class Child:
    """One child process and the agents in it."""

    seats: tuple[Seat, ...]
    process: multiprocessing.process.BaseProcess
    started: float
    early_ends: int = 0
    """How often in a row it ended within EARLY_SECONDS of its start."""

    @property
    def title(self) -> str:
        return ", ".join(seat.title for seat in self.seats)


class Fleet:
    """The processes of one league. Use it as a context manager; leaving it stops them all.

    A process that ends without a ProcessFailure was killed, and is restarted: the manager finds its league in the
    store, referees and players rejoin with their credentials.
    """

    def __init__(self, processes: Sequence[Sequence[Seat]]) -> None:
        self._context = _context()
        self._plans = [tuple(seats) for seats in processes]
        self._children: dict[Connection, Child] = {}

    def __enter__(self) -> Self:
        try:
            for seats in self._plans:
                self._start(seats)
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    @property
    def pids(self) -> list[int]:
        return [child.process.pid for child in self._children.values() if child.process.pid is not None]

    def events(self, tick: float | None = None, remark: Callable[[str], None] | None = None) -> Iterator[Event | None]:
        """Yield events until the manager is done; None whenever `tick` seconds pass without one.

        `remark` is called with a sentence for each restarted process. Raises UserError or LeagueFailed.
        """
        completed = False
        while True:
            ready = wait(list(self._children), tick)
            if not ready:
                yield None
            for pipe in [pipe for pipe in self._children if pipe in ready]:
                try:
                    news = pipe.recv()
                except (EOFError, OSError):  # OSError: killed with unread data in the pipe
                    child = self._lose(pipe)
                    if completed and child.seats != self._plans[0]:
                        continue
                    if completed and child.process.exitcode == 0:
                        return
                    sentence = self._replace(child)
                    if remark:
                        remark(sentence)
                    continue
                if isinstance(news, Failed):
                    raise UserError(news.sentence) if news.is_users else LeagueFailed(news.sentence)
                for event in news:
                    completed |= isinstance(event, LeagueCompleted)
                    yield event

    def _start(self, seats: tuple[Seat, ...], early_ends: int = 0) -> None:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_live, args=(seats, theirs), daemon=True)
        process.start()
        theirs.close()
        self._children[ours] = Child(seats, process, time.monotonic(), early_ends)

    def _lose(self, pipe: Connection) -> Child:
        child = self._children.pop(pipe)
        pipe.close()
        child.process.join()
        return child

    def _replace(self, child: Child) -> str:
        """Restart a lost process and return a sentence; raises LeagueFailed if it keeps ending early."""
        early = time.monotonic() - child.started < EARLY_SECONDS
        early_ends = child.early_ends + 1 if early else 0
        if early_ends >= MAX_EARLY_ENDS:
            raise LeagueFailed(f"the process of {child.title} ended unexpectedly {early_ends} times in a row")
        self._start(child.seats, early_ends)
        return f"The process of {child.title} was lost and started again."

    def end(self) -> None:
        """Stop all processes: ask, and kill after END_SECONDS."""
        for pipe in self._children:
            with suppress(OSError):  # it has ended by itself
                pipe.send(STOP)
        for child in self._children.values():
            child.process.join(END_SECONDS)
            if child.process.is_alive():
                child.process.kill()
                child.process.join()
        for pipe in self._children:
            pipe.close()
        self._children.clear()


def _context() -> Any:
    """Use a fork server, which has imported everything once; Windows spawns each process."""
    if sys.platform == "win32":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return context


def _live(seats: tuple[Seat, ...], pipe: Connection) -> None:
    """Run a child process. It ignores Ctrl-C: the parent stops it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        run_async(_serve(seats, pipe))
    except AgentLeagueError as error:
        _say(pipe, Failed(str(error), isinstance(error, UserError)))
    except Exception as error:  # noqa: BLE001 - a process ends here
        _say(pipe, Failed(f"{', '.join(seat.title for seat in seats)}: {error!r}", is_users=False))


async def _serve(seats: tuple[Seat, ...], pipe: Connection) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def listen() -> None:
        with suppress(EOFError, OSError):
            pipe.recv()
        with suppress(RuntimeError):  # the loop is closed already
            loop.call_soon_threadsafe(stop.set)

    threading.Thread(target=listen, daemon=True).start()
    reporter = _Reporter(pipe)
    try:
        await serve(seats, stop, Watchers(league=reporter.tell))
    finally:
        reporter.send()


class _Reporter:
    """Sends events to the parent, those of REPORT_SECONDS in one write."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._events: list[Event] = []

    def tell(self, event: Event) -> None:
        if isinstance(event, MatchAssigned):
            return  # one per match, and the parent doesn't show them
        if not self._events:
            asyncio.get_running_loop().call_later(REPORT_SECONDS, self.send)
        self._events.append(event)

    def send(self) -> None:
        if self._events:
            _say(self._pipe, self._events)
            self._events = []


def _say(pipe: Connection, news: list[Event] | Failed) -> None:
    with suppress(OSError):  # the parent is gone; the closed pipe ends us
        pipe.send(news)
