"""MCP SDKs of others, of several versions, and the servers that the tests run with them: players that call nobody.

Each version of a Python package gets an environment of its own; npm's packages share a folder. Installed once, below
the folder of `node_tools`, by one process at a time; where that can't be done, NotInstalled says why.
"""

import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.mcp.node_tools import BOUND, STAMP, NotInstalled, find_folder, has_packages, hold_lock, install, npm_install

SERVERS = Path(__file__).parent / "sdk_servers"
NODE_PACKAGES = [
    "@modelcontextprotocol/sdk@1.32.2",
    "@modelcontextprotocol/server@2.4.0",
    "@modelcontextprotocol/node@2.1.2",
]


@dataclass(frozen=True, slots=True)
class ForeignSdk:
    """An SDK, and the servers to be run with it."""

    name: str
    """As the documentation has it."""
    packages: Sequence[str]
    script: str
    variants: Sequence[str] = ("",)
    """The options of the servers in one process."""

    @property
    def is_node(self) -> bool:
        return self.script.endswith(".mjs")

    def list_names(self) -> list[str]:
        """The servers' names as players."""
        return [f"{self.name} {variant}".strip() for variant in self.variants]


OLD_PYDANTIC = "pydantic<2.12"
"""What SDKs before 1.21 reach into is gone in newer ones."""
FOREIGN_SDKS = (
    ForeignSdk("Python SDK 1.12", ["mcp==1.12.0", OLD_PYDANTIC], "python_sdk.py", ("", "stateless")),
    ForeignSdk("Python SDK 1.20", ["mcp==1.20.0", OLD_PYDANTIC], "python_sdk.py", ("", "stateless")),
    ForeignSdk("Python SDK 1.26", ["mcp==1.26.0"], "python_sdk.py", ("", "stateless", "json")),
    ForeignSdk("Python SDK 1.30", ["mcp==1.30.0"], "python_sdk.py", ("", "stateless json")),
    ForeignSdk("FastMCP 4.1", ["fastmcp==4.1.2"], "fastmcp_server.py"),
    ForeignSdk("TypeScript SDK", NODE_PACKAGES, "typescript.mjs", ("1.32", "1.32 stateless", "2.4")),
)


def install_sdks(sdks: Sequence[ForeignSdk] = FOREIGN_SDKS) -> str:
    """Install what isn't there yet, all at once, and return the Node for it; raises NotInstalled."""
    node = install().node
    folder = find_folder() / "sdks"
    folder.mkdir(parents=True, exist_ok=True)
    with hold_lock(folder / "lock"), _told_if_late():
        missing = [sdk for sdk in sdks if not has_packages(_find_home(sdk), list(sdk.packages))]
        uv = (shutil.which("uv") or _fetch_uv(folder / "uv")) if any(not sdk.is_node for sdk in missing) else None
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda sdk: _install(sdk, uv), missing))
    return node


def build_command(sdk: ForeignSdk, ports: Sequence[int], node: str) -> list[str]:
    """The command that serves an SDK's variants at these ports."""
    home = _find_home(sdk)
    script = SERVERS / sdk.script
    wanted = [f"{port}:{variant}" for port, variant in zip(ports, sdk.variants, strict=True)]
    if sdk.is_node:
        shutil.copy(script, home)  # Node looks for packages beside the script
        return [node, str(home / script.name), *wanted]
    return [str(_find_python(home)), str(script), *wanted]


def _find_home(sdk: ForeignSdk) -> Path:
    return find_folder() / "sdks" / sdk.name.replace(" ", "-").lower()


def _find_python(home: Path) -> Path:
    return home / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def _fetch_uv(folder: Path) -> str | None:
    """Fetch uv, which installs in a tenth of pip's time; None if that fails, and pip does the work."""
    program = folder / "bin" / "uv"
    if not program.exists():
        _run_pip("install", "--target", str(folder), "uv")
    return str(program) if program.exists() else None


def _install(sdk: ForeignSdk, uv: str | None) -> None:
    home = _find_home(sdk)
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    if sdk.is_node:
        npm_install(home, list(sdk.packages))
        return
    venv.create(home, with_pip=False)
    python = str(_find_python(home))
    by_uv = [uv, "pip", "install", "--quiet", "--python", python, *sdk.packages] if uv else []
    if not by_uv or subprocess.run(by_uv, capture_output=True, timeout=BOUND, check=False).returncode:
        done = _run_pip("--python", python, "install", *sdk.packages)
        if done.returncode:
            why = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
            raise NotInstalled(f"pip could not install {', '.join(sdk.packages)} ({why[0]}): is PyPI within reach?")
    (home / STAMP).write_text(json.dumps(list(sdk.packages)), encoding="utf-8")


@contextmanager
def _told_if_late() -> Iterator[None]:
    try:
        yield
    except subprocess.TimeoutExpired:
        raise NotInstalled(f"uv or pip did not end within {BOUND} s: is PyPI within reach?") from None


def _run_pip(*args: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "pip", "--quiet", "--retries", "1", *args]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=BOUND, check=False, env={**os.environ, "PYTHONPATH": ""}
    )


if __name__ == "__main__":
    install_sdks()
