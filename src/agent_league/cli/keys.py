"""Single keys of a terminal, and what they do beside a league: open its pages. Knows no command."""

import os
import re
import select
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

KEY_PATTERN = re.compile(r"\x1b[\[O][0-9;]*[A-Za-z~]|.", re.DOTALL)
"""One key: a character, or the escape sequence of an arrow key and the like."""
KEY_NAMES = {
    code: name
    for name, codes in {
        "right": ("\x1b[C", "\x1bOC"),
        "left": ("\x1b[D", "\x1bOD"),
        "up": ("\x1b[A", "\x1bOA"),
        "down": ("\x1b[B", "\x1bOB"),
        "home": ("\x1b[H", "\x1bOH", "\x1b[1~"),
        "end": ("\x1b[F", "\x1bOF", "\x1b[4~"),
        "escape": ("\x1b",),
        "space": (" ",),
        "enter": ("\r", "\n"),
        "backspace": ("\x7f", "\x08"),
    }.items()
    for code in codes
}
"""Name of a key by what terminals send for it."""
KeyReader = Callable[[float | None], str | None]
"""Waits for a key for so many seconds (None: for ever); returns None if none came, `escape` if stdin has ended."""
OPEN_KEY = "o"


def can_read_keys() -> bool:
    """Whether keys can be read one by one: stdin and stdout are a terminal that is ours, and the system has termios."""
    try:
        import termios  # noqa: F401 - not there on every system
    except ImportError:
        return False
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()  # a job in the background is stopped if it reads
    except OSError:  # not the terminal that controls this process
        return True


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
            try:
                typed = os.read(terminal, 1024)
            except OSError:  # the terminal is gone
                typed = b""
            waiting.extend(parse_keys(typed) or ["escape"])
        return waiting.popleft()

    try:
        tty.setcbreak(terminal)
        yield press
    finally:
        with suppress(termios.error):  # the terminal is gone
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def parse_keys(typed: bytes) -> list[str]:
    """Split the bytes that a terminal sent into names of keys."""
    return [KEY_NAMES.get(key, key) for key in KEY_PATTERN.findall(typed.decode(errors="replace"))]


class PageKeys:
    """Keys beside a league that is played or over: OPEN_KEY opens its pages in the browser."""

    def __init__(self, press: KeyReader | None, pages: str, remark: Callable[[str], None]) -> None:
        """Without `press` there are no keys."""
        self._press = press
        self._pages = pages
        self._remark = remark

    @property
    def are_there(self) -> bool:
        """Whether there is somebody who can press a key."""
        return self._press is not None

    def describe_end(self) -> str:
        """Say what ends something that stays."""
        if not self.are_there:
            return "Ctrl-C"
        return f"you press a key; {OPEN_KEY} opens {self._pages} in the browser" if self._pages else "you press a key"

    def handle_pressed(self) -> bool:
        """Do what was pressed meanwhile; return whether a key was that does nothing here."""
        is_other = False
        while self._press is not None and (key := self._press(0)) is not None:
            if key == OPEN_KEY and self._pages:
                self._remark(open_pages(self._pages))
            else:
                is_other = True
                if key == "escape":  # stdin that has ended would be read for ever
                    break
        return is_other


@contextmanager
def read_page_keys(pages: str, remark: Callable[[str], None]) -> Iterator[PageKeys]:
    """Give the keys for pages at an address, empty if there are none; no keys if this is no terminal."""
    if not can_read_keys():
        yield PageKeys(None, pages, remark)
        return
    with read_keys() as press:
        yield PageKeys(press, pages, remark)


def open_pages(address: str) -> str:
    """Open an address in the browser; return a sentence that says so, or that there is none."""
    import webbrowser

    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        browser = None
    in_terminal = isinstance(browser, webbrowser.GenericBrowser) and not isinstance(
        browser, webbrowser.BackgroundBrowser
    )
    if browser is None or in_terminal or not browser.open(address):  # one such as lynx would take this terminal
        return f"No browser was found here; open {address} in yours."
    return f"{address} is opened in the browser."
