"""What commands print: remarks, results, tables and progress bars; commands inside sentences; the exit codes.

Cheap to import: rich is loaded when something is drawn.
"""

import errno
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_league.errors import UserError
from agent_league.text import redact_keys, to_printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table

    from agent_league.model.model_usage import ModelUsage
    from agent_league.model.results import StandingsRow
    from agent_league.model.tables import DataTable
    from agent_league.ratings.report import RatingReport

STDOUT = "-"
"""Stands for stdout where a file is asked for."""
EXIT_FAILED = 1
"""The league, or what was checked, failed."""
EXIT_WRONG_INPUT = 2
"""Something in the command or the configuration is wrong."""
EXIT_INTERRUPTED = 130
COMMAND_VARIABLE = "AGENT_LEAGUE_COMMAND"
"""The variable in which the bootstrap script says how it was called, such as `./league`."""
UNLIMITED_WIDTH = 100_000
READER_GONE_ERRORS = (errno.EPIPE, errno.EIO)
"""Error numbers of a closed pipe and of a terminal that is gone."""
MAX_SHOWN_ROWS = 15
"""Rows of a standings table while a league is played."""
_QUOTED_COMMAND = re.compile(r"`league (?=[a-z-])")


def rewrite_commands(sentence: str) -> str:
    """Spell the commands of a sentence the way this program was started: `./league run` in a source checkout."""
    return _QUOTED_COMMAND.sub(lambda _: "`" + spell_command(""), sentence)


def spell_command(arguments: str) -> str:
    """Spell a command that stands by itself the way this program was started."""
    return f"{os.environ.get(COMMAND_VARIABLE) or 'league'} {arguments}"


def format_options(options: Mapping[str, object]) -> str:
    """Format options with their values, quoted for a shell, each after a blank; None is left out."""
    return "".join(f" {name} {shlex.quote(str(value))}" for name, value in options.items() if value is not None)


def print_remark(sentence: str) -> None:
    """Print a remark for the person at the terminal to stderr; stdout is for results."""
    sys.stderr.write(to_printable(redact_keys(rewrite_commands(sentence))) + "\n")


def write_to_stdout(result: bytes) -> None:
    """Write a result and a line break to stdout, to the last byte: a pipe may take less than all of it at once."""
    rest = memoryview(result + b"\n")
    while rest:
        rest = rest[sys.stdout.buffer.write(rest) :]
    sys.stdout.flush()


def divert_prints() -> AbstractContextManager[object]:
    """Inside this context, what the code of players prints goes to stderr; stdout is for results."""
    return redirect_stdout(sys.stderr)


def print_json(content: Any) -> None:
    """Print one JSON object to stdout."""
    import orjson

    write_to_stdout(orjson.dumps(content, option=orjson.OPT_NON_STR_KEYS))


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


def print_lines(console: "Console", lines: Iterable[str], style: str = "") -> None:
    """Print lines unwrapped."""
    from rich.text import Text

    for line in lines:
        console.print(Text(to_printable(line), style=style), soft_wrap=True)


def print_table(console: "Console", title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a table of plain values under its title; long values are folded."""
    from agent_league.model.tables import DataTable

    print_lines(console, [title], "italic")
    console.print(make_rich_table(DataTable(columns, list(rows)), overflow="fold"))


def print_model_usage(console: "Console", usage: "Mapping[str, ModelUsage]") -> None:
    """Print what the players' language models used; nothing if there are none."""
    from agent_league.model.tables import tabulate_model_usage

    if usage:
        table = tabulate_model_usage(usage).fit_width(console.width)
        console.print(make_rich_table(table, overflow="fold", title_style="italic"))


def make_rich_table(table: "DataTable", *, overflow: Any = "ellipsis", title_style: str = "", **look: Any) -> "Table":
    """Draw a table with its title and caption; `look` are settings of rich's."""
    from rich.table import Table
    from rich.text import Text

    drawn = Table(
        title=Text(to_printable(table.title), title_style) if table.title else None,
        title_justify="left",
        caption=Text(table.caption, "table.caption") if table.caption else None,
        caption_justify="left",
        **look,
    )
    for heading, is_number in zip(table.headings, table.are_numbers, strict=True):
        drawn.add_column(Text(to_printable(heading)), justify="right" if is_number else "left", overflow=overflow)
    for row in table.text_rows():
        drawn.add_row(*map(Text, row))
    return drawn


def draw_standings(
    rows: "Sequence[StandingsRow]",
    title: str,
    shown: int = MAX_SHOWN_ROWS,
    strategies: Mapping[str, str] | None = None,
    ratings: Mapping[str, str] | None = None,
) -> "Table":
    """Draw a standings table; beyond `shown` rows it is cut, and says so. `strategies` and `ratings` add columns."""
    from rich.console import Console

    from agent_league.model.tables import make_standings_table

    return make_rich_table(make_standings_table(rows, title, shown, strategies, ratings).fit_width(Console().width))


def print_ratings(console: "Console", report: "RatingReport", names: Mapping[str, str], title: str) -> None:
    """Print a table of ratings and, below it, how far they can be trusted."""
    from agent_league.ratings.rating_words import tabulate_ratings

    console.print(make_rich_table(tabulate_ratings(report.table, names, title)))
    print_lines(console, report.describe(names))


def write_output(path: str, content: bytes) -> None:
    """Write a file of a command and say so; - is stdout. Raises UserError."""
    from agent_league.storage.files import write_atomically

    if path == STDOUT:
        write_to_stdout(content.removesuffix(b"\n"))
        return
    if Path(path).is_dir():
        raise UserError(f"{path} is a folder; expected a file")
    try:
        write_atomically(Path(path), content)
    except (FileExistsError, NotADirectoryError):
        raise UserError(f"{path} can't be written: a part of its path is a file") from None
    except OSError as error:
        raise UserError(f"{path} can't be written: {error.strerror}") from None
    print_remark(f"wrote {path}")


@contextmanager
def show_progress_bar(
    *, quiet: bool, has_end: bool = True, describe_end: Callable[[], str] | None = None
) -> "Iterator[Progress]":
    """Show a progress bar on stderr; its `disable` is True if that is no terminal or `quiet` is set.

    Without an end in sight it is a line of text. `describe_end` says how long it takes; without it, that follows from
    how fast it went so far.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class EndColumn(ProgressColumn):
        def render(self, task: object) -> Text:
            return Text(describe_end() if describe_end else "", style="progress.remaining")

    end = EndColumn() if describe_end else TimeRemainingColumn()
    bar = (BarColumn(), MofNCompleteColumn(), end) if has_end else ()
    console = Console(file=sys.stderr)  # this stream, whatever stands in for it later
    is_disabled = quiet or not sys.stderr.isatty()
    text = TextColumn("{task.description}")
    with Progress(text, *bar, console=console, transient=True, disable=is_disabled) as progress:
        yield progress
