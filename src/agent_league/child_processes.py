"""How child processes are started: from a fork server, out of reach of Ctrl-C, and never by halves.

Ctrl-C in a terminal reaches every process of a command, at any moment of its start. The one that a person started acts
on it and ends the others; `fork_server` sees to it that they don't hear it and have nothing to say about their end.
"""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import forkserver, resource_tracker
from multiprocessing.process import BaseProcess
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
if sys.platform != "win32":
    END_SIGNAL = signal.SIGUSR1
    """Ends a worker of a pool, by default and so within C code, too, unless it is held back."""


def make_process_context(*preload: str) -> Any:
    """Use a fork server, which has imported these modules once; Windows spawns each process."""
    if sys.platform == "win32":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["agent_league.fork_server", *preload])
    return context


def start_fork_server(*preload: str) -> None:
    """Start the fork server of the processes to come, which imports these modules while this process goes on."""
    make_process_context(*preload)
    if sys.platform != "win32":
        with hold_signals():
            forkserver.ensure_running()


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
    """A pool whose processes end with this one, and at once if the block is left by an error.

    One that is sending a result sends it to its end first: the pool would wait for ever for the rest of half a message.
    """
    others = set(multiprocessing.active_children())
    pool = _ProcessPool(jobs, make_process_context(*preload), initializer=_start_worker)
    try:
        yield pool
    except BaseException:
        for process in set(multiprocessing.active_children()) - others:
            _end_worker(process)
        raise
    finally:
        pool.shutdown(cancel_futures=True)


class _ProcessPool(ProcessPoolExecutor):
    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        with hold_signals():  # it may start a process
            return super().submit(_run_call, fn, *args, **kwargs)


def _end_worker(process: BaseProcess) -> None:
    if sys.platform == "win32" or process.pid is None:
        process.terminate()
        return
    with suppress(ProcessLookupError):
        os.kill(process.pid, END_SIGNAL)


def _run_call(fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a call in a worker, which can be ended meanwhile, and not between two calls: the pool ends it there."""
    if sys.platform == "win32":
        return fn(*args, **kwargs)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (END_SIGNAL,))
    try:
        return fn(*args, **kwargs)
    finally:
        signal.pthread_sigmask(signal.SIG_BLOCK, (END_SIGNAL,))


def _start_worker() -> None:
    ignore_interrupts()
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_BLOCK, (END_SIGNAL,))  # in the thread below, too
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
