"""How child processes are started: from a fork server, out of reach of Ctrl-C, and never by halves.

Ctrl-C in a terminal reaches every process of a command, at any moment of its start. The one that a person started acts
on it and ends the others; `fork_server` sees to it that they don't hear it and have nothing to say about their end.
"""

import gc
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def make_process_context(*preload: str) -> Any:
    """Use a fork server, which has imported these modules once; Windows spawns each process."""
    if sys.platform == "win32":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["agent_league.fork_server", *preload])
    return context


@contextmanager
def hold_signals() -> Iterator[None]:
    """Hold back SIGINT and SIGTERM while a process is started and noted; they arrive when the block ends."""
    if sys.platform == "win32":
        yield
        return
    resource_tracker.ensure_running()  # its start would let them through
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def ignore_interrupts() -> None:
    """Ignore Ctrl-C in this process, wherever it came from."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def open_process_pool(jobs: int, *preload: str) -> Iterator[ProcessPoolExecutor]:
    """A pool whose processes end with this one, and at once if the block is left by an error."""
    others = set(multiprocessing.active_children())
    pool = _ProcessPool(jobs, make_process_context(*preload), initializer=_start_worker)
    try:
        yield pool
    except BaseException:
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


class _ProcessPool(ProcessPoolExecutor):
    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        with hold_signals():  # it may start a process
            return super().submit(fn, *args, **kwargs)


def _start_worker() -> None:
    ignore_interrupts()
    gc.freeze()  # what was imported stays: looking through it again and again would copy its pages, too
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
