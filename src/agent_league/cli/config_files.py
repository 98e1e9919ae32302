"""`league config check` and `league config show`: whether the files of a SHARED folder can be read, and what counts."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from agent_league.cli.options import (
    ExistingHomeOption,
    JsonOption,
    LeagueIdOption,
    SettingsOption,
    open_config,
    open_existing_home,
)
from agent_league.cli.terminal import EXIT_FAILED, print_json, print_remark
from agent_league.errors import ConfigError

if TYPE_CHECKING:
    from agent_league.config import ConfigLoader


def check(settings: SettingsOption = None, home: ExistingHomeOption = None) -> None:
    """Check all configuration files of a SHARED folder, and say what is wrong in which.

    Exit code 0: all can be read. 1: something is wrong.
    """
    folder, _ = open_existing_home(home)
    problems = 0
    for path, problem in check_config_files(folder, open_config(folder, settings)):
        sys.stdout.write(f"{'ok   ' if not problem else 'FAULT'} {path}\n")
        if problem:
            problems += 1
            print_remark(f"league: {problem}")
    if problems:
        raise typer.Exit(EXIT_FAILED)


def show(
    league_id: LeagueIdOption = None,
    settings: SettingsOption = None,
    json: JsonOption = False,
    home: ExistingHomeOption = None,
) -> None:
    """Print every setting that counts, of system.json and of a league, in the form that --set takes.

    Without --league-id it is the league that runs, if it has a file, else the default one.
    """
    folder, _ = open_existing_home(home)
    loader = open_config(folder, settings)
    league_id = league_id or _find_running_league(folder, loader)
    system, league = loader.load_system(), loader.load_league(league_id)
    if json:
        print_json(
            {"home": str(folder), "system": system.model_dump(mode="json"), "league": league.model_dump(mode="json")}
        )
        return
    for title, content in (("system.json", system), (f"leagues/{league.league_id}.json", league)):
        sys.stdout.write(f"# {title}\n")
        sys.stdout.writelines(f"{path}={value}\n" for path, value in _list_settings(content.model_dump(mode="json")))


def _find_running_league(home: Path, loader: "ConfigLoader") -> str | None:
    """Return the league that runs in a folder, and print which one of several; None, which it prints, if it has no
    file: it was begun by options alone."""
    from agent_league.launch.league_start import find_running_leagues
    from agent_league.launch.stored_leagues import choose_league

    running = list(find_running_leagues(home))
    if not running:
        return None
    choice = choose_league(home, None, running)
    if not loader.has_league_file(choice.league_id):
        print_remark(f"{choice.league_id} runs here and has no file; these are the settings of the default league.")
        return None
    if choice.remark:
        print_remark(choice.remark)
    return choice.league_id


def check_config_files(home: Path, loader: "ConfigLoader") -> Iterator[tuple[Path, str]]:
    """Read every configuration file of a SHARED folder; yield each with what is wrong in it, empty if nothing is."""
    from agent_league.config.loader import AGENTS_FILE
    from agent_league.serve.league_files import list_league_files

    readers: dict[str, Any] = {
        "system.json": loader.load_system,
        AGENTS_FILE: loader.load_agents,
        "games/games_registry.json": loader.load_games_registry,
        "defaults/referee.json": loader.load_referee_defaults,
        "defaults/player.json": loader.load_player_defaults,
        **{f"leagues/{name}.json": lambda name=name: loader.load_league(name) for name in list_league_files(home)},
    }
    for name, read in readers.items():
        problem = ""
        try:
            read()
        except ConfigError as error:
            problem = str(error)
        yield loader.file_path(name), problem


def _list_settings(content: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """List the paths of settings with their values as JSON."""
    import orjson

    for name, value in content.items():
        if isinstance(value, dict) and value:
            yield from _list_settings(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", orjson.dumps(value).decode()
