"""Runs the commands of a page of the documentation as they stand, as one script, on machines of its own.

The script has a network in which ports from 8000 on are free and the pages' example machines are this one. It knows
nothing of what a page promises: callers look at what was printed and written.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tests.cli.command import environment
from tests.conftest import BOUND

ROOT = Path(__file__).parents[1]
FENCE = re.compile(r'^```(\w*)(?: title="([^"]+)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE)
ALONE = ["unshare", "--map-root-user", "--net", "--mount"]
START = r"""set -eo pipefail
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
stop() { kill $(jobs -p); wait || true; }
answers() { until curl -sf -o answer.txt "$1" && grep -q "${2:-}" answer.txt; do sleep 0.1; done; } 2>/dev/null
"""
"""`stop` ends what runs in the background, as Ctrl-C in other terminals does; `answers URL [WORDS]` waits for pages."""
MACHINES = {"10.0.0.5": "league.example league.example.org", "10.0.0.1": "", "10.0.0.10": ""}
"""The machines that pages name, by their addresses."""
SERVING = re.compile(
    r"^(?:\./)?league (?:manager|referee|player|serve|connect|assess|invite-a2a)\b(?!.*&$)|"
    r"^\.venv/bin/python examples/(?:a2a_agent|mcp_server_player)\.py"
)
"""Commands that run until they are ended, so that a page shows each for a terminal of its own."""


class Block(NamedTuple):
    language: str
    title: str
    text: str


def list_blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page."""
    return [Block(*found) for found in FENCE.findall(page.read_text(encoding="utf-8"))]


def list_commands(page: Path) -> list[str]:
    """The lines of a page's blocks of commands, those that go on after a backslash joined.

    In a `console` block, which shows what is printed, a command may fail.
    """
    lines = []
    for block in list_blocks(page):
        if block.language == "bash" and not block.title:
            lines += block.text.replace("\\\n", "").splitlines()
        elif block.language == "console":
            typed = [line[2:] for line in block.text.splitlines() if line.startswith("$ ")]
            lines += [f"{command} || true" for command in typed]
    return lines


def has_network() -> bool:
    """Whether this machine gives a process a network and mounts of its own."""
    return bool(shutil.which("unshare")) and subprocess.run([*ALONE, "true"], check=False).returncode == 0


def run_page(page: Path, folder: Path, done_before: Mapping[str, str] = {}, left_out: Collection[str] = ()) -> str:
    """Write a page's files, run its commands in order, and return what they printed.

    `done_before` has what a reader has done by then, before the command that begins so; after the last one for "".
    Commands that begin as `left_out` says are not run.
    """
    for block in list_blocks(page):
        if block.title:
            (folder / block.title).write_text(block.text, encoding="utf-8")
    script = folder / "commands.sh"
    lines = _list_lines(list_commands(page), dict(done_before), left_out)
    script.write_text(START + "\n".join(lines) + "\necho THE END\n", encoding="utf-8")
    said, code = _run_alone(script, folder)
    assert code == 0, said[-4000:]
    assert "THE END" in said
    return said


def _list_lines(commands: list[str], done_before: dict[str, str], left_out: Collection[str]) -> Iterator[str]:
    for command in commands:
        if command.startswith(tuple(left_out)):
            continue
        for begins in [begins for begins in done_before if begins and command.startswith(begins)]:
            yield done_before.pop(begins)
        yield f"{command} &" if SERVING.search(command) else command
    yield done_before.pop("", "")
    assert not done_before, f"the page has no such command: {list(done_before)}"


def _run_alone(script: Path, folder: Path) -> tuple[str, int]:
    """Run a script in a folder that looks like a checkout, with a network and names of machines of its own."""
    own = shutil.which("league", path=str(Path(sys.executable).parent)) or ""
    for name, place in (("league", own), (".venv", sys.prefix), ("examples", ROOT / "examples")):
        (folder / name).symlink_to(place)
    hosts = "".join(f"{address} {names}\n" for address, names in MACHINES.items() if names)
    (folder / "hosts").write_text(f"127.0.0.1 localhost\n{hosts}", encoding="utf-8")
    network = ["ip link set lo up", *(f"ip address add {address}/32 dev lo" for address in MACHINES)]
    start = " && ".join([*network, f"mount --bind {folder / 'hosts'} /etc/hosts", f"exec bash -x {script}"])
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with subprocess.Popen(
        [*ALONE, "bash", "-c", start],
        cwd=folder,
        env=environment(PATH=path),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            said, _ = process.communicate(timeout=BOUND)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    return said, process.returncode
