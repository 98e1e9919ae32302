"""Spellings of the last version go on working, each with a hint at today's."""

from pathlib import Path

import pytest

from agent_league.cli.app import COMMANDS, GROUPS, load_command
from agent_league.cli.old_spellings import OLD_COMMANDS, OLD_OPTIONS, respell
from tests.cli.command import league

ALL_COMMANDS = {name for listed in COMMANDS.values() for name in listed}


def test_old_options_are_respelled_with_their_values_up_to_a_lone_dash() -> None:
    spelled = respell(["player", "--stay", "--name", "A", "--", "--stay"])
    assert spelled.arguments == ["player", "--rejoin", "--name", "A", "--", "--stay"]
    assert spelled.hints == ["--stay is called --rejoin now."]


@pytest.mark.parametrize("arguments", [[], ["--help"], ["run", "--stay"]])
def test_what_is_spelled_as_today_stays_as_it_is(arguments: list[str]) -> None:
    spelled = respell(arguments)
    assert (spelled.arguments, spelled.hints) == (arguments, [])


@pytest.mark.parametrize(
    ("command", "old", "new"), [(c, *pair) for c, all_ in OLD_OPTIONS.items() for pair in all_.items()]
)
def test_every_old_option_leads_to_one_that_is_there_and_is_itself_gone(command: str, old: str, new: str) -> None:
    options = {name for parameter in load_command(command).params for name in parameter.opts}
    assert new in options
    assert old not in options


@pytest.mark.parametrize(("old", "now"), OLD_COMMANDS.items())
def test_every_old_command_leads_to_one_that_is_there(old: str, now: tuple[str, ...]) -> None:
    spelled = respell([old, "--home", "there"])
    assert spelled.arguments == [*now, "--home", "there"]
    assert spelled.hints == [f"`league {old}` is called `league {' '.join(now)}` now."]
    assert now == ("--version",) or now[0] in ALL_COMMANDS
    assert old not in ALL_COMMANDS
    assert now[0] not in GROUPS or now[1] in GROUPS[now[0]]


def test_an_option_that_takes_a_value_takes_one_in_every_command() -> None:
    commands = [name for name in ALL_COMMANDS if name not in GROUPS]
    commands += [f"{group} {name}" for group, names in GROUPS.items() for name in names]
    users: dict[str, dict[bool, list[str]]] = {}
    for command in commands:
        for parameter in load_command(command).params:
            for option in parameter.opts if parameter.param_type_name == "option" else ():
                users.setdefault(option, {}).setdefault(parameter.is_flag, []).append(command)
    assert {option: kinds for option, kinds in users.items() if len(kinds) > 1} == {}


def test_an_option_that_took_a_value_is_respelled_only_where_it_has_one() -> None:
    assert respell(["export", "--json", "league.json"]).arguments == ["export", "--json-file", "league.json"]
    assert respell(["export", "--json=-"]).arguments == ["export", "--json-file=-"]
    for today in (["export", "--json"], ["export", "--json", "--home", "x"], ["run", "--json", "x"]):
        assert respell(today).arguments == today


def test_an_option_is_respelled_for_the_command_as_it_is_called_now() -> None:
    spelled = respell(["start", "--league=spring"])
    assert spelled.arguments == ["admin", "start", "--league-id=spring"]
    assert len(spelled.hints) == 2


def test_the_hint_goes_to_stderr(tmp_path: Path) -> None:
    done = league("player", "--stay", "--exit-when-done", "--home", tmp_path)
    assert done.stdout == ""
    assert done.stderr.startswith("--stay is called --rejoin now.\n")
    assert "league: --rejoin and --exit-when-done are opposites" in done.stderr
