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
WHY_ENDED = (
    "a player may end its process (`os._exit`, a crash in C code), there may be too little memory, or a script plays"
    " without `if __name__ == '__main__':` before it"
)
TRIES_ALONE = 2
T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")
BundleResult = tuple[list[T], int]


class WorkItem(Protocol[T_co]):
    """A piece of work that can be pickled and run in another process; its text names it for a person."""

    def run(self) -> Iterator[T_co]: ...


def run_all(
    work: Iterable[WorkItem[T]],
    jobs: int = 1,
    *,
    preload: Sequence[str] = ("agent_league.lab.tournament",),
    why_ended: str = WHY_ENDED,
    queued: int = QUEUED_PER_PROCESS,
    max_bundle: int = MAX_BUNDLE,
) -> Generator[T]:
    """Run all work items and yield their results as they come; closing the iterator ends the processes.

    So many items are `queued` for each process; short ones go in bundles of at most `max_bundle`. `preload` are modules
    to import before a process is forked. If a process ends, what was under way is run again, each item in a process
    of its own; if that ends too, LeagueFailed names the item and says `why_ended`.
    """
    if jobs == 1:
        for piece in work:
            yield from piece.run()
        return
    pieces, is_over = iter(work), False
    while not is_over:
        under_way: dict[Future[BundleResult[T]], list[WorkItem[T]]] = {}
        try:
            with open_process_pool(jobs, __name__, *preload) as pool:
                yield from _run_in_pool(pool, pieces, under_way, jobs * queued, max_bundle)
            is_over = True
        except BrokenProcessPool:
            for future, bundle in under_way.items():
                if future.done() and not future.cancelled() and future.exception() is None:
                    yield from future.result()[0]
                else:
                    for item in bundle:
                        yield from _run_alone(item, preload, why_ended)


def _run_in_pool(
    pool: ProcessPoolExecutor,
    pieces: Iterator[WorkItem[T]],
    under_way: dict[Future[BundleResult[T]], list[WorkItem[T]]],
    most: int,
    max_bundle: int,
) -> Iterator[T]:
    """Run the work in bundles that are worth a message; the first are single items, which show how long one takes.

    Bundles are `under_way` until their results are yielded.
    """
    size = 1
    while True:
        bundle = [] if len(under_way) >= most else list(islice(pieces, size))
        if bundle:
            try:
                under_way[pool.submit(_run_bundle, bundle)] = bundle
            except BrokenProcessPool:
                under_way[Future()] = bundle  # it was taken, and wasn't begun
                raise
        if not under_way:
            return
        if not bundle or len(under_way) >= most:
            for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                results, fitting = future.result()
                del under_way[future]
                yield from results
                size = max(1, min(max_bundle, fitting))


def _run_alone(item: WorkItem[T], preload: Sequence[str], why_ended: str) -> list[T]:
    """Run an item in a process of its own, twice if that ends: another item may have ended the first one it was in."""
    for _ in range(TRIES_ALONE):
        try:
            with open_process_pool(1, __name__, *preload) as pool:
                return pool.submit(_run_bundle, [item]).result()[0]
        except BrokenProcessPool:
            pass
    raise LeagueFailed(f"A process ended with {item}, also if it had nothing else: {why_ended}")


def _run_bundle(bundle: Sequence[WorkItem[T]]) -> "BundleResult[T]":
    """Run work items; returns their results, and how many such items make a bundle of the right length."""
    started, waited = time.process_time(), time.perf_counter()
    with redirect_stdout(sys.stderr):  # what strategies print is no result
        results = [result for piece in bundle for result in piece.run()]
    used, waited = time.process_time() - started, time.perf_counter() - waited
    return results, int(len(bundle) * min(BUNDLE_SECONDS / max(used, 1e-6), MAX_WAIT_SECONDS / max(waited, 1e-6)))
