"""The screen in a pseudo-terminal: what is being typed belongs to the question that stands there."""

import os
import sys
from collections.abc import Iterator

import pytest

from agent_league.cli.terminal import draw_standings
from agent_league.gateway.terminal import TerminalScreen

if sys.platform == "win32":
    pytest.skip("there are no pseudo-terminals", allow_module_level=True)

import pty


class Keyboard:
    """Types into the terminal, and reads there as the program does."""

    def __init__(self) -> None:
        self._own, self.theirs = pty.openpty()

    def types(self, text: str) -> None:
        """Waits for the echo: then the terminal has it."""
        os.write(self._own, text.encode())
        echo = b""
        while text.strip().encode() not in echo:
            echo += os.read(self._own, 1000)

    def read(self) -> bytes:
        return os.read(self.theirs, 1000)

    def close(self) -> None:
        os.close(self._own)


@pytest.fixture
def keyboard(monkeypatch: pytest.MonkeyPatch) -> Iterator[Keyboard]:
    keyboard = Keyboard()
    with os.fdopen(keyboard.theirs) as typed:
        monkeypatch.setattr(sys, "stdin", typed)
        yield keyboard
    keyboard.close()


def terminal() -> TerminalScreen:
    return TerminalScreen(draw_standings, is_terminal=True)


def test_news_under_an_open_question_leave_what_is_being_typed(
    keyboard: Keyboard, capsys: pytest.CaptureFixture[str]
) -> None:
    screen = terminal()
    screen.ask_question("1 even, 2 odd > ")
    keyboard.types("od")
    with screen.write_above():
        screen.write_line("news of another match")
        screen.write_line("and more")
    keyboard.types("d\n")
    assert keyboard.read() == b"odd\n"
    shown = capsys.readouterr().out
    assert shown.endswith("\nnews of another match\nand more\n\r\x1b[K       1 even, 2 odd > ")
    assert shown.count("> ") == 2


def test_a_question_that_is_asked_again_leaves_what_is_being_typed(keyboard: Keyboard) -> None:
    screen = terminal()
    screen.ask_question("1 even, 2 odd > ")
    keyboard.types("o")
    screen.repeat_question("'x' is none of them. 1 even, 2 odd > ")
    keyboard.types("dd\n")
    assert keyboard.read() == b"odd\n"


def test_what_was_typed_before_a_new_question_is_dropped(keyboard: Keyboard) -> None:
    screen = terminal()
    keyboard.types("od")
    screen.ask_question("1 even, 2 odd > ")
    keyboard.types("1\n")
    assert keyboard.read() == b"1\n"


def test_a_question_that_is_given_up_among_the_news_does_not_stand_below_them(
    keyboard: Keyboard, capsys: pytest.CaptureFixture[str]
) -> None:
    screen = terminal()
    screen.ask_question("1 even, 2 odd > ")
    with screen.write_above():
        screen.abandon_question()
        screen.write_line("Time is up")
    assert capsys.readouterr().out.endswith("1 even, 2 odd > \nTime is up\n")


def test_a_block_keeps_its_lines_under_an_open_question_and_nothing_in_it_is_obeyed(
    keyboard: Keyboard, capsys: pytest.CaptureFixture[str]
) -> None:
    screen = terminal()
    screen.ask_question("the number > ")
    screen.write_block(" 0 | 1\n---+---\n\x1b[2J")
    screen.write_block("")
    assert capsys.readouterr().out.endswith("\n 0 | 1\n---+---\n\\x1b[2J\n\r\x1b[K       the number > ")
