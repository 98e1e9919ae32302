"""`--format`: a name that isn't one is told of those that are, the practice ladder among them where it can be had."""

from pathlib import Path

import pytest

from tests.cli.leagues import said
from tests.conftest import free_ports


@pytest.mark.parametrize("command", [("new", "league", "spring"), ("manager", "--port", "PORT", "--players", "2")])
@pytest.mark.parametrize(
    ("typed", "meant"), [("laddr", "did you mean ladder? "), ("swis", "did you mean swiss? "), ("chess", "")]
)
def test_a_mistyped_format_is_told_of_the_ladder_too(
    home: Path, command: tuple[str, ...], typed: str, meant: str
) -> None:
    port = str(free_ports(1))
    words = [port if word == "PORT" else word for word in command]
    done = said(*words, "--format", typed, "--home", home)
    assert done.code == 2
    assert f"--format: no format '{typed}' is installed ({meant}there are: double_elimination, " in done.error
    assert ", knockout, ladder, round_robin, swiss)" in done.error
    assert not (home / "config" / "leagues" / "spring.json").exists()


def test_a_league_that_is_played_to_its_end_is_no_ladder_and_says_where_one_is(home: Path) -> None:
    assert "`league manager --format ladder`" in said("run", "--format", "ladder", "--home", home).error
    assert "ladder" not in said("run", "--format", "swis", "--home", home).error
