"""Terminal output for a person who plays: lines, and below them a question with its countdown.

Without a terminal it writes lines only.
"""

import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from agent_league.model.names import printable
from agent_league.model.results import StandingsRow

if TYPE_CHECKING:
    from rich.console import RenderableType

LONGEST_LINE = 1000
"""Lines are cut, since they often quote others."""
MOST_LINES = 100
COUNT = "{:>3.0f} s  "

DrawTable = Callable[[Sequence[StandingsRow], str], "RenderableType"]
"""Draws the standings under a title."""


class Screen:
    """Writes to standard output, keeping an open question below all other lines."""

    def __init__(self, draw_table: DrawTable, *, is_terminal: bool) -> None:
        self.is_terminal = is_terminal
        self._draw_table = draw_table
        self._question = ""
        self._is_above = False
        self._remarks: list[str] | None = None

    def line(self, text: str) -> None:
        said = printable(text)[:LONGEST_LINE]
        if self.is_terminal:
            said = textwrap.fill(said, shutil.get_terminal_size().columns) or said
        with self.above():
            self._write(f"{said}\n")

    def block(self, text: str) -> None:
        """Write lines without wrapping them; nothing for empty text."""
        if text:
            lines = [printable(line)[:LONGEST_LINE] for line in text.split("\n")[:MOST_LINES]]
            with self.above():
                self._write("".join(f"{line}\n" for line in lines))

    @property
    def width(self) -> int:
        """Characters that fit on a line."""
        return shutil.get_terminal_size().columns if self.is_terminal else LONGEST_LINE

    def remark(self, text: str) -> None:
        """Write a remark of the player; once the first events are shown, it waits for `write_remarks`."""
        if self._remarks is None:
            self.line(text)
        else:
            self._remarks.append(text)

    def tell_remarks(self) -> None:
        for text in self._remarks or []:
            self.line(text)
        self._remarks = []

    def ask(self, question: str) -> None:
        """Ask a new question; discards what was typed before, which was meant for another one."""
        if self.is_terminal:
            _forget_typed()
        self.ask_again(question)

    def ask_again(self, question: str) -> None:
        self._question = question
        if self.is_terminal:
            self._write("\r\x1b[K" + " " * len(COUNT.format(0)) + question)
        else:
            self._write(f"{question}\n")

    def count(self, seconds: float) -> None:
        """Show the seconds left at the beginning of the question's line, without touching what is being typed."""
        if self._question and self.is_terminal:
            self._write(f"\x1b7\r{COUNT.format(seconds)}\x1b8")

    def answered(self) -> None:
        """Close the question after Enter; clears its next line, where the countdown may have been written."""
        if self._question and self.is_terminal:
            self._write("\r\x1b[K")
        self._question = ""

    def give_up(self) -> None:
        """Close a question without an answer, ending its line."""
        if self._question and self.is_terminal and not self._is_above:
            self._write("\n")
        self._question = ""

    def table(self, rows: Sequence[StandingsRow], title: str) -> None:
        from rich.console import Console  # noqa: PLC0415 - a pipe's reader may never see a table

        with self.above():
            Console(highlight=False).print(self._draw_table(rows, title))

    @contextmanager
    def above(self) -> Iterator[None]:
        """Write lines while a question is open; it is repeated below them afterwards.

        Its old line isn't erased: half-typed input there still counts, and should stay visible.
        """
        if self._is_above or not (self._question and self.is_terminal):
            yield
            return
        self._write("\n")
        self._is_above = True
        try:
            yield
        finally:
            self._is_above = False
            if self._question:
                self.ask_again(self._question)

    @staticmethod
    def _write(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()


def _forget_typed() -> None:
    if sys.platform == "win32":
        import msvcrt  # noqa: PLC0415 - there alone

        while msvcrt.kbhit():
            msvcrt.getwch()
    else:
        import termios  # noqa: PLC0415 - not there on Windows

        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
