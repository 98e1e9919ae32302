"""What a process has used so far, as the kernel counts it: CPU seconds and memory. Linux alone tells it this way."""

import os
import resource
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Usage:
    """One process at one moment."""

    cpu_seconds: float
    memory: int
    """Resident bytes; pages that processes share count in each of them."""


def usage_of(pid: int) -> Usage:
    """What a running process has used."""
    fields = (PROC / str(pid) / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    pages = (PROC / str(pid) / "statm").read_text(encoding="utf-8").split()[1]
    ticks = int(fields[11]) + int(fields[12])
    return Usage(ticks / os.sysconf("SC_CLK_TCK"), int(pages) * os.sysconf("SC_PAGE_SIZE"))


def used_with_children(pid: int) -> float:
    """CPU seconds of a running process and its children, running or ended, and of theirs that have ended."""
    children = (PROC / str(pid) / "task" / str(pid) / "children").read_text(encoding="utf-8").split()
    return sum(map(_count_cpu_seconds, (pid, *map(int, children))))


def _count_cpu_seconds(pid: int) -> float:
    """CPU seconds of a process and of its children that have ended."""
    fields = (PROC / str(pid) / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def used_by_ended_children() -> float:
    """CPU seconds of the children of this process that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def require_proc() -> None:
    if not (PROC / "self" / "statm").exists():
        raise SystemExit("bench: it reads what processes use from /proc, which is not here; run it on Linux")
