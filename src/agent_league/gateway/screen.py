"""Terminal output for a person who plays: lines, and below them a question with its countdown.

Without a terminal it writes lines only.
"""

import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from agent_league.model.results import StandingsRow
from agent_league.text import to_printable

if TYPE_CHECKING:
    from rich.console import RenderableType

MAX_LINE_LENGTH = 1000
"""Lines are cut, since they often quote others."""
MAX_LINES = 100
COUNTDOWN_FORMAT = "{:>3.0f} s  "

DrawTable = Callable[[Sequence[StandingsRow], str], "RenderableType"]
"""Draws the standings under a title."""


class TerminalScreen:
    """Writes to standard output, keeping an open question below all other lines."""

    def __init__(self, draw_table: DrawTable, *, is_terminal: bool) -> None:
        self.is_terminal = is_terminal
        self._draw_table = draw_table
        self._question = ""
        self._is_writing_above = False
        self._remarks: list[str] | None = None

    def write_line(self, text: str) -> None:
        said = to_printable(text, MAX_LINE_LENGTH)
        if self.is_terminal:
            said = textwrap.fill(said, shutil.get_terminal_size().columns) or said
        with self.write_above():
            self._write(f"{said}\n")

    def write_block(self, text: str) -> None:
        """Write lines without wrapping them; nothing for empty text."""
        if text:
            lines = [to_printable(line, MAX_LINE_LENGTH) for line in text.split("\n")[:MAX_LINES]]
            with self.write_above():
                self._write("".join(f"{line}\n" for line in lines))

    @property
    def width(self) -> int:
        """Characters that fit on a line."""
        return shutil.get_terminal_size().columns if self.is_terminal else MAX_LINE_LENGTH

    def write_remark(self, text: str) -> None:
        """Write a remark of the player; once the first events are shown, it waits for `write_remarks`."""
        if self._remarks is None:
            self.write_line(text)
        else:
            self._remarks.append(text)

    def write_remarks(self) -> None:
        for text in self._remarks or []:
            self.write_line(text)
        self._remarks = []

    def ask_question(self, question: str) -> None:
        """Ask a new question; discards what was typed before, which was meant for another one."""
        if self.is_terminal:
            _discard_typed_input()
        self.repeat_question(question)

    def repeat_question(self, question: str) -> None:
        self._question = question
        if self.is_terminal:
            self._write("\r\x1b[K" + " " * len(COUNTDOWN_FORMAT.format(0)) + question)
        else:
            self._write(f"{question}\n")

    def show_seconds_left(self, seconds: float) -> None:
        """Show the seconds left at the beginning of the question's line, without touching what is being typed."""
        if self._question and self.is_terminal:
            self._write(f"\x1b7\r{COUNTDOWN_FORMAT.format(seconds)}\x1b8")

    def clear_question(self) -> None:
        """Close the question after Enter; clears its next line, where the countdown may have been written."""
        if self._question and self.is_terminal:
            self._write("\r\x1b[K")
        self._question = ""

    def abandon_question(self) -> None:
        """Close a question without an answer, ending its line."""
        if self._question and self.is_terminal and not self._is_writing_above:
            self._write("\n")
        self._question = ""

    def write_table(self, rows: Sequence[StandingsRow], title: str) -> None:
        from rich.console import Console  # noqa: PLC0415 - a pipe's reader may never see a table

        with self.write_above():
            Console(highlight=False).print(self._draw_table(rows, title))

    @contextmanager
    def write_above(self) -> Iterator[None]:
        """Write lines while a question is open; it is repeated below them afterwards.

        Its old line isn't erased: half-typed input there still counts, and should stay visible.
        """
        if self._is_writing_above or not (self._question and self.is_terminal):
            yield
            return
        self._write("\n")
        self._is_writing_above = True
        try:
            yield
        finally:
            self._is_writing_above = False
            if self._question:
                self.repeat_question(self._question)

    @staticmethod
    def _write(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()


def _discard_typed_input() -> None:
    if sys.platform == "win32":
        import msvcrt  # noqa: PLC0415 - there alone

        while msvcrt.kbhit():
            msvcrt.getwch()
    else:
        import termios  # noqa: PLC0415 - not there on Windows

        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
