"""Keys beside a league at a terminal: its pages stay until one is pressed, and `o` opens them."""

import os
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent_league.cli.keys import PageKeys, open_pages
from tests.cli.command import AtTerminal, ports, until
from tests.conftest import BOUND

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
STAYS = "stay until you press a key; o opens "


@contextmanager
def run_at_terminal(home: Path, *options: object, **env: str) -> Iterator[tuple[AtTerminal, str]]:
    """A run of two at a terminal, and the address of its pages."""
    where = ports(2, 1)
    size = ["--players", 2, "--referees", 1, "--home", home]
    terminal = AtTerminal("run", *size, *where, *options, **{"COLUMNS": "200", **env})
    try:
        yield terminal, f"http://localhost:{where[1]}/"
    finally:
        terminal.close()


def test_at_a_terminal_the_pages_stay_until_a_key_is_pressed(tmp_path: Path) -> None:
    with run_at_terminal(tmp_path) as (terminal, pages):
        terminal.shows(STAYS + pages)
        terminal.shows("Next: ")
        with urllib.request.urlopen(pages, timeout=BOUND) as page:
            assert b"Champion" in page.read()
        terminal.types(b"x")
        assert terminal.ends() == 0


def test_a_key_opens_the_pages_in_the_browser_and_the_run_stays(tmp_path: Path) -> None:
    opened, browser, ended = tmp_path / "opened", tmp_path / "browser", tmp_path / "ended"
    # One that ends at once is taken for one that can't open anything.
    browser.write_text(f'echo "$1" > {opened}\nuntil [ -e {ended} ]; do sleep 0.1; done\n')
    try:
        with run_at_terminal(tmp_path / "SHARED", BROWSER=f"sh {browser} %s &") as (terminal, pages):
            terminal.shows(STAYS)
            terminal.types(b"o")
            terminal.shows(f"{pages} is opened in the browser.")
            assert until(lambda: opened.is_file() and opened.read_text(), "the browser is started") == f"{pages}\n"
            assert terminal.process.poll() is None
            ended.touch()
            terminal.types(b"\x1b[C")
            assert terminal.ends() == 0
    finally:
        ended.touch()


def test_a_key_that_was_pressed_while_it_was_played_ends_nothing(tmp_path: Path) -> None:
    with run_at_terminal(tmp_path) as (terminal, _):
        terminal.shows("Watch it at")
        terminal.types(b"\n\n")
        terminal.shows("Next: ")
        assert terminal.process.poll() is None
        terminal.types(b"q")
        assert terminal.ends() == 0


@pytest.mark.parametrize("options", [["--no-stay"], ["--no-web"]])
def test_a_run_that_has_no_pages_to_stay_ends_at_once(tmp_path: Path, options: list[str]) -> None:
    with run_at_terminal(tmp_path, *options) as (terminal, _):
        assert terminal.ends() == 0
        assert "Champion" in terminal.text
        assert STAYS not in terminal.text


def test_a_terminal_that_goes_away_ends_it(tmp_path: Path) -> None:
    with run_at_terminal(tmp_path) as (terminal, _):
        terminal.shows("Next: ")
        terminal.hang_up()
        assert terminal.process.wait(BOUND) == 0


def test_a_browser_that_would_take_the_terminal_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    import webbrowser

    for browser in (webbrowser.GenericBrowser("lynx"), webbrowser.BackgroundBrowser(os.devnull)):
        monkeypatch.setattr(webbrowser, "get", lambda browser=browser: browser)
        assert open_pages("http://localhost:8000/") == (
            "No browser was found here; open http://localhost:8000/ in yours."
        )


def test_where_there_is_no_terminal_there_are_no_keys() -> None:
    keys = PageKeys(None, "http://localhost:8000/", print)
    assert not keys.are_there
    assert not keys.handle_pressed()
    assert keys.describe_end() == "Ctrl-C"
