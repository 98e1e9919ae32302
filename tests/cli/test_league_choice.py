"""Which league a command means that isn't told: the one that runs here, else the latest, and it says so."""

from pathlib import Path

import pytest

from agent_league.cli.options import choose_league_address, resolve_sign_up
from agent_league.config import ConfigLoader
from agent_league.config.home import make_home
from agent_league.http.sign_up_address import SIGN_UP_VARIABLE
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


def test_an_agent_registers_with_the_league_that_runs_where_its_folder_is(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(SIGN_UP_VARIABLE, raising=False)
    loader, configured = ConfigLoader(home), "http://localhost:8000/mcp"
    assert resolve_sign_up(None, None, loader) == configured
    with lock_league(home, "autumn", AUTUMN):
        assert resolve_sign_up(None, None, loader) == resolve_sign_up(None, None, loader, "autumn") == AUTUMN
        assert resolve_sign_up("localhost:8300", None, loader) == "http://localhost:8300/mcp"
        assert resolve_sign_up(None, None, loader, "elsewhere") == configured
        assert capsys.readouterr().err == ""
        with lock_league(home, "spring", SPRING):
            assert resolve_sign_up(None, None, loader) == SPRING
            assert "This is spring, the latest of those that run;" in capsys.readouterr().err
            assert resolve_sign_up(None, None, loader, "autumn") == AUTUMN
        with lock_league(home, "winter", configured):
            assert resolve_sign_up(None, None, loader) == configured
    assert capsys.readouterr().err == ""


def test_the_settings_that_are_shown_are_those_of_the_league_that_runs(home: Path) -> None:
    assert said("new", "league", "spring", "--home", home).code == 0
    assert "# leagues/league_2025_even_odd.json" in said("config", "show", "--home", home).out
    with lock_league(home, "spring", SPRING):
        shown = said("config", "show", "--home", home)
    assert "# leagues/spring.json" in shown.out
    with lock_league(home, "league_nim", AUTUMN):
        shown = said("config", "show", "--home", home)
    assert "# leagues/league_2025_even_odd.json" in shown.out
    assert "league_nim runs here and has no file" in shown.err


def test_a_class_is_that_of_the_league_that_was_played_last(home: Path) -> None:
    played = play(home)
    assert played == "league_tic_tac_toe"
    assert "league_tic_tac_toe has no teams" in said("class", "--home", home).err
