"""`league doctor`: is everything here that a league needs? Python, folder, files, ports, disk, browser, extras."""

import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from agent_league.cli.options import ExistingHomeOption, JsonOption, open_config
from agent_league.cli.terminal import EXIT_FAILED, make_stdout_console, print_json, print_lines, rewrite_commands
from agent_league.errors import AgentLeagueError
from agent_league.version import __version__

if TYPE_CHECKING:
    from agent_league.config import ConfigLoader

LEAST_DISK_BYTES = 100 * 1024 * 1024
EXTRAS = {
    "a2a": ("a2a", "A2A agents"),
    "games": ("pyspiel", "games of OpenSpiel and PettingZoo"),
    "llm": ("pydantic_ai", "language models"),
    "postgres": ("psycopg", "PostgreSQL"),
    "ray": ("ray", "experiments on a cluster"),
}
"""By extra: a module that it brings, and what it is for."""


class FindingKind(StrEnum):
    """Whether a finding is good, worth knowing, or in the way of a league."""

    OK = "ok"
    NOTE = "note"
    FAULT = "FAULT"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    kind: FindingKind
    sentence: str


def doctor(json: JsonOption = False, home: ExistingHomeOption = None) -> None:
    """Look whether everything is here that a league needs, and say what to do where it isn't.

    Changes nothing. Exit code 0: a league can be played. 1: something is in its way.
    """
    findings = [*examine_machine(home)]
    if json:
        print_json({"findings": [{"severity": one.kind.value, "sentence": one.sentence} for one in findings]})
    else:
        lines = [f"{one.kind.value:5} {rewrite_commands(one.sentence)}" for one in findings]
        print_lines(make_stdout_console(), lines)
    if any(one.kind is FindingKind.FAULT for one in findings):
        raise typer.Exit(EXIT_FAILED)


def examine_machine(home: Path | None) -> Iterator[Finding]:
    """Yield what was found, one thing after the other."""
    from agent_league.config.home import find_home, is_home

    version = ".".join(map(str, sys.version_info[:3]))
    yield Finding(FindingKind.OK, f"agent-league {__version__} with Python {version} at {sys.executable}")
    found = home or find_home(Path.cwd())
    if found is None or not is_home(found):
        kind = FindingKind.FAULT if home else FindingKind.NOTE
        yield Finding(kind, f"no SHARED folder at {found or Path.cwd()}; `league run` or `league init` writes one")
    else:
        yield from _examine_home(found)
    yield from _examine_extras()


def _examine_home(home: Path) -> Iterator[Finding]:
    from agent_league.cli.config_files import check_config_files
    from agent_league.launch.league_start import find_running_leagues

    yield Finding(FindingKind.OK, f"the SHARED folder is {home}")
    loader = open_config(home, None)
    problems = [problem for _, problem in check_config_files(home, loader) if problem]
    yield from (Finding(FindingKind.FAULT, problem) for problem in problems)
    if not problems:
        yield Finding(FindingKind.OK, "all configuration files can be read")
    free = shutil.disk_usage(home).free
    room = f"{free // 2**20} MiB are free there"
    if not os.access(home, os.W_OK):
        yield Finding(FindingKind.FAULT, f"{home} can't be written; change its owner, or name another with --home")
    elif free < LEAST_DISK_BYTES:
        yield Finding(FindingKind.FAULT, f"{room}; a league with its logs needs more")
    else:
        yield Finding(FindingKind.OK, f"it can be written, and {room}")
    running = find_running_leagues(home)
    yield from (Finding(FindingKind.NOTE, f"{name} runs at {endpoint}") for name, endpoint in running.items())
    if not problems:
        yield from _examine_ports(loader, is_running=bool(running))


def _examine_ports(loader: "ConfigLoader", *, is_running: bool) -> Iterator[Finding]:
    """Look whether the first ports of manager, referees and players are free; a league that runs has them."""
    from agent_league.errors import PortInUse
    from agent_league.http.hosts import LOOPBACK
    from agent_league.http.port_holder import describe_port_holder
    from agent_league.http.server import bind_socket

    try:
        network = loader.load_system().network
    except AgentLeagueError:
        return
    wanted = {
        "--manager-port": network.default_league_manager_port,
        "--referee-port": network.default_referee_port_range[0],
        "--player-port": network.default_player_port_range[0],
    }
    for option, port in wanted.items():
        try:
            bind_socket(LOOPBACK, port, "").close()
        except PortInUse:
            holder = f" by {held}" if (held := describe_port_holder(port)) else ""
            kind = FindingKind.NOTE if is_running else FindingKind.FAULT
            yield Finding(kind, f"port {port} is held{holder}; end that, or name another with {option}")
        else:
            yield Finding(FindingKind.OK, f"port {port} is free")


def _examine_extras() -> Iterator[Finding]:
    for extra, (module, purpose) in EXTRAS.items():
        if find_spec(module):
            yield Finding(FindingKind.OK, f"{purpose}: {extra} is installed")
        else:
            yield Finding(
                FindingKind.NOTE, f"{purpose}: not installed; pip install 'agent-league[{extra}]' brings them"
            )
