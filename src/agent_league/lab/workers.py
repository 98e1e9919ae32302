"""Running work items in several processes. Their number changes the order of the results, not the results."""

import sys
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import redirect_stdout
from itertools import islice
from typing import Protocol, TypeVar

from agent_league.child_processes import open_process_pool
from agent_league.errors import LeagueFailed

QUEUED_PER_PROCESS = 4
"""Work items queued for each process, so that none is idle between two."""
BUNDLE_SECONDS = 0.05
"""Short work items are sent to a process in bundles of about this processor time, as a message costs some, too."""
MAX_WAIT_SECONDS = 1.0
"""Longest time of a bundle by the clock: some items wait for others to answer."""
MAX_BUNDLE = 64
BROKEN_POOL = (
    "A process that played games has ended: was there too little memory, or does a script play without"
    " `if __name__ == '__main__':` before it?"
)
T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")
BundleResult = tuple[list[T], int]


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
    max_bundle: int = MAX_BUNDLE,
) -> Generator[T]:
    """Run all work items and yield their results as they come; closing the iterator ends the processes.

    So many items are `queued` for each process; short ones go in bundles of at most `max_bundle`. `preload` are modules
    to import before a process is forked. If one ends, LeagueFailed is raised with `broken`.
    """
    if jobs == 1:
        for piece in work:
            yield from piece.run()
        return
    try:
        with open_process_pool(jobs, __name__, *preload) as pool:
            yield from _run_in_pool(pool, work, jobs * queued, max_bundle)
    except BrokenProcessPool:
        raise LeagueFailed(broken) from None


def _run_in_pool(pool: ProcessPoolExecutor, work: Iterable[WorkItem[T]], most: int, max_bundle: int) -> Iterator[T]:
    """Run the work in bundles that are worth a message; the first are single items, which show how long one takes."""
    pieces, size = iter(work), 1
    waiting: set[Future[BundleResult[T]]] = set()
    while True:
        bundle = list(islice(pieces, size))
        if bundle:
            waiting.add(pool.submit(_run_bundle, bundle))
        if not waiting:
            return
        if not bundle or len(waiting) >= most:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                results, fitting = future.result()
                yield from results
                size = max(1, min(max_bundle, fitting))


def _run_bundle(bundle: Sequence[WorkItem[T]]) -> "BundleResult[T]":
    """Run work items; returns their results, and how many such items make a bundle of the right length."""
    started, waited = time.process_time(), time.perf_counter()
    with redirect_stdout(sys.stderr):  # what strategies print is no result
        results = [result for piece in bundle for result in piece.run()]
    used, waited = time.process_time() - started, time.perf_counter() - waited
    return results, int(len(bundle) * min(BUNDLE_SECONDS / max(used, 1e-6), MAX_WAIT_SECONDS / max(waited, 1e-6)))
