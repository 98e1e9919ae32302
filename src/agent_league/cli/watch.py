"""`league watch`: follow a manager's live feed: full screen in a terminal, a line for each event in a pipe."""

import sys
from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated, Protocol

import typer

if TYPE_CHECKING:
    from rich.console import RenderableType

    from agent_league.cli.watch_view import Board
    from agent_league.launch.live_feed import Update


def watch(
    url: Annotated[
        str, typer.Argument(metavar="[URL]", help="The League Manager's address.")
    ] = "http://localhost:8000",
) -> None:
    """Watch a league live, from anywhere, until it is over: its table, its matches, what happens, who is in trouble.

    Where nobody answers, or the connection is lost, it is tried again until Ctrl-C. Nothing of it needs a token.
    """
    from agent_league.launch.addresses import manager_endpoint
    from agent_league.launch.serving import run_async

    run_async(_watch(manager_endpoint(url, "URL")))


class _View(Protocol):
    def show(self, update: "Update") -> None: ...
    def close(self) -> None: ...


async def _watch(endpoint: str) -> None:
    from agent_league.cli.watch_view import Board
    from agent_league.launch.live_feed import Changed, Watching

    board = Board(endpoint)
    view: _View = _Screen(board) if sys.stdout.isatty() else _Lines(board)
    try:
        async with aclosing(Watching(endpoint).updates()) as updates:
            async for update in updates:
                board.take(update)
                view.show(update)
                if board.is_over or (board.is_played and not isinstance(update, Changed)):
                    break
    finally:
        view.close()
    _print_end(board)


class _Screen:
    """Output to the whole terminal; restored by `close`."""

    def __init__(self, board: "Board") -> None:
        from rich.console import Console
        from rich.live import Live

        self._board = board
        self._console = Console(highlight=False)
        self._live = Live(console=self._console, screen=True, refresh_per_second=4, get_renderable=self._picture)
        self._live.start(refresh=True)

    def show(self, update: "Update") -> None:
        """Do nothing: the screen redraws itself."""

    def close(self) -> None:
        self._live.stop()

    def _picture(self) -> "RenderableType":
        return self._board.picture(*self._console.size)


class _Lines:
    """Output as a line for each piece of news."""

    def __init__(self, board: "Board") -> None:
        self._board = board

    def show(self, update: "Update") -> None:
        for line in self._board.news_lines():
            sys.stdout.write(f"{line}\n")
        sys.stdout.flush()

    def close(self) -> None:
        """Nothing to close."""


def _print_end(board: "Board") -> None:
    from agent_league.cli.run_view import standings_table
    from agent_league.cli.tables import console_out, print_lines

    console = console_out()
    rows = board.standings()
    console.print(standings_table(rows, board.title, len(rows)))
    print_lines(console, [board.last_word()])
