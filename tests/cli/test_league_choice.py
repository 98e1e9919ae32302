"""Which league a command means that isn't told: the one that runs here, else the latest, and it says so."""

from pathlib import Path

import pytest

from agent_league.cli.options import choose_league_address
from agent_league.config.home import make_home
from agent_league.launch.league_start import lock_league, record_endpoint
from tests.cli.leagues import play, said

SPRING, AUTUMN = "http://localhost:8100/mcp", "http://localhost:8200/mcp"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LEAGUE_HOME", raising=False)
    make_home(tmp_path / "SHARED")
    return tmp_path / "SHARED"


def test_the_league_that_runs_is_taken_without_a_word(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record_endpoint(home, "spring", SPRING)
    with lock_league(home, "autumn", AUTUMN):
        assert choose_league_address() == choose_league_address(home) == AUTUMN
    assert capsys.readouterr().err == ""


def test_of_several_that_run_it_says_which_one_it_takes(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with lock_league(home, "autumn", AUTUMN), lock_league(home, "spring", SPRING):
        assert choose_league_address() == SPRING
    assert capsys.readouterr().err == (
        "This is spring, the latest of those that run; its address leads to another: autumn.\n"
    )


def test_if_none_runs_it_says_where_the_latest_was(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record_endpoint(home, "spring", SPRING)
    assert choose_league_address() == SPRING
    assert f"No league runs in {home}; trying {SPRING}, where spring was last." in capsys.readouterr().err


def test_if_none_ever_ran_it_says_that_it_tries_the_usual_address(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert choose_league_address() == "http://localhost:8000"
    assert f"No league runs in {home}; trying http://localhost:8000, the usual address." in capsys.readouterr().err


def test_a_class_is_that_of_the_league_that_was_played_last(home: Path) -> None:
    played = play(home)
    assert played == "league_tic_tac_toe"
    assert "league_tic_tac_toe has no teams" in said("class", "--home", home).err
