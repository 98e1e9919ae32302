"""`league watch`: follow a manager's live feed: full screen in a terminal, a line for each event in a pipe."""

import sys
from contextlib import aclosing
from typing import TYPE_CHECKING, Annotated, Protocol

import typer

if TYPE_CHECKING:
    from rich.console import RenderableType

    from agent_league.cli.watch_view import WatchedLeague
    from agent_league.launch.live_feed import FeedUpdate


def watch(
    url: Annotated[
        str, typer.Argument(metavar="[URL]", help="The League Manager's address.")
    ] = "http://localhost:8000",
) -> None:
    """Watch a league live, from anywhere, until it is over: its table, its matches, what happens, who is in trouble.

    Where nobody answers, or the connection is lost, it is tried again until Ctrl-C. Nothing of it needs a token.
    """
    from agent_league.http.hosts import parse_manager_endpoint
    from agent_league.launch.serving import run_async

    run_async(_follow_league(parse_manager_endpoint(url, "URL")))


class _WatchOutput(Protocol):
    def show_update(self, update: "FeedUpdate") -> None: ...
    def close(self) -> None: ...


async def _follow_league(endpoint: str) -> None:
    from agent_league.cli.watch_view import WatchedLeague
    from agent_league.launch.live_feed import FeedChange, LeagueFeed

    board = WatchedLeague(endpoint)
    view: _WatchOutput = _ScreenOutput(board) if sys.stdout.isatty() else _LineOutput(board)
    try:
        async with aclosing(LeagueFeed(endpoint).iter_updates()) as updates:
            async for update in updates:
                board.apply_update(update)
                view.show_update(update)
                if board.is_over or (board.has_all_results and not isinstance(update, FeedChange)):
                    break
    finally:
        view.close()
    _print_final_table(board)


class _ScreenOutput:
    """Output to the whole terminal; restored by `close`."""

    def __init__(self, board: "WatchedLeague") -> None:
        from rich.console import Console
        from rich.live import Live

        self._league = board
        self._console = Console(highlight=False)
        self._live = Live(console=self._console, screen=True, refresh_per_second=4, get_renderable=self._render)
        self._live.start(refresh=True)

    def show_update(self, update: "FeedUpdate") -> None:
        """Do nothing: the screen redraws itself."""

    def close(self) -> None:
        self._live.stop()

    def _render(self) -> "RenderableType":
        return self._league.render(*self._console.size)


class _LineOutput:
    """Output as a line for each piece of news."""

    def __init__(self, board: "WatchedLeague") -> None:
        self._league = board

    def show_update(self, update: "FeedUpdate") -> None:
        for line in self._league.drain_lines():
            sys.stdout.write(f"{line}\n")
        sys.stdout.flush()

    def close(self) -> None:
        """Nothing to close."""


def _print_final_table(board: "WatchedLeague") -> None:
    from agent_league.cli.terminal import draw_standings, make_stdout_console, print_lines

    console = make_stdout_console()
    rows = board.standings_rows()
    console.print(draw_standings(rows, board.title, len(rows)))
    print_lines(console, [board.closing_sentence()])
