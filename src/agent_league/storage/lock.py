"""A lock file that one process of a machine can hold; it is released when the process ends in any way."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any


class LockHeld(Exception):
    """Another process holds the lock; the message is what it wrote about itself."""


@contextmanager
def hold_lock(path: Path, owner: str) -> Iterator[None]:
    """Hold the lock; raises LockHeld. The file is never deleted, as a deleted one could be locked twice."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+", encoding="utf-8", errors="replace") as file:
        if not try_lock(file):
            file.seek(0)
            raise LockHeld(file.read().strip())
        file.truncate(0)
        file.write(f"{owner}\n")
        file.flush()
        yield


def read_lock_holder(path: Path) -> str | None:
    """Read what the process that holds the lock wrote about itself; None if it isn't held."""
    try:
        with path.open("r+", encoding="utf-8", errors="replace") as file:
            if try_lock(file):
                return None
            file.seek(0)
            return file.read().strip()
    except OSError:
        return None


def try_lock(file: IO[Any]) -> bool:
    """Lock an open file until it is closed; return whether nobody else has."""
    try:
        if sys.platform == "win32":
            import msvcrt  # noqa: PLC0415 - exists on Windows only

            file.seek(1 << 30)  # beyond the content, as other processes can't read a locked byte
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl  # noqa: PLC0415 - not on Windows

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
