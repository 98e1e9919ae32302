"""Tables on stdout: fitted to a terminal, uncut in a pipe or a file."""

import errno
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from agent_league.text import to_printable

if TYPE_CHECKING:
    from rich.console import Console

UNLIMITED_WIDTH = 100_000
READER_GONE_ERRORS = (errno.EPIPE, errno.EIO)
"""Error numbers of a closed pipe and of a terminal that is gone."""


@contextmanager
def tolerate_closed_stdout() -> Iterator[None]:
    """Print results inside this context; if the reader closes stdout, the rest is dropped without an error."""
    try:
        yield
        sys.stdout.flush()
    except (OSError, SystemExit) as error:  # rich makes a SystemExit of EPIPE
        if isinstance(error, OSError) and error.errno not in READER_GONE_ERRORS:
            raise
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())  # what is still in the buffer goes there when the process ends
        os.close(nowhere)


def make_stdout_console() -> "Console":
    """Make a console for stdout; unless that is a terminal, no line is wrapped and no cell cut."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else UNLIMITED_WIDTH)


def print_table(console: "Console", title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a table of plain values; long ones are folded. A `>` before a heading aligns its column to the right."""
    from rich.table import Table
    from rich.text import Text

    table = Table()
    for heading in columns:
        table.add_column(heading.lstrip(">"), justify="right" if heading.startswith(">") else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(to_printable("" if cell is None else str(cell))) for cell in row))
    print_lines(console, [title], "italic")
    console.print(table)


def print_lines(console: "Console", lines: Iterable[str], style: str = "") -> None:
    from rich.text import Text

    for line in lines:
        console.print(Text(to_printable(line), style=style), soft_wrap=True)
