"""The bundle for MCP hosts: its manifest is whole, and what it names starts as a gateway with the tools it lists."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from mcp import Client, StdioServerParameters

from agent_league.version import __version__
from tests.cli.command import environment
from tools.bundle import build_bundle

REQUIRED = {"manifest_version", "name", "version", "description", "author", "server"}


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle")
    bundle = build_bundle(folder / "dist")
    assert bundle.name == f"agent-league-{__version__}.mcpb"
    with ZipFile(bundle) as packed:
        packed.extractall(folder / "host")
    return folder / "host"


def read_manifest(unpacked: Path) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads((unpacked / "manifest.json").read_text(encoding="utf-8"))
    return manifest


def fill_in(unpacked: Path, argument: str) -> str:
    """What a host puts in place of the manifest's variables, with the defaults of what it would ask its user."""
    asked = {f"user_config.{name}": one["default"] for name, one in read_manifest(unpacked)["user_config"].items()}
    return re.sub(r"\$\{([\w.]+)\}", lambda found: {"__dirname": str(unpacked), **asked}[found[1]], argument)


def test_the_manifest_has_what_the_format_requires(unpacked: Path) -> None:
    manifest = read_manifest(unpacked)
    assert manifest.keys() >= REQUIRED
    assert (unpacked / manifest["server"]["entry_point"]).is_file()
    (wheel,) = unpacked.glob("*.whl")
    assert wheel.name in (unpacked / "pyproject.toml").read_text(encoding="utf-8")


@pytest.fixture
def started(unpacked: Path, tmp_path: Path) -> StdioServerParameters:
    """What a host starts; without uv the wheel of the bundle, in the Python of the tests, which has what it needs."""
    server = read_manifest(unpacked)["server"]["mcp_config"]
    command, *arguments = [server["command"], *(fill_in(unpacked, argument) for argument in server["args"])]
    env = environment(LEAGUE_HOME=str(tmp_path / "SHARED"))
    if shutil.which(command):
        return StdioServerParameters(command=command, args=arguments, env=env)
    (wheel,) = unpacked.glob("*.whl")
    packages = tmp_path / "packages"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(packages), str(wheel)]
    subprocess.run(pip, check=True)
    at = arguments.index("server.py")
    env |= {"PYTHONPATH": os.pathsep.join([str(packages), *sys.path])}
    return StdioServerParameters(
        command=sys.executable, args=[str(unpacked / "server.py"), *arguments[at + 1 :]], env=env
    )


async def test_what_the_manifest_names_is_the_gateway(unpacked: Path, started: StdioServerParameters) -> None:
    async with Client(started) as client:
        listed = (await client.list_tools()).tools
    assert {tool.name for tool in listed} == {tool["name"] for tool in read_manifest(unpacked)["tools"]}
