"""Reading single keys from a terminal, without Enter."""

import os
import re
import select
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

KEY_PATTERN = re.compile(r"\x1b[\[O][0-9;]*[A-Za-z~]|.", re.DOTALL)
"""One key: a character, or the escape sequence of an arrow key and the like."""
KEY_NAMES = {
    "\x1b[C": "right",
    "\x1bOC": "right",
    "\x1b[D": "left",
    "\x1bOD": "left",
    "\x1b[A": "up",
    "\x1bOA": "up",
    "\x1b[B": "down",
    "\x1bOB": "down",
    "\x1b[H": "home",
    "\x1bOH": "home",
    "\x1b[1~": "home",
    "\x1b[F": "end",
    "\x1bOF": "end",
    "\x1b[4~": "end",
    "\x1b": "escape",
    " ": "space",
    "\r": "enter",
    "\n": "enter",
    "\x7f": "backspace",
    "\x08": "backspace",
}

KeyReader = Callable[[float | None], str | None]
"""Waits for a key for so many seconds (None: for ever); returns None if none came, `escape` if stdin has ended."""


def can_read_keys() -> bool:
    """Whether keys can be read one by one: stdin and stdout are a terminal, and the system has termios."""
    try:
        import termios  # noqa: F401 - not there on every system
    except ImportError:
        return False
    return sys.stdin.isatty() and sys.stdout.isatty()


@contextmanager
def read_keys() -> Iterator[KeyReader]:
    """Give a reader of keys that need no Enter and are not echoed; restores the terminal's settings at the end."""
    import termios
    import tty

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    waiting: deque[str] = deque()

    def press(seconds: float | None) -> str | None:
        if not waiting:
            if not select.select([terminal], [], [], seconds)[0]:
                return None
            waiting.extend(parse_keys(os.read(terminal, 1024)) or ["escape"])
        return waiting.popleft()

    try:
        tty.setcbreak(terminal)
        yield press
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def parse_keys(typed: bytes) -> list[str]:
    """Split the bytes that a terminal sent into names of keys."""
    return [KEY_NAMES.get(key, key) for key in KEY_PATTERN.findall(typed.decode(errors="replace"))]
