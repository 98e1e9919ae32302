"""`league play`: a person at a terminal, or a program at a pipe, in a real league."""

import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.command import LEAGUE, environment, league
from tests.conftest import BOUND, free_ports
from tests.gateway.league import league_of

if sys.platform == "win32":
    pytest.skip("there are no pseudo-terminals", allow_module_level=True)

import pty

TAKE_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""So that Ctrl-C is a signal here too."""


OFFERED = r"Moves: #1 even, #2 odd\r\n.*?the move, its beginning or its number \(\? shows the rules\) > "


class Terminal:
    """`league play` in a pseudo-terminal, with what stands on the screen."""

    def __init__(self, *options: object) -> None:
        self._own, theirs = pty.openpty()
        command = [sys.executable, "-c", TAKE_TERMINAL, *LEAGUE, "play", *map(str, options)]
        self.process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment(), start_new_session=True
        )
        os.close(theirs)
        self.text = ""
        self._read = 0

    def shows(self, pattern: str) -> re.Match[str]:
        """Waits until something new is on the screen."""
        deadline = time.monotonic() + BOUND
        while not (found := re.search(pattern, self.text[self._read :], re.DOTALL)):
            assert time.monotonic() < deadline, f"no {pattern!r} in {self.text[self._read :]!r}"
            if select.select([self._own], [], [], 0.5)[0]:
                try:
                    self.text += os.read(self._own, 65536).decode()
                except OSError:  # the other side is closed
                    deadline = 0
        self._read += found.end()
        return found

    def types(self, text: str) -> None:
        os.write(self._own, text.encode())

    def ends(self) -> int:
        return self.process.wait(BOUND)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._own)


@contextmanager
def terminal(*options: object) -> Iterator[Terminal]:
    opened = Terminal(*options)
    try:
        yield opened
    finally:
        opened.close()


def test_a_person_plays_a_league_at_a_terminal(tmp_path: Path) -> None:
    with (
        league_of(tmp_path / "league", players=4, ours=3) as processes,
        terminal(f"localhost:{processes.port}", "--name", "Dana", "--home", tmp_path / "dana") as screen,
    ):
        screen.types("2\n")  # before anybody has asked: meant for nothing
        screen.shows("Joining the league of http://localhost:")
        screen.shows(r"You are (P0\d) in league_2025_even_odd")
        screen.shows("Even/Odd: Both players name a parity")
        for typed, played in (("1\n", "even"), ("odd\n", "odd"), ("EV\n", "even")):
            name = screen.shows(r"Round \d: you meet (Agent \d+ \(P0\d\))\.")[1]
            screen.shows(rf"R\dM\d: your move against {re.escape(name)}, \d+ s\.")
            screen.shows(OFFERED)
            screen.shows(r"\x1b7\r *\d+ s  \x1b8")
            if played == "odd":
                screen.types("neither\n")
                screen.shows(rf"'neither' is none of them\.\r\n{OFFERED}")
            screen.types(typed)
            screen.shows(f"You play {played}.")
            screen.shows(
                rf"R\dM\d: (You win|You lose|A draw) against {re.escape(name)}\. [^.]*number was \d+ \(\w+\)\."
            )
            screen.shows(r"After round \d.*Dana")
        screen.shows(r"The league is over: P0. is number . with . points; the champions?\b.* P0.")
        assert screen.ends() == 0
        assert [process.ends() for process in processes.all] == [0] * 5
    assert "Traceback" not in screen.text
    assert "fallback" not in screen.text


def test_without_an_address_a_person_plays_in_the_league_that_runs_here(tmp_path: Path) -> None:
    with league_of(tmp_path / "league", players=2, ours=1) as processes:
        processes.manager.prints("Watch it at")
        with terminal("--name", "Dana", "--home", tmp_path / "league") as screen:
            screen.shows(f"Joining the league of http://localhost:{processes.port}/mcp")
            screen.shows(r"You are (P0\d) in league_2025_even_odd")


def test_a_person_sees_the_board_reads_the_rules_and_sees_how_it_ended(tmp_path: Path) -> None:
    with (
        league_of(tmp_path / "league", players=2, ours=1, game="tic_tac_toe") as processes,
        terminal(processes.url, "--name", "Dana", "--home", tmp_path / "dana") as screen,
    ):
        screen.shows(r" [0X] \| . \| .\r\n---\+---\+---\r\n(.*\r\n){3}You are [XO]\.\r\nMoves: [0-9, ]+\r\n")
        screen.shows(r"the number \(\? shows the rules\) > ")
        screen.types("?\n")
        screen.shows(r"Tic-Tac-Toe\r\nBy turns the players mark the cells.* is a draw\.\r\n [0X] \| ")
        while True:
            moves = screen.shows(r"\r\n(?:Moves: ([0-9, ]+)\r\n.*?> |R1M1: (?:You|A draw).*)")[1]
            if moves is None:
                break
            screen.types(f"{moves.split(', ')[0]}\n")
        screen.shows("The league is over")
        assert screen.ends() == 0
    assert re.search(r"R1M1: [^\r]*\r\n [XO0-8] \| [XO1-8] \| ", screen.text)
    assert "Traceback" not in screen.text


def test_a_person_who_does_not_answer_is_played_for_and_what_was_half_typed_is_forgotten(tmp_path: Path) -> None:
    with (
        league_of(tmp_path / "league", players=3, ours=2, move_seconds=6) as processes,
        terminal(processes.url, "--name", "Dana", "--home", tmp_path / "dana", "--fallback", "always_even") as screen,
    ):
        screen.shows(OFFERED)
        screen.types("od")
        screen.shows("Time is up in R.M.: the fallback strategy played even for you.")
        screen.shows(OFFERED)
        screen.types("d\n")  # with the beginning from before this would be "odd"
        screen.shows("'d' is none of them")
        screen.types("o\n")
        screen.shows("You play odd.")
        screen.shows("The league is over")
        assert screen.ends() == 0


def test_after_ctrl_d_nobody_is_asked_any_more_and_the_fallback_plays_at_once(tmp_path: Path) -> None:
    with (
        league_of(tmp_path / "league", players=3, ours=2, move_seconds=300) as processes,
        terminal(processes.url, "--name", "Dana", "--home", tmp_path / "dana", "--fallback", "always_even") as screen,
    ):
        screen.shows(OFFERED)
        screen.types("\x04")
        screen.shows("There is no input any more: the fallback strategy plays from here.")
        screen.shows("R.M.: the fallback strategy played even for you.")
        screen.shows("R.M.: the fallback strategy played even for you.")
        screen.shows("The league is over")
        assert screen.ends() == 0
    assert screen.text.count("Moves: #1 even, #2 odd") == 1
    assert "Time is up" not in screen.text


def test_ctrl_c_leaves_with_a_sentence_and_the_same_command_comes_back(tmp_path: Path) -> None:
    options = ["--name", "Dana", "--home", tmp_path / "dana"]
    with league_of(tmp_path / "league", players=2, ours=1) as processes:
        with terminal(processes.url, *options) as screen:
            player_id = screen.shows(r"You are (P0\d)")[1]
            screen.shows(OFFERED)
            screen.types("\x03")
            screen.shows("You leave. Matches are lost from now on unless you come back; the same command does that.")
            assert screen.ends() == 0
            assert "Traceback" not in screen.text
        with terminal(processes.url, *options) as screen:
            assert screen.shows(r"You are (P0\d) in league_2025_even_odd\.")[1] == player_id
            screen.shows("Round 1: you meet Agent")
            screen.shows(OFFERED)
            screen.types("1\n")
            screen.shows("(You win|You lose|A draw) against")
            screen.shows(
                r"(You are the champion|The champions? .*\(P0\d\)|You share the first place with .*\(P0\d\))\."
            )
            screen.shows("The league is over")
            assert screen.ends() == 0


@pytest.mark.parametrize(("typed", "ending"), [("even\nodd\n", ""), ("1\n", "There is no input any more")])
def test_at_a_pipe_it_writes_plain_lines_and_reads_an_answer_for_each_question(
    tmp_path: Path, typed: str, ending: str
) -> None:
    with league_of(tmp_path / "league", players=3, ours=2, move_seconds=BOUND) as processes:
        done = subprocess.run(
            [*LEAGUE, "play", processes.url, "--name", "Pipe", "--home", str(tmp_path / "pipe")],
            input=typed,
            capture_output=True,
            text=True,
            timeout=BOUND,
            env=environment(),
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert [process.ends() for process in processes.all] == [0] * 4
    assert "\x1b" not in done.stdout
    assert (
        done.stdout.count("Moves: #1 even, #2 odd\nthe move, its beginning or its number (? shows the rules) > \n") == 2
    )
    assert done.stdout.count("You play ") == typed.count("\n")
    assert done.stdout.count("the fallback strategy played") == 2 - typed.count("\n")
    assert ending in done.stdout


def test_a_manager_that_refuses_ends_it_with_a_sentence(tmp_path: Path) -> None:
    port = free_ports(1)
    with league_of(tmp_path / "league", players=2, ours=2, stays=True) as processes:
        processes.manager.prints("The league starts")
        late = league("play", processes.url, "--name", "Late", "--home", tmp_path / "late", "--port", port)
        wrong = league("play", "ftp://x", "--home", tmp_path / "late")
    assert late.returncode == 1
    assert "rejected the registration: Registration closed (the league has started)" in late.stderr
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "LEAGUE_URL 'ftp://x' is no address" in wrong.stderr


def test_without_a_manager_it_says_so_and_waits(tmp_path: Path) -> None:
    with terminal(f"localhost:{free_ports(1)}", "--name", "Dana", "--home", tmp_path) as screen:
        screen.shows(
            "No League Manager answers at http://localhost:[0-9]+/mcp yet \\(no connection: .*\\); waiting for it."
        )
        screen.process.send_signal(signal.SIGINT)
        screen.shows("You leave; you had no place in the league yet.")
        assert screen.ends() == 0


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--name", ""], "--name '': expected 1 to 100 characters that people can see"),
        (["--fallback", "llm"], "--fallback: strategy 'llm' can't answer within a second (there are: "),
    ],
)
def test_a_mistake_ends_with_a_sentence(tmp_path: Path, options: list[str], sentence: str) -> None:
    done = league("play", "localhost:1", *options, "--home", tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr
