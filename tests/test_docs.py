"""The documentation is true: its examples are the real files, its tables name everything, its commands run."""

import json
import re
import shlex
import socket
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from agent_league.cli.app import GROUPS
from agent_league.config import ConfigLoader
from agent_league.config.models import LeagueConfig, SystemConfig
from agent_league.protocol import v1, v2
from agent_league.storage.memory import MemoryStore
from agent_league.web.export import TABLES
from agent_league.web.league_reader import read_saved_league
from agent_league.web.pages import PAGES as PAGES_OF_A_LEAGUE
from tests.cli.command import league, league_process
from tests.conftest import BOUND
from tests.mcp import interoperation_table
from tests.page_script import ALONE, has_network, list_blocks, list_commands
from tests.test_how_to_pages import NOT_RUN
from tests.test_how_to_pages import PAGES as HOW_TO_PAGES
from tests.tolerance_table import table
from tools import reference

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
FRONT_PAGE = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
WATCHING = (ROOT / "docs" / "watching.md").read_text(encoding="utf-8")
PERFORMANCE = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.DOTALL | re.MULTILINE)


def test_the_readme_fits_one_screen() -> None:
    assert len(README.splitlines()) <= 40


def test_ci_installs_the_debian_packages_that_tests_need() -> None:
    told = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    sentence = told[told.index("PostgreSQL's tests need") : told.index("skip with a sentence")]
    needed = set(re.findall(r"`([a-z-]+)`", sentence))
    lines = re.findall(r"--no-install-recommends ([a-z0-9 -]+);", (ROOT / ".ci/run").read_text("utf-8"))
    assert {"postgresql", "chromium"} <= needed
    assert needed - set(" ".join(lines).split()) == set()


def test_the_player_on_the_front_page_is_the_example() -> None:
    example = (ROOT / "examples" / "my_player.py").read_text(encoding="utf-8")
    assert blocks(FRONT_PAGE, "python") == [example]


def test_the_reference_is_what_the_code_says() -> None:
    folder = ROOT / "docs" / "reference"
    pages = {page.name: page.read_text(encoding="utf-8") for page in folder.glob("*.md")}
    assert pages == reference.write_pages(), "run `.venv/bin/python -m tools.reference`"


def test_every_setting_says_what_it_means() -> None:
    settings = [*reference.list_settings(SystemConfig), *reference.list_settings(LeagueConfig)]
    assert len(settings) > 90
    assert [one.path for one in settings if not one.meaning] == [], (
        "write docstrings below these in agent_league/config"
    )


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


def test_the_leagues_of_readme_and_front_page_run_as_they_stand(tmp_path: Path) -> None:
    alone = [*ALONE, "sh", "-c", 'ip link set lo up && exec "$@"', "sh"] if has_network() else []
    if not alone and (busy := [port for port in (8000, 8001, 8101) if _is_taken(port)]):
        pytest.skip(f"the pages' ports are in use here: {busy}")
    commands = [
        line
        for block in blocks(README + FRONT_PAGE, "bash")
        for line in block.splitlines()
        if line.startswith("./league run")
    ]
    assert len(commands) == 6
    for command in commands:
        arguments = shlex.split(command)[1:]
        done = subprocess.run(
            [*alone, sys.executable, "-m", "agent_league", *arguments],
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
        for page in PAGES
        for block in blocks(page.read_text(encoding="utf-8").replace("\\\n", ""), "bash")
        for line in block.splitlines()
        if line.startswith(("./league", "league"))
    ],
)
def test_every_option_in_the_pages_exists(line: str) -> None:
    _, command, *arguments = shlex.split(line, comments=True)
    if command == "test":
        return
    told = help_of(f"{command} {arguments[0]}" if command in GROUPS else command)
    assert all(argument in told for argument in arguments if argument.startswith("--"))


RUN = {
    "README.md": "tests/test_docs.py",
    "docs/index.md": "tests/test_docs.py",
    "docs/comparing.md": "tests/test_comparing_page.py",
    "docs/experiments.md": "tests/test_experiments_page.py",
    "docs/games.md": "tests/test_games_page.py",
    "docs/test-results.md": "tests/test_results_page.py",
    **{f"docs/tutorials/{page.name}": "tests/test_tutorials.py" for page in (ROOT / "docs" / "tutorials").glob("*.md")},
    **{f"docs/{name}.md": "tests/test_how_to_pages.py" for name in HOW_TO_PAGES},
}
"""Which test runs all commands of a page, but for those that `NOT_RUN` lists with the reason."""


def test_every_command_of_every_page_is_run_or_the_reason_stands_why_not() -> None:
    commands = {str(page.relative_to(ROOT)): list_commands(page) for page in PAGES}
    left = [(page, line) for page, lines in commands.items() if page not in RUN for line in lines]
    assert [one for one in left if not one[1].startswith(tuple(NOT_RUN))] == [], "run them, or say in NOT_RUN why not"
    assert [page for page in RUN if not commands.get(page)] == []
    every = [line for lines in commands.values() for line in lines]
    assert [begins for begins in NOT_RUN if not any(line.startswith(begins) for line in every)] == []
    named = {path for text in (*RUN.values(), *NOT_RUN.values()) for path in re.findall(r"tests/[\w/]+(?:\.py)?", text)}
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.parent.name != "reference"], ids=lambda page: page.name
)
def test_commands_stand_in_blocks_that_are_run(page: Path) -> None:
    command = re.compile(r"(?:\./|\.venv/bin/)?(?:league|python|pip|pipx|docker|curl) [a-z-]")
    drawn = {"bash", "console", "csv", "javascript", "json", "python", "text", "toml", "yaml"}
    assert {block.language for block in list_blocks(page)} <= drawn, "the site draws no other, such as mermaid, offline"
    others = [block.text for block in list_blocks(page) if block.language not in ("bash", "console")]
    assert [line for text in others for line in text.splitlines() if command.match(line)] == []


def test_every_snippet_of_settings_can_be_read() -> None:
    readers: dict[str, Callable[[str], Any]] = {"json": json.loads, "toml": tomllib.loads, "yaml": yaml.safe_load}
    snippets = [block for page in PAGES for block in list_blocks(page) if block.language in readers]
    assert len(snippets) > 15
    for block in snippets:
        part = block.language == "json" and block.text.startswith('"')  # a part of a file is shown without its braces
        assert readers[block.language](f"{{{block.text}}}" if part else block.text)


@cache
def help_of(command: str) -> str:
    words = command.split()
    done = (league_process if "bench" in words else league)(*words, "--help")
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
