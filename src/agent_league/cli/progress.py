"""A progress bar on stderr, if that is a terminal."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress


@contextmanager
def show_progress_bar(*, quiet: bool) -> "Iterator[Progress]":
    """Show a progress bar inside this context; its `disable` is True if stderr is no terminal or `quiet` is set."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(file=sys.stderr)  # this stream, whatever stands in for it later
    with Progress(*columns, console=console, transient=True, disable=quiet or not sys.stderr.isatty()) as progress:
        yield progress
