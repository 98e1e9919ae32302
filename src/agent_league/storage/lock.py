"""A lock that ends with its process, however that ends: for what only one process of this machine may do at a time."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


class Locked(Exception):
    """Another process has it; what that one wrote down of itself."""


@contextmanager
def locked(path: Path, owner: str) -> Iterator[None]:
    """Holds the lock; raises Locked. The file stays where it is: one that was deleted could be locked twice."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+", encoding="utf-8", errors="replace") as file:
        if not _take(file):
            file.seek(0)
            raise Locked(file.read().strip())
        file.truncate(0)
        file.write(f"{owner}\n")
        file.flush()
        yield


def holder_of(path: Path) -> str | None:
    """What the process that has a lock wrote down of itself; None where nobody has it."""
    try:
        with path.open("r+", encoding="utf-8", errors="replace") as file:
            if _take(file):
                return None
            file.seek(0)
            return file.read().strip()
    except OSError:
        return None


def _take(file: IO[str]) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt  # noqa: PLC0415 - there alone

            file.seek(1 << 30)  # beyond what is written: a locked byte can't be read by others
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl  # noqa: PLC0415 - not on Windows

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
