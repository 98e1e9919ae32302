"""The documentation is true: its examples are the real files, its tables name everything, its commands run."""

import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest

from agent_league.cli.app import COMMANDS
from agent_league.config import ConfigLoader
from agent_league.config.base import ConfigModel
from agent_league.config.models import LeagueConfig, SystemConfig
from agent_league.errors import ErrorCode
from agent_league.players.strategies import strategy_names, strategy_summary
from agent_league.protocol import v1, v2
from agent_league.protocol.methods import METHODS
from agent_league.protocol.v2.league import LeagueAction
from agent_league.storage.memory import MemoryStore
from agent_league.web.export import TABLES
from agent_league.web.league_reader import read_saved_league
from agent_league.web.pages import PAGES as PAGES_OF_A_LEAGUE
from tests.cli.command import league, league_process
from tests.conftest import BOUND
from tests.mcp import interoperation_table
from tests.tolerance_table import table

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
REFERENCE = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
WATCHING = (ROOT / "docs" / "watching.md").read_text(encoding="utf-8")
PERFORMANCE = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
NOT_SHOWN = {"schema_version", "system_id", "protocol_version", "league_id", "display_name", "status", "created_at"}
"""Settings that name a file or describe it, and change nothing."""


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.DOTALL | re.MULTILINE)


def _is_model(annotation: object) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, ConfigModel)


def paths(model: type[ConfigModel], prefix: str = "") -> list[str]:
    found: list[str] = []
    for name, field in model.model_fields.items():
        parts = get_args(field.annotation) if type(None) in get_args(field.annotation) else ()
        inner = next((one for one in parts if _is_model(one)), field.annotation)
        if isinstance(inner, type) and issubclass(inner, ConfigModel):
            found += paths(inner, f"{prefix}{name}.")
        elif name not in NOT_SHOWN:
            found.append(prefix + name)
    return found


def test_the_player_in_the_readme_is_the_example() -> None:
    example = (ROOT / "examples" / "my_player.py").read_text(encoding="utf-8")
    assert blocks(README, "python") == [example]


@pytest.mark.parametrize("code", ErrorCode)
def test_the_reference_names_every_error_code(code: ErrorCode) -> None:
    assert f"| {code.value} | {code.name} |" in REFERENCE


@pytest.mark.parametrize("method", METHODS.values(), ids=lambda method: method.name)
def test_the_reference_names_every_method_with_its_request(method: object) -> None:
    name, request = method.name, method.request  # type: ignore[attr-defined]
    rows = [line for line in REFERENCE.splitlines() if f"`{name}`" in line and line.startswith("|")]
    assert rows
    assert request is None or request.TYPE in rows[0]


@pytest.mark.parametrize("path", [*paths(SystemConfig), *paths(LeagueConfig)])
def test_the_reference_names_every_setting(path: str) -> None:
    assert f"`{path}`" in REFERENCE


def test_the_reference_names_every_command_and_no_other() -> None:
    commands = {name for listed in COMMANDS.values() for name in listed}
    assert set(re.findall(r"^\| `league ([\w-]+)` \|", REFERENCE, re.MULTILINE)) == commands


def test_the_reference_has_the_sentence_of_every_strategy() -> None:
    assert all(f"| `{name}` | {strategy_summary(name)} |" in REFERENCE for name in strategy_names())


@pytest.mark.parametrize(("folder", "messages"), [("schemas", v2.MESSAGES), ("schemas/v1", v1.MESSAGES)])
def test_there_is_a_schema_for_every_message(folder: str, messages: Mapping[str, object]) -> None:
    assert {path.stem for path in (ROOT / "docs" / folder).glob("*.json")} == set(messages)


def test_the_page_on_interoperation_holds_the_table_that_the_code_has() -> None:
    page = (ROOT / "docs" / "interoperation.md").read_text(encoding="utf-8")
    assert f"\n{table()}\n" in page, "put the output of tests.tolerance_table.table() into the page"


def test_the_page_on_interoperation_holds_the_clients_and_servers_of_the_tests() -> None:
    page = (ROOT / "docs" / "interoperation.md").read_text(encoding="utf-8")
    made = interoperation_table.table()
    assert f"\n{made}\n" in page, "put the output of tests.mcp.interoperation_table.table() into the page"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8"))
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert missing == []


def test_the_page_on_watching_names_every_page_of_a_league() -> None:
    rows = "\n".join(line.split("|")[1] for line in WATCHING.splitlines() if line.startswith("| `/"))
    named = [
        re.sub(r"/[^/]+$", "/{key}", path) if "/" in path[1:] else path for path in re.findall(r"`(/[^`]*)`", rows)
    ]
    assert {f"/{page.path}" for page in PAGES_OF_A_LEAGUE} == set(named)


def test_the_page_on_watching_names_every_column_of_the_tables() -> None:
    for table_, columns in TABLES.items():
        row = next(line for line in WATCHING.splitlines() if line.startswith(f"| `{table_}.csv`"))
        assert re.findall(r"`(\w+)`", row.partition(".csv")[2]) == list(columns)


def test_the_reference_names_every_action_of_the_organiser() -> None:
    row = next(line for line in REFERENCE.splitlines() if line.startswith("| `manage_league`"))
    assert all(f"`{action}`" in row for action in get_args(LeagueAction))


def test_the_readme_s_leagues_run_as_they_stand(tmp_path: Path) -> None:
    if busy := [port for port in (8000, 8001, 8101) if _is_taken(port)]:
        pytest.skip(f"the README's ports are in use here: {busy}")
    commands = [
        line for block in blocks(README, "bash") for line in block.splitlines() if line.startswith("./league run")
    ]
    assert len(commands) == 6
    for command in commands:
        if "--stay" in command:
            continue  # ends when it is told to
        arguments = shlex.split(command)[1:]
        done = subprocess.run(
            [sys.executable, "-m", "agent_league", *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=BOUND,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "Champion" in done.stdout or '"champion"' in done.stdout


@pytest.mark.parametrize(
    "line",
    [
        line
        for page in (README, WATCHING, PERFORMANCE)
        for block in blocks(page, "bash")
        for line in block.splitlines()
        if line.startswith(("./league", "league"))
    ],
)
def test_every_option_in_the_pages_exists(line: str) -> None:
    _, command, *arguments = shlex.split(line)
    if command == "test":
        return
    told = help_of(command)
    assert all(argument in told for argument in arguments if argument.startswith("--"))


@cache
def help_of(command: str) -> str:
    done = (league_process if command == "bench" else league)(command, "--help")
    assert done.returncode == 0, done.stderr
    return done.stdout


def _is_taken(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


SEAMS = {
    name.partition("\n")[0]: block
    for name in (ROOT / "docs" / "seams.md").read_text(encoding="utf-8").split("\n## ")[1:]
    for block in blocks(name, "python")
}


@pytest.mark.parametrize("seam", SEAMS)
def test_the_smallest_example_of_each_seam_works_as_it_stands(seam: str) -> None:
    exec(compile(SEAMS[seam], seam, "exec"), {"__name__": "example"})


def test_the_page_on_seams_has_an_example_for_each_of_its_rows() -> None:
    rows = re.findall(r"^\| \[(.+?)\]", (ROOT / "docs" / "seams.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert [f"A {row}" for row in rows] == list(SEAMS)


def test_the_page_of_the_seams_reads_a_real_league(home: Path) -> None:
    names: dict[str, Any] = {}
    exec(compile(SEAMS["A page"], "page", "exec"), names)
    loader, store = ConfigLoader(home), MemoryStore()
    league = loader.load_league("league_2025_even_odd")
    store.create_season(league.league_id, "2025-01-15T10:00:00Z", "", league.model_dump(mode="json"))
    saved = store.read_season(league.league_id)
    assert saved is not None
    reader = read_saved_league(saved, loader.load_system(), home)
    assert names["PROGRESS_PAGE"].read_data(reader, "") == {"title": league.display_name, "round": 0}


def test_every_file_that_the_page_for_contributors_names_is_there() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text()
    table = page[page.index("## Where is what") :]
    named = re.findall(r"`([a-z_/]+\.py)`", table)
    assert len(named) >= 12
    assert [name for name in named if not (ROOT / "src" / "agent_league" / name).is_file()] == []
