"""Imported by the fork server alone, first of all, and so in force in every process that is forked from it.

Ctrl-C is ignored. A process that can't take over its work because whoever started it has ended meanwhile ends without
a word; every other error is told. Garbage is collected in the forked processes alone, and there not among what was
imported, which stays: looking through it again and again took a fifth of the server's start.
"""

import gc
import os
import signal
import sys
from pickle import UnpicklingError
from types import TracebackType


def _print_error(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    work_cut_off = isinstance(error, EOFError | UnpicklingError)
    semaphore_gone = isinstance(error, FileNotFoundError) and error.filename is None
    if not (work_cut_off or semaphore_gone):
        sys.__excepthook__(kind, error, trace)


def _collect_garbage() -> None:
    gc.freeze()
    gc.enable()


signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT, signal.SIGTERM))  # held back while it was started
sys.excepthook = _print_error
gc.disable()
os.register_at_fork(after_in_child=_collect_garbage)
