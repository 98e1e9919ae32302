"""Running work items in several processes. Their number changes the order of the results, not the results."""

import sys
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import redirect_stdout
from typing import Protocol, TypeVar

from agent_league.child_processes import open_process_pool
from agent_league.errors import LeagueFailed

QUEUED_PER_PROCESS = 4
"""Work items queued for each process, so that none is idle between two."""
BROKEN_POOL = (
    "A process that played games has ended: was there too little memory, or does a script play without"
    " `if __name__ == '__main__':` before it?"
)
T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")


class WorkItem(Protocol[T_co]):
    """A piece of work that can be pickled and run in another process."""

    def run(self) -> Iterator[T_co]: ...


def run_all(
    work: Iterable[WorkItem[T]],
    jobs: int = 1,
    *,
    preload: Sequence[str] = ("agent_league.lab.tournament",),
    broken: str = BROKEN_POOL,
    queued: int = QUEUED_PER_PROCESS,
) -> Generator[T]:
    """Run all work items and yield their results as they come; closing the iterator ends the processes.

    So many items are `queued` for each process. `preload` are modules to import before a process is forked. If one
    ends, LeagueFailed is raised with `broken`.
    """
    if jobs == 1:
        for piece in work:
            yield from piece.run()
        return
    try:
        with open_process_pool(jobs, __name__, *preload) as pool:
            yield from _run_in_pool(pool, work, jobs * queued)
    except BrokenProcessPool:
        raise LeagueFailed(broken) from None


def _run_in_pool(pool: ProcessPoolExecutor, work: Iterable[WorkItem[T]], most: int) -> Iterator[T]:
    waiting: set[Future[list[T]]] = set()
    for piece in work:
        waiting.add(pool.submit(_run_item, piece))
        if len(waiting) >= most:
            waiting = yield from _yield_finished(waiting)
    while waiting:
        waiting = yield from _yield_finished(waiting)


def _yield_finished(waiting: set[Future[list[T]]]) -> Generator[T, None, set[Future[list[T]]]]:
    """Wait for a future, yield the results of all that are done, return the others."""
    done, still = wait(waiting, return_when=FIRST_COMPLETED)
    for future in done:
        yield from future.result()
    return still


def _run_item(piece: WorkItem[T]) -> list[T]:
    with redirect_stdout(sys.stderr):  # what strategies print is no result
        return list(piece.run())
