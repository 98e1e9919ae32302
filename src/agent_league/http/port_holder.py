"""Which process listens on a port: for the person who is told that the port is taken. Linux alone can tell."""

from collections.abc import Iterator
from pathlib import Path

from agent_league.text import shorten

LISTENING = "0A"
LONGEST_COMMAND = 120
TABLES = ("/proc/net/tcp", "/proc/net/tcp6")


def describe_port_holder(port: int) -> str:
    """Name the process that listens on a port of this machine with its command; empty if that can't be found out."""
    inodes = {f"socket:[{inode}]" for table in TABLES for inode in _listening_inodes(Path(table), port)}
    if not inodes:
        return ""
    for pid in _process_ids():
        if _has_open_socket(pid, inodes):
            pid = _find_starter(pid)  # noqa: PLW2901 - the one to stop: it would start a lost child again
            command = _describe_command(pid)
            return f"process {pid} ({command})" if command else f"process {pid}"
    return "a process of another user"


def _listening_inodes(table: Path, port: int) -> Iterator[str]:
    try:
        lines = table.read_text(encoding="ascii").splitlines()[1:]
    except (OSError, ValueError):
        return
    for line in lines:
        fields = line.split()
        if fields[3] == LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
            yield fields[9]


def _process_ids() -> list[int]:
    return sorted(int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal())


def _has_open_socket(pid: int, links: set[str]) -> bool:
    folder = Path("/proc", str(pid), "fd")
    try:
        return any(_link_target(entry) in links for entry in folder.iterdir())
    except OSError:  # it has ended, or is another user's
        return False


def _link_target(entry: Path) -> str:
    try:
        return str(entry.readlink())
    except OSError:
        return ""


def _find_starter(pid: int) -> int:
    """Return the process that a person started: not a child that Python's multiprocessing made of it."""
    while b"multiprocessing." in _read_proc_file(pid, "cmdline"):
        parent = _read_proc_file(pid, "stat").rpartition(b")")[2].split()[1:2]
        if not parent or int(parent[0]) <= 1:
            break
        pid = int(parent[0])
    return pid


def _read_proc_file(pid: int, name: str) -> bytes:
    try:
        return Path("/proc", str(pid), name).read_bytes()
    except OSError:  # it has ended, or is another user's
        return b""


def _describe_command(pid: int) -> str:
    """The command line of a process as people know it: without the interpreter and the path to it."""
    words = _read_proc_file(pid, "cmdline").decode(errors="replace").rstrip("\0").split("\0")
    if "agent_league" in words:
        words = ["league", *words[words.index("agent_league") + 1 :]]
    command = " ".join(words)
    return shorten(command, LONGEST_COMMAND)
