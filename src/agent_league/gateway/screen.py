"""A person's screen: lines, and below them a question with its countdown. Without a terminal, lines alone."""

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
"""Part of a line is often somebody else's words."""
MOST_LINES = 100
COUNT = "{:>3.0f} s  "

DrawTable = Callable[[Sequence[StandingsRow], str], "RenderableType"]
"""The standings under a title."""


class Screen:
    """Standard output, and what is typed there."""

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
        """Lines that stand as they are; nothing for no text."""
        if text:
            lines = [printable(line)[:LONGEST_LINE] for line in text.split("\n")[:MOST_LINES]]
            with self.above():
                self._write("".join(f"{line}\n" for line in lines))

    @property
    def width(self) -> int:
        """Letters that fit on a line."""
        return shutil.get_terminal_size().columns if self.is_terminal else LONGEST_LINE

    def remark(self, text: str) -> None:
        """A sentence of the player's: once the news are told, after those that it belongs to."""
        if self._remarks is None:
            self.line(text)
        else:
            self._remarks.append(text)

    def tell_remarks(self) -> None:
        for text in self._remarks or []:
            self.line(text)
        self._remarks = []

    def ask(self, question: str) -> None:
        """A new question: what was typed before it was there was meant for another one."""
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
        """The seconds left, at the beginning of the line; what is being typed after the question stays as it is."""
        if self._question and self.is_terminal:
            self._write(f"\x1b7\r{COUNT.format(seconds)}\x1b8")

    def answered(self) -> None:
        """Somebody has pressed Enter: the line is at its end. The seconds may have been counted below it meanwhile."""
        if self._question and self.is_terminal:
            self._write("\r\x1b[K")
        self._question = ""

    def give_up(self) -> None:
        """Ends the line of a question that nobody has answered."""
        if self._question and self.is_terminal and not self._is_above:
            self._write("\n")
        self._question = ""

    def table(self, rows: Sequence[StandingsRow], title: str) -> None:
        from rich.console import Console  # noqa: PLC0415 - a pipe's reader may never see a table

        with self.above():
            Console(highlight=False).print(self._draw_table(rows, title))

    @contextmanager
    def above(self) -> Iterator[None]:
        """Room for news while a question is open; it stands below them again.

        The old line stays as it is: what is half typed there goes on counting, and whoever types wants to see it.
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
