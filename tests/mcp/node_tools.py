"""What others wrote to judge an MCP server: the official conformance suite and MCP Inspector, with a Node to run them.

`python -m tests.mcp.node_tools` installs them with npm, once, into `.node` of the checkout (or the folder that
LEAGUE_NODE_TOOLS names); the tests do the same when they need them, and skip with its sentence where it can't be done.
Nothing but the standard library, so that any Python can run it.
"""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

CONFORMANCE = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"
OLDEST_NODE = 22
FOLDER = "LEAGUE_NODE_TOOLS"
STAMP = "installed.json"  # written last: without it the folder is half filled
BOUND = 300
"""Seconds for npm, and for whoever else is at it already."""
HASTY = ("--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-timeout=60000")
"""A registry that can't be reached is known soon."""


class NotInstalled(Exception):
    """Why the tools aren't there, in a sentence for whoever reads the skipped tests."""


@dataclass(frozen=True, slots=True)
class NodeTools:
    """The folder with everything in it, and the Node that runs it."""

    folder: Path
    node: str

    def conformance(self, *args: object) -> list[str]:
        return self._command("conformance/dist/index.js", args)

    def inspector(self, *args: object) -> list[str]:
        return self._command("inspector/clients/launcher/build/index.js", args)

    def _command(self, script: str, args: tuple[object, ...]) -> list[str]:
        return [self.node, str(self.folder / "node_modules" / "@modelcontextprotocol" / script), *map(str, args)]


def install() -> NodeTools:
    """The tools, installed where they aren't yet; one process at a time does it, the others wait."""
    folder = find_folder()
    packages, node = [CONFORMANCE, INSPECTOR], find_own_node()
    if node is None:
        name = _node_package()
        packages.append(f"{name}@{OLDEST_NODE}")
        node = str(folder / "node_modules" / name / "bin" / ("node.exe" if sys.platform == "win32" else "node"))
    if not has_packages(folder, packages):
        folder.mkdir(parents=True, exist_ok=True)
        with hold_lock(folder / "lock"):
            if not has_packages(folder, packages):
                npm_install(folder, packages)
    return NodeTools(folder, node)


def find_folder() -> Path:
    """Where everything is installed."""
    return Path(os.environ.get(FOLDER) or Path(__file__).resolve().parents[2] / ".node")


def has_packages(folder: Path, packages: list[str]) -> bool:
    try:
        return set(packages) <= set(json.loads((folder / STAMP).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return False


def find_own_node() -> str | None:
    """This machine's Node, where it is new enough."""
    node = shutil.which("node")
    if node is None:
        return None
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.match(r"v(\d+)\.", said)
    return node if found and int(found[1]) >= OLDEST_NODE else None


def _node_package() -> str:
    """The npm package that is nothing but Node itself, for this machine."""
    system = {"Linux": "linux", "Darwin": "darwin", "Windows": "win"}.get(platform.system())
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "arm64": "arm64"}.get(platform.machine().lower())
    if system is None or machine is None:
        raise NotInstalled(
            f"npm has no Node {OLDEST_NODE} for {platform.system()} on {platform.machine()}: install one by hand."
        )
    return f"node-{system}-{machine}"


def npm_install(folder: Path, packages: list[str]) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise NotInstalled(
            "npm is missing, and with it the official MCP conformance suite and MCP Inspector: install npm"
            " (Debian: apt install npm), then run python -m tests.mcp.node_tools."
        )
    (folder / "package.json").write_text('{"private": true}\n', encoding="utf-8")
    command = [npm, "install", "--no-audit", "--no-fund", "--no-save", "--ignore-scripts", *HASTY, *packages]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=BOUND, check=False)
    except subprocess.TimeoutExpired:
        raise NotInstalled(f"npm did not end within {BOUND} s; run python -m tests.mcp.node_tools again.") from None
    if done.returncode:
        why = next((line for line in done.stderr.splitlines() if "code E" in line), f"exit code {done.returncode}")
        raise NotInstalled(f"npm could not install {', '.join(packages)} ({why}): is its registry within reach?")
    (folder / STAMP).write_text(json.dumps(packages), encoding="utf-8")


@contextmanager
def hold_lock(lock: Path) -> Iterator[None]:
    """Holds the lock; the system lets it go with the process, however that ends."""
    with lock.open("ab") as held:
        deadline = time.monotonic() + BOUND
        while not _taken(held.fileno()):
            if time.monotonic() > deadline:
                raise NotInstalled(f"another process has been installing into {lock.parent} for {BOUND} s.")
            time.sleep(0.1)
        yield


def _taken(lock: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(lock, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def main() -> None:
    try:
        tools = install()
    except NotInstalled as error:
        sys.exit(str(error))
    sys.stdout.write(f"{CONFORMANCE} and {INSPECTOR} are in {tools.folder}, and run on {tools.node}.\n")


if __name__ == "__main__":
    main()
