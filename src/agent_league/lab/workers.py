"""Playing work items in several processes. Their number changes the order of the results, not the results."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Protocol

from agent_league.errors import LeagueFailed
from agent_league.lab.counts import PairTallies

QUEUED_PER_PROCESS = 4
"""Work items queued for each process, so that none is idle between two."""


class WorkItem(Protocol):
    """A piece of work that can be pickled and played in another process."""

    def play(self) -> Iterator[PairTallies]: ...


def play_all(work: Iterable[WorkItem], jobs: int = 1) -> Generator[PairTallies]:
    """Play all work items and yield tallies as they come; closing the iterator ends the processes."""
    if jobs == 1:
        for piece in work:
            yield from piece.play()
        return
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(jobs, _make_context(), initializer=_start_worker)
    finished = False
    try:
        yield from _play_in_pool(pool, work, jobs * QUEUED_PER_PROCESS)
        finished = True
    except BrokenProcessPool:
        raise LeagueFailed(
            "A process that played games has ended: was there too little memory, or does a script play without"
            " `if __name__ == '__main__':` before it?"
        ) from None
    finally:
        if not finished:
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
        pool.shutdown(cancel_futures=True)


def _play_in_pool(pool: ProcessPoolExecutor, work: Iterable[WorkItem], most: int) -> Iterator[PairTallies]:
    waiting: set[Future[list[PairTallies]]] = set()
    for piece in work:
        waiting.add(pool.submit(_play_item, piece))
        if len(waiting) >= most:
            waiting = yield from _yield_finished(waiting)
    while waiting:
        waiting = yield from _yield_finished(waiting)


def _yield_finished(
    waiting: set[Future[list[PairTallies]]],
) -> Generator[PairTallies, None, set[Future[list[PairTallies]]]]:
    """Wait for a future, yield the tallies of all that are done, return the others."""
    done, still = wait(waiting, return_when=FIRST_COMPLETED)
    for future in done:
        yield from future.result()
    return still


def _play_item(piece: WorkItem) -> list[PairTallies]:
    return list(piece.play())


def _start_worker() -> None:
    """Set up a worker process: ignore Ctrl-C, which the parent handles, and exit when the parent has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _make_context() -> Any:
    """Make a forkserver context with our modules preloaded; on Windows a spawn context."""
    if sys.platform == "win32":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "agent_league.lab.tournament"])
    return context
