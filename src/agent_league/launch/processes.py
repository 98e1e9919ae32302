"""The processes of a league: started, supervised and stopped together.

Each child has a pipe to its parent. The manager's child sends the league's events through it; a closed pipe ends the
child, so no process outlives the command that started it.
"""

import asyncio
import multiprocessing
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Self

from agent_league.child_processes import hold_signals, ignore_interrupts, make_process_context
from agent_league.errors import AgentLeagueError, LeagueFailed, UserError
from agent_league.launch import LEAGUE_MODULES
from agent_league.launch.agent_plan import AgentListeners, AgentPlan
from agent_league.launch.serving import run_async, serve_agents
from agent_league.model.events import Event, LeagueCompleted, MatchAssigned

STOP = "stop"
END_SECONDS = 5
REPORT_SECONDS = 0.02
EARLY_SECONDS = 2
MAX_EARLY_ENDS = 3


@dataclass(frozen=True, slots=True)
class ProcessFailure:
    """Sent by a child process that can't go on."""

    sentence: str
    is_user_error: bool


@dataclass(slots=True)
class AgentProcess:
    """One child process and the agents in it."""

    seats: tuple[AgentPlan, ...]
    process: multiprocessing.process.BaseProcess
    started_at: float
    early_ends: int = 0
    """How often in a row it ended within EARLY_SECONDS of its start."""

    @property
    def title(self) -> str:
        return ", ".join(seat.title for seat in self.seats)


class LeagueProcesses:
    """The processes of one league. Use it as a context manager; leaving it stops them all.

    A process that ends without a ProcessFailure was killed, and is restarted: the manager finds its league in the
    store, referees and players rejoin with their credentials.
    """

    def __init__(self, processes: Sequence[Sequence[AgentPlan]]) -> None:
        self._context = make_process_context(*LEAGUE_MODULES)
        self._plans = [tuple(seats) for seats in processes]
        self._children: dict[Connection, AgentProcess] = {}

    def __enter__(self) -> Self:
        try:
            for seats in self._plans:
                self._start_process(seats)
        except BaseException:
            self.stop_all()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop_all()

    @property
    def pids(self) -> list[int]:
        return [child.process.pid for child in self._children.values() if child.process.pid is not None]

    def iter_events(
        self, tick: float | None = None, remark: Callable[[str], None] | None = None
    ) -> Iterator[Event | None]:
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
                    child = self._remove_child(pipe)
                    if completed and child.seats != self._plans[0]:
                        continue
                    if completed and child.process.exitcode == 0:
                        return
                    sentence = self._restart_process(child)
                    if remark:
                        remark(sentence)
                    continue
                if isinstance(news, ProcessFailure):
                    raise UserError(news.sentence) if news.is_user_error else LeagueFailed(news.sentence)
                for event in news:
                    completed |= isinstance(event, LeagueCompleted)
                    yield event

    def _start_process(self, seats: tuple[AgentPlan, ...], early_ends: int = 0) -> None:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_run_child, args=(seats, theirs), daemon=True)
        with hold_signals():
            process.start()
            theirs.close()
            self._children[ours] = AgentProcess(seats, process, time.monotonic(), early_ends)

    def _remove_child(self, pipe: Connection) -> AgentProcess:
        child = self._children.pop(pipe)
        pipe.close()
        child.process.join()
        return child

    def _restart_process(self, child: AgentProcess) -> str:
        """Restart a lost process and return a sentence; raises LeagueFailed if it keeps ending early."""
        early = time.monotonic() - child.started_at < EARLY_SECONDS
        early_ends = child.early_ends + 1 if early else 0
        if early_ends >= MAX_EARLY_ENDS:
            raise LeagueFailed(f"the process of {child.title} ended unexpectedly {early_ends} times in a row")
        self._start_process(child.seats, early_ends)
        return f"The process of {child.title} was lost and started again."

    def stop_all(self) -> None:
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


def _run_child(seats: tuple[AgentPlan, ...], pipe: Connection) -> None:
    """Run a child process. It ignores Ctrl-C: the parent stops it."""
    ignore_interrupts()
    try:
        run_async(_serve_child(seats, pipe))
    except AgentLeagueError as error:
        _send_to_parent(pipe, ProcessFailure(str(error), isinstance(error, UserError)))
    except Exception as error:  # noqa: BLE001 - a process ends here
        _send_to_parent(
            pipe, ProcessFailure(f"{', '.join(seat.title for seat in seats)}: {error!r}", is_user_error=False)
        )


async def _serve_child(seats: tuple[AgentPlan, ...], pipe: Connection) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def listen() -> None:
        with suppress(EOFError, OSError):
            pipe.recv()
        with suppress(RuntimeError):  # the loop is closed already
            loop.call_soon_threadsafe(stop.set)

    threading.Thread(target=listen, daemon=True).start()
    reporter = _EventReporter(pipe)
    try:
        await serve_agents(seats, stop, AgentListeners(on_league_event=reporter.report_event), has_links=True)
    finally:
        reporter.send_events()


class _EventReporter:
    """Sends events to the parent, those of REPORT_SECONDS in one write."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._events: list[Event] = []

    def report_event(self, event: Event) -> None:
        if isinstance(event, MatchAssigned):
            return  # one per match, and the parent doesn't show them
        if not self._events:
            asyncio.get_running_loop().call_later(REPORT_SECONDS, self.send_events)
        self._events.append(event)

    def send_events(self) -> None:
        if self._events:
            _send_to_parent(self._pipe, self._events)
            self._events = []


def _send_to_parent(pipe: Connection, news: list[Event] | ProcessFailure) -> None:
    with suppress(OSError):  # the parent is gone; the closed pipe ends us
        pipe.send(news)
