"""A value that an option can't take is told with what was expected and what came, in plain words."""

from pathlib import Path

import pytest

from tests.cli.command import league


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["run", "--players", "abc"], "'--players': expected a whole number, found 'abc'"),
        (["run", "--players", "0"], "'--players': expected a number greater than or equal to 1, found '0'"),
        (["compare", "a", "b", "--elo0", "x"], "'--elo0': expected a number, found 'x'"),
        (["new", "player", "x", "--language", "js"], "'--language': 'js' is not one of 'python', 'javascript'."),
        (["run", "--protocol", "a2a"], "'--protocol': the players that `league run` starts are our own"),
    ],
)
def test_a_value_that_cannot_be_taken_is_told_plainly(arguments: list[str], told: str, tmp_path: Path) -> None:
    done = league(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert f"Error: Invalid value for {told}" in done.stderr


@pytest.mark.parametrize("command", [["run"], ["player"], ["manager"], ["try", "random"]])
def test_a_file_in_the_place_of_a_game_is_told_with_how_to_make_it_known(command: list[str], tmp_path: Path) -> None:
    done = league(*command, "--game", "my game.py", cwd=tmp_path)
    assert done.returncode == 2
    assert "--game: 'my game.py' is a file, expected the name of its game" in done.stderr
    assert "`export AGENT_LEAGUE_GAMES='my game.py'` makes it known" in done.stderr
