"""Setting up and mending: `league init`, `league rebuild`, `league dev schemas`, `league --version`, and the help."""

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from agent_league import __version__
from agent_league.cli.app import COMMANDS, GROUPS, load_command
from agent_league.launch.league_start import lock_league
from tests.cli.command import LEAGUE_ID, environment, league, league_process, ports
from tests.conftest import BOUND

ROOT = Path(__file__).parents[2]
ALL_COMMANDS = [name for listed in COMMANDS.values() for name in listed]
HEAVY = {"asyncio", "jinja2", "mcp", "pydantic", "pydantic_ai", "rich", "sqlalchemy", "starlette", "uvicorn"}


def test_init_writes_a_shared_folder_here(tmp_path: Path) -> None:
    done = league("init", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.count("wrote SHARED/config/") == 6
    assert json.loads((tmp_path / "SHARED" / "config" / "system.json").read_text())["protocol_version"] == "league.v2"


def test_init_writes_what_is_missing_and_never_overwrites(tmp_path: Path) -> None:
    home = tmp_path / "elsewhere"
    league("init", home)
    mine = home / "config" / "system.json"
    mine.write_text("mine", encoding="utf-8")
    (home / "config" / "defaults" / "player.json").unlink()
    second = league("init", home)
    assert second.stderr == f"wrote {home / 'config' / 'defaults' / 'player.json'}\n"
    assert mine.read_text(encoding="utf-8") == "mine"
    assert league("init", home).stderr == f"{home} has all its files already\n"


def test_init_over_a_file_says_so(tmp_path: Path) -> None:
    (tmp_path / "SHARED").write_text("", encoding="utf-8")
    done = league("init", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("league: SHARED: is a file; a folder")


def test_schemas_writes_one_file_a_message(tmp_path: Path) -> None:
    done = league("dev", "schemas", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    written = {path.stem for path in (tmp_path / "out").glob("*.json")}
    assert {"GAME_INVITATION", "LEAGUE_COMPLETED", "START_MATCH", "GAME_MOVE_CALL"} <= written
    assert len(written) == 24
    older = {path.stem for path in (tmp_path / "out" / "v1").glob("*.json")}
    assert {"PLAY_REQUEST", "GAME_RESULT", "LEAGUE_COMPLETE"} <= older
    assert len(older) == 12


def test_rebuild_writes_what_was_lost_from_the_database(tmp_path: Path) -> None:
    done = league("run", "--json", "--home", tmp_path, *ports())
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["standings"]
    table = [{name: value for name, value in row.items() if name != "tiebreaks"} for row in rows]
    folder = tmp_path / "data" / "leagues" / LEAGUE_ID
    match = tmp_path / "data" / "matches" / LEAGUE_ID / "R1M2.json"
    for path in (folder / "standings.json", folder / "rounds.json", match):
        path.unlink()
    rebuilt = league("rebuild", "--home", tmp_path)
    assert (rebuilt.returncode, rebuilt.stdout) == (0, "")
    expected = [folder / "standings.json", folder / "rounds.json", match]
    assert rebuilt.stderr.splitlines() == [f"wrote {path}" for path in expected]
    assert json.loads((folder / "standings.json").read_text())["standings"] == table
    assert json.loads(match.read_text())["rebuilt"] is True


def test_rebuild_without_a_league_or_a_home_says_so(tmp_path: Path) -> None:
    league("init", tmp_path)
    nothing = league("rebuild", "--home", tmp_path)
    assert nothing.returncode == 2
    assert nothing.stderr.startswith(f"league: The database knows no league {LEAGUE_ID}; a manager writes it")
    nowhere = league("rebuild", "--home", tmp_path / "nowhere")
    assert nowhere.returncode == 2
    assert nowhere.stderr.startswith("league: No SHARED folder at")
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("asked", ["version", "--version"])
def test_version_is_printed(asked: str) -> None:
    assert league(asked).stdout == f"agent-league {__version__}\n"


@pytest.mark.parametrize("command", [[], ["run"], ["new"], ["dev", "bench"]])
def test_help_has_a_short_option_too(command: list[str]) -> None:
    ask = league_process if command == ["dev", "bench"] else league  # it becomes another program
    done = ask(*command, "-h")
    assert done.returncode == 0
    assert done.stdout == ask(*command, "--help").stdout


def test_a_mistake_is_answered_with_commands_as_they_are_typed() -> None:
    done = league("run", "--sty", env=environment(AGENT_LEAGUE_COMMAND="./league"))
    assert done.returncode == 2
    assert "Try './league run --help' for help." in done.stderr


def test_help_names_every_command_once_under_a_heading_with_a_whole_sentence() -> None:
    done = league("--help", env=environment(COLUMNS="80"))
    assert done.returncode == 0
    assert "Usage: league " in done.stdout
    listed = re.findall(r"^  ([a-z][a-z0-9-]*) {2,}\S", done.stdout, re.MULTILINE)
    assert sorted(listed) == sorted(ALL_COMMANDS)
    assert [line.removesuffix(":") for line in done.stdout.splitlines() if re.fullmatch(r"\w[\w ]*:", line)] == [
        "Options",
        *COMMANDS,
    ]
    assert "..." not in done.stdout.partition("Options:")[2]


def modules_after(program: str) -> set[str]:
    """All modules that a program of ours has imported at its end."""
    program = f"import sys\n{program}\nsys.stderr.write(' '.join(sys.modules))"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def test_help_imports_no_command_and_nothing_heavy() -> None:
    loaded = modules_after("from agent_league.cli import main\nassert main(['--help']) == 0")
    ours = {name for name in loaded if name.startswith("agent_league.")}
    expected = ("cli", "cli.app", "cli.old_spellings", "cli.terminal", "errors", "text", "version")
    assert ours == {f"agent_league.{name}" for name in expected}
    assert not loaded & HEAVY


def test_no_command_loads_what_draws_and_serves_before_it_does() -> None:
    program = f"for name in {ALL_COMMANDS}: load_command(name)"
    loaded = modules_after(f"from agent_league.cli.app import load_command\n{program}")
    assert {"agent_league.cli.run", "agent_league.cli.show"} <= loaded
    assert not loaded & (HEAVY - {"pydantic"}), "typer reads types with pydantic"


@pytest.mark.parametrize("listed", COMMANDS.values(), ids=COMMANDS)
def test_the_list_of_commands_has_the_first_paragraph_of_each_one_s_help(listed: Mapping[str, str]) -> None:
    assert {name: " ".join((load_command(name).help or "").partition("\n\n")[0].split()) for name in listed} == listed


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_lists_the_first_paragraph_of_each_of_its_commands(group: str) -> None:
    listed = GROUPS[group]
    helps = {name: (load_command(f"{group} {name}").help or "").partition("\n\n")[0] for name in listed}
    assert {name: " ".join(told.split()) for name, told in helps.items()} == listed
    shown = league("help", group, env=environment(COLUMNS="80")).stdout
    assert sorted(re.findall(r"^  ([a-z][a-z0-9-]*) {2,}\S", shown, re.MULTILINE)) == sorted(listed)


def test_help_is_a_command_too() -> None:
    assert league("help").stdout == league("--help").stdout
    assert league("help", "run").stdout == league("run", "--help").stdout
    assert league("help", "nothing").returncode == 2


def test_a_shell_that_asks_gets_commands_and_options_without_importing_them() -> None:
    def complete(*words: str) -> list[str]:
        asks = {"_LEAGUE_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(("league", *words))}
        done = league(env=environment(**asks, COMP_CWORD=str(len(words))))
        assert done.returncode == 0
        return done.stdout.split()

    assert complete("ad") == ["admin"]
    assert complete("dev", "sch") == ["schemas"]
    assert complete("run", "--no-s") == ["--no-stay"]
    assert {"run", "leagues", "dev"} <= set(complete(""))


def test_completion_prints_what_a_shell_reads() -> None:
    for shell in ("bash", "zsh", "fish"):
        assert f"_LEAGUE_COMPLETE=complete_{shell}" in league("completion", shell).stdout
    assert "-F _league_completion league" in league("completion", env=environment(SHELL="/bin/bash")).stdout
    unknown = league("completion", env=environment(SHELL="/bin/sh"))
    assert unknown.returncode == 2
    assert "expected one of bash, zsh, fish" in unknown.stderr


FISH, ZSH = shutil.which("fish"), shutil.which("zsh")
IN_ZSH = r"""
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'autoload -Uz compinit; compinit -D; eval "$(league completion zsh)"; echo REA""DY'
zpty -r shell said '*READY*'
zpty -w -n shell $'league expe\t'
zpty -r shell said '*league experiment*'
zpty -w -n shell $'\025league run --no-sta\t'
zpty -r shell said '*run --no-stay*'
zpty -d shell
print done
"""
"""A shell in a terminal of its own, in which a person types; it reads on until what is completed stands there."""


def ask_shell(*command: object) -> str:
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [str(part) for part in command],
        env=environment(PATH=programs, TERM="xterm"),
        capture_output=True,
        text=True,
        timeout=BOUND,
        check=True,
    )
    return done.stdout


@pytest.mark.skipif(FISH is None, reason="needs fish")
def test_fish_completes_commands_and_options() -> None:
    load = "league completion fish | source"
    said = ask_shell(FISH, "-c", f"{load}; complete -C 'league expe'; complete -C 'league run --no-sta'")
    assert [line.partition("\t")[0] for line in said.splitlines()] == ["experiment", "--no-stay"]


@pytest.mark.skipif(ZSH is None, reason="needs zsh")
def test_zsh_completes_commands_and_options() -> None:
    assert ask_shell(ZSH, "-c", IN_ZSH) == "done\n"


def test_leagues_lists_those_that_were_begun_and_those_that_have_a_file(tmp_path: Path) -> None:
    league("init", tmp_path)
    assert "not begun" in league("leagues", "--home", tmp_path).stdout
    played = league("run", "--json", "--game", "nim", "--players", 2, "--home", tmp_path, *ports(2))
    assert played.returncode == 0, played.stderr
    told = json.loads(league("leagues", "--json", "--home", tmp_path).stdout)["leagues"]
    assert [(one["league_id"], one["game_type"], one["state"], one["progress"]) for one in told] == [
        (LEAGUE_ID, "even_odd", "not begun", None),
        ("league_nim", "nim", "over", "1 of 1 matches played"),
    ]
    with lock_league(tmp_path, "league_nim", "http://localhost:8123/mcp"):  # its pages are still up
        shown = league("leagues", "--json", "--home", tmp_path)
    (nim,) = [one for one in json.loads(shown.stdout)["leagues"] if one["league_id"] == "league_nim"]
    assert (nim["state"], nim["address"]) == ("over", "http://localhost:8123/mcp")


def test_agent_league_is_a_second_name_of_the_command() -> None:
    scripts = {point.name: point.value for point in entry_points(group="console_scripts") if "league" in point.name}
    assert scripts["league"] == scripts["agent-league"] == "agent_league.cli:main"


def test_league_home_in_the_environment_is_used(tmp_path: Path) -> None:
    named = tmp_path / "named"
    done = league("run", "--strategy", "clever", cwd=tmp_path, env=environment(LEAGUE_HOME=str(named)))
    assert f"wrote {named} with the default configuration" in done.stderr
    assert not (tmp_path / "SHARED").exists()


def test_the_sdk_of_the_seeds_is_importable_under_its_names() -> None:
    program = """
from league_sdk import ConfigLoader, JsonLogger, MatchRepository, PlayerHistoryRepository
from league_sdk import RoundsRepository, StandingsRepository
from league_sdk.config_loader import ConfigLoader as A
from league_sdk.logger import JsonLogger as B
from league_sdk.repositories import StandingsRepository as C, MatchRepository as D
from league_sdk.config_models import SystemConfig, LeagueConfig
assert (A, B, C, D) == (ConfigLoader, JsonLogger, StandingsRepository, MatchRepository)
print(ConfigLoader("SHARED").load_system().default_league_id, type(ConfigLoader().load_league()) is LeagueConfig)
"""
    env = environment(PYTHONPATH=str(ROOT / "SHARED"))
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )
    assert done.stdout == "league_2025_even_odd True\n", done.stderr


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("  Installing build dependencies: started", "Installing build dependencies"),
        ("Collecting rich>=14.0 (from agent-league==1.0.0)", "Collecting rich>=14.0"),
        ("Installing collected packages: typer, rich, orjson", "Installing collected packages"),
        ("making .venv", "making .venv"),
    ],
)
def test_while_it_sets_itself_up_whole_steps_are_told(line: str, step: str) -> None:
    script = runpy.run_path(str(Path(__file__).parents[2] / "league"), run_name="bootstrap")
    assert script["name_step"](line) == step
